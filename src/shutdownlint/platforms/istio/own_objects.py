"""Objects of Istio that concern a workload itself: it is likely in the mesh.

A VirtualService for the mesh whose host is the workload's Service, or a policy that selects its
pods. One that is bound to gateways concerns the gateways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from shutdownlint.manifests.decoding import value_at
from shutdownlint.platforms.context import scope_of, scope_of_object
from shutdownlint.platforms.istio.resources import MeshPolicy, ProxyConfigResource
from shutdownlint.platforms.virtual_services import VirtualService

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shutdownlint.manifests.object_index import LoadedResource, ObjectIndex
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import Scope
    from shutdownlint.platforms.istio.mesh_config import Mesh

#: Among the gateways of a VirtualService: the sidecars themselves.
_MESH: Final = "mesh"
#: By name and scope for short names, else by name and namespace.
_Hosts: TypeAlias = "dict[tuple[str, Scope | str], LoadedResource[VirtualService]]"


def find_own_object(workload: Workload, mesh: Mesh) -> str | None:
    """Return a description of the object that concerns the workload; None without one."""
    context = mesh.context
    labels = workload.template.metadata.labels
    for policy in context.in_namespace_of(MeshPolicy, workload):
        if _selects(_selector(policy.model), labels):
            return f"the policy in {policy.ref.document.file} that selects it"
    for config in context.in_namespace_of(ProxyConfigResource, workload):
        selector = config.model.spec.selector
        if selector is not None and _selects(selector.matchLabels, labels):
            return f"the ProxyConfig in {config.ref.document.file} that selects it"
    hosts = context.read_once(_read_hosts)
    for service in context.services_for(workload) if hosts else ():
        name, namespace = service.model.metadata.name or "", workload.namespace or "default"
        found = hosts.get((name, scope_of(workload))) or hosts.get((name, namespace))
        if found is not None:
            file = found.ref.document.file
            return f"the VirtualService in {file} for its Service {name}"
    return None


def _selects(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    return bool(selector) and all(labels.get(name) == value for name, value in selector.items())


def _selector(policy: MeshPolicy) -> dict[str, str]:
    for path in (("selector", "matchLabels"), ("workloadSelector", "labels")):
        found = value_at(policy.spec, *path)
        if isinstance(found, dict):
            return found
    return {}


def _read_hosts(index: ObjectIndex) -> _Hosts:
    """Return the hosts of VirtualServices for the mesh."""
    found: _Hosts = {}
    for loaded in index.all_of(VirtualService):
        gateways = value_at(loaded.model.spec, "gateways")
        if isinstance(gateways, list) and gateways and _MESH not in gateways:
            continue
        hosts = value_at(loaded.model.spec, "hosts")
        for host in hosts if isinstance(hosts, list) else ():
            name, _, rest = str(host).partition(".")
            namespace, _, domain = rest.partition(".")
            if not rest:
                found.setdefault((name, scope_of_object(loaded, index.namespaces)), loaded)
            elif domain in ("", "svc") or domain.startswith("svc."):
                found.setdefault((name, namespace), loaded)
    return found
