"""Gateways of the Gateway API: the pods that istiod deploys for them, as if they were written.

Source: files/kube-gateway.yaml and waypoint.yaml, gatewaycommon/deploymentcontroller.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from shutdownlint.manifests.decoding import decode
from shutdownlint.manifests.resources import (
    ConfigMap,
    Container,
    Gateway,
    GatewayInfrastructure,
    Metadata,
    PodSpec,
    PodTemplate,
)
from shutdownlint.manifests.workloads import ObjectId, Workload
from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.loadbalancers.facts import GATEWAY_WINDOW
from shutdownlint.shutdown import LoadBalancer, Origin, OriginKind, Setting
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.workloads import LoadedResource
    from shutdownlint.platforms.istio.mesh_config import Mesh
    from shutdownlint.platforms.versions import Version

#: The label of the pods that are deployed for a Gateway.
_NAME_LABEL = "gateway.networking.k8s.io/gateway-name"


def deployed_gateways(mesh: Mesh) -> Iterator[Workload]:
    """A workload for every Gateway of Istio's classes among the files that istiod deploys."""
    for located in mesh.world.objects.of(Gateway):
        kind = located.model.spec.gatewayClassName
        if kind in (facts.GATEWAY_CLASS, facts.WAYPOINT_CLASS) and _managed(located.model):
            yield _workload(located, mesh, waypoint=kind == facts.WAYPOINT_CLASS)


def _managed(gateway: Gateway) -> bool:
    """Whether istiod makes the pod: a Gateway with a hostname is bound to a Service that exists."""
    addresses = gateway.spec.addresses
    if not isinstance(addresses, list) or not addresses:
        return True
    only = addresses[0] if isinstance(addresses[0], dict) else {}
    return len(addresses) == 1 and only.get("type") in (None, "IPAddress")


def _workload(located: LoadedResource[Gateway], mesh: Mesh, *, waypoint: bool) -> Workload:
    model, ref = located.model, located.ref
    metadata, own = model.metadata, model.spec.infrastructure or GatewayInfrastructure()
    name = metadata.name or ""
    version = mesh.version_for(metadata.labels.get(facts.REVISION))
    known, spec_at = _overridden(located, own, mesh, version)
    spec = known or PodSpec()
    usual = None
    if waypoint and version is not None and version in facts.WAYPOINT_GRACE_IN.value:
        grace = int(facts.WAYPOINT_GRACE.value.total_seconds())
        usual = (grace, f"the default of waypoints in Istio {version}")
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
        usual_grace=usual,
        partial=None if known is not None else "gateways whose parameters are not among the files",
    )


def _overridden(
    located: LoadedResource[Gateway],
    own: GatewayInfrastructure,
    mesh: Mesh,
    version: Version | None,
) -> tuple[PodSpec | None, NodeRef | None]:
    """What the Gateway's parameters change of its Deployment, and where that is written.

    None for parameters that are not among the files: they may change anything.
    """
    if version is not None and version < facts.GATEWAY_OVERRIDES_SINCE.value:
        return PodSpec(), None
    spec, location = PodSpec(), None
    wanted = own.parametersRef
    for config_map in mesh.world.objects.of(ConfigMap):
        theirs = config_map.model.metadata
        text = config_map.model.data.get(facts.OVERRIDES_KEY)
        name, namespace = located.model.metadata, theirs.namespace
        of_class = theirs.labels.get(facts.CLASS_DEFAULTS) == located.model.spec.gatewayClassName
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
        data = Tree(roots[0]).plain(("spec", "template", "spec")) if roots else {}
    except (ComposeError, BudgetExceededError):
        pass  # istiod logs it and deploys the Gateway as it is
    spec, _ = decode(PodSpec, data)
    return spec


def deployed_balancer(workload: Workload, *, waypoint: bool) -> LoadBalancer | None:
    """The load balancer that istiod asks for with a Gateway, unless it is told otherwise."""
    asked = workload.owner.annotations.get(facts.SERVICE_TYPE, "LoadBalancer")
    if waypoint or asked not in ("LoadBalancer", "NodePort"):
        return None
    location = workload.ref / "metadata" / "annotations" / facts.SERVICE_TYPE
    told = f"a Service of type {asked}"
    name = Setting(
        "load balancer", told, Origin(OriginKind.DEFAULT, "the default of a Gateway", location)
    )
    return LoadBalancer(name, GATEWAY_WINDOW.value, direct=False)
