"""Gateways of the Gateway API: the pods that istiod deploys for them, as if they were written.

Source: files/kube-gateway.yaml and waypoint.yaml, gatewaycommon/deploymentcontroller.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from shutdownlint.manifests.decoding import decode
from shutdownlint.manifests.object_id import ObjectId
from shutdownlint.manifests.resources import (
    ConfigMap,
    Container,
    Gateway,
    GatewayInfrastructure,
    Metadata,
    PodSpec,
    PodTemplate,
)
from shutdownlint.manifests.skips import SkipReason
from shutdownlint.manifests.workloads import Workload
from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.pods.facts import DEFAULT_GRACE
from shutdownlint.platforms.traffic import RequestedService
from shutdownlint.shutdown.durations import format_duration
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.platforms.istio.mesh_config import Mesh
    from shutdownlint.platforms.versions import Version

#: The label of the pods that are deployed for a Gateway.
_NAME_LABEL: Final = "gateway.networking.k8s.io/gateway-name"
_PARAMETERS_MISSING: Final = SkipReason(
    "gateway-parameters-missing", "gateways whose parameters are not among the files"
)

_OTHER_PROXY: Final = SkipReason(
    "agentgateway", "gateways of Istio's agentgateway, another proxy whose end is not modelled"
)


def deployed_gateways(mesh: Mesh) -> Iterator[Workload]:
    """Yield a workload for every Gateway of Istio's classes among the files that istiod deploys."""
    for loaded in mesh.context.index.all_of(Gateway):
        kind = loaded.model.spec.gatewayClassName
        by_template = (facts.WAYPOINT_CLASS, facts.EAST_WEST_CLASS)
        if not _managed(loaded.model):
            continue
        if kind in (facts.GATEWAY_CLASS, *by_template):
            yield _workload(loaded, mesh, waypoint=kind in by_template)
        elif kind in facts.AGENTGATEWAY_CLASSES:
            workload = _workload(loaded, mesh, waypoint=False)
            yield replace(workload, incomplete=_OTHER_PROXY)


def _managed(gateway: Gateway) -> bool:
    """Whether istiod makes the pod: a Gateway with a hostname is bound to a Service that exists."""
    addresses = gateway.spec.addresses
    if not isinstance(addresses, list) or not addresses:
        return True
    only = addresses[0] if isinstance(addresses[0], dict) else {}
    return len(addresses) == 1 and only.get("type") in (None, "IPAddress")


def _workload(loaded: LoadedResource[Gateway], mesh: Mesh, *, waypoint: bool) -> Workload:
    model, ref = loaded.model, loaded.ref
    metadata, own = model.metadata, model.spec.infrastructure or GatewayInfrastructure()
    name = metadata.name or ""
    version = mesh.version_for(metadata.labels.get(facts.REVISION), metadata.namespace)
    known, spec_at = _overridden(loaded, own, mesh, version)
    spec = known or PodSpec()
    default = _default_grace(version) if waypoint else None
    proxy = next((c for c in spec.containers if c.name == facts.PROXY_CONTAINER), None)
    arguments = ["proxy", "waypoint" if waypoint else "router"]
    proxy = replace(proxy or Container(name=facts.PROXY_CONTAINER), args=arguments)
    others = [c for c in spec.containers if c.name != facts.PROXY_CONTAINER]
    template = PodTemplate(
        metadata=Metadata(
            namespace=metadata.namespace,
            labels={**own.labels, _NAME_LABEL: name},
            annotations=own.annotations,
        ),
        spec=replace(spec, containers=[proxy, *others]),
    )
    return Workload(
        id=ObjectId("Gateway", name, metadata.namespace),
        group=facts.GATEWAY_GROUP,
        ref=ref,
        object_ref=ref,
        owner=metadata,
        template=template,
        annotations_at=ref / "spec" / "infrastructure" / "annotations",
        spec_at=spec_at,
        default_grace=default,
        incomplete=None if known is not None else _PARAMETERS_MISSING,
    )


def _overridden(
    loaded: LoadedResource[Gateway],
    own: GatewayInfrastructure,
    mesh: Mesh,
    version: Version | None,
) -> tuple[PodSpec | None, NodeRef | None]:
    """Return what the Gateway's parameters change in its Deployment, and where that is written.

    None for parameters that are not among the files: they may change anything.
    """
    if version is not None and version < facts.GATEWAY_OVERRIDES_SINCE.value:
        return PodSpec(), None
    spec, location = PodSpec(), None
    wanted = own.parametersRef
    for config_map in mesh.context.index.all_of(ConfigMap):
        theirs = config_map.model.metadata
        text = config_map.model.data.get(facts.OVERRIDES_KEY)
        name, namespace = loaded.model.metadata, theirs.namespace
        of_class = theirs.labels.get(facts.CLASS_DEFAULTS) == loaded.model.spec.gatewayClassName
        own_one = wanted is not None and (theirs.name, namespace) == (wanted.name, name.namespace)
        if text is not None and (own_one or (of_class and location is None)):
            spec, location = _pod_spec(text), config_map.ref / "data" / facts.OVERRIDES_KEY
            if own_one:
                return spec, location
    return (None if wanted is not None else spec), location


def _pod_spec(text: str) -> PodSpec:
    data: Any = {}
    try:
        roots = compose(text)
        data = Tree(roots[0]).to_python(("spec", "template", "spec")) if roots else {}
    except (ComposeError, BudgetExceededError):
        pass  # istiod logs it and deploys the Gateway as it is
    spec, _ = decode(PodSpec, data)
    return spec


def _default_grace(version: Version | None) -> tuple[int, str] | None:
    """Return the grace period in seconds that istiod gives a waypoint, and why."""
    short, releases = facts.WAYPOINT_GRACE.value, facts.WAYPOINT_GRACE_IN.value
    if version is None:
        current = int(DEFAULT_GRACE.value.total_seconds())
        text = f"the default; waypoints of Istio {releases.text} have {format_duration(short)}"
        return current, text
    if version not in releases:
        return None
    return int(short.total_seconds()), f"the default of waypoints in Istio {version}"


def requested_service(workload: Workload, *, waypoint: bool) -> RequestedService | None:
    """Return the Service that istiod makes for a Gateway, if reachable from outside the cluster."""
    service_type = workload.owner.annotations.get(facts.SERVICE_TYPE, "LoadBalancer")
    if waypoint or service_type not in ("LoadBalancer", "NodePort"):
        return None
    location = workload.ref / "metadata" / "annotations" / facts.SERVICE_TYPE
    origin = Origin(OriginKind.DEFAULT, "the default of a Gateway", location)
    return RequestedService(Setting("load balancer", f"a Service of type {service_type}", origin))
