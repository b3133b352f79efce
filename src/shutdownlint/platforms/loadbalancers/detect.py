"""The load balancer of a workload's pods, found by its Services and the objects that refer to them.

Those count that send to the pods' own addresses, and those that send to nodes with pods of the
Service only (externalTrafficPolicy Local) and find out by health checks. One that sends to any node
learns nothing of a pod's end, and what holds for a Service inside the cluster holds for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint.manifests.resources import BackendConfig, Ingress, IngressClass, Service
from shutdownlint.numbers import read_whole
from shutdownlint.platforms.annotation_values import (
    backend_config_names,
    read_json,
    read_pair,
)
from shutdownlint.platforms.loadbalancers import facts
from shutdownlint.platforms.loadbalancers.resources import (
    GCPBackendPolicy,
    TargetGroupConfiguration,
)
from shutdownlint.platforms.locations import source_location
from shutdownlint.platforms.pods.services import containers_reached
from shutdownlint.platforms.traffic import LoadBalancerFacts
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.facts import SourcedValue
    from shutdownlint.yaml_source.location import SourceLocation


def load_balancer(
    workload: Workload, services: Sequence[LoadedResource[Service]], context: AnalysisContext
) -> LoadBalancerFacts | None:
    """Return the load balancer that holds the pods' addresses, if the files show one."""
    for service in services:
        for found in _of_service(workload, service, context):
            containers = containers_reached(workload.template.spec.containers, (service,))
            name = found.name
            if not context.surely_selects(service, workload, services):
                name = replace(name, origin=replace(name.origin, kind=OriginKind.ASSUMED))
            return replace(found, name=name, containers=frozenset(containers))
    return None


def gateway_balancer(services: Sequence[LoadedResource[Service]]) -> LoadBalancerFacts | None:
    """Return the load balancer in front of a gateway's pods: any that a Service asks for."""
    for loaded in services:
        spec = loaded.model.spec
        if spec.type not in ("LoadBalancer", "NodePort"):
            continue
        annotations = loaded.model.metadata.annotations
        label = f"a Service of type {spec.type}"
        location = loaded.ref / "spec" / "type"
        if annotations.get(facts.NLB_TARGET_TYPE) == "ip":
            label = "an NLB with the pods as targets"
            location = loaded.ref / "metadata" / "annotations" / facts.NLB_TARGET_TYPE
        elif spec.externalTrafficPolicy == "Local":
            label += " with externalTrafficPolicy Local"
            location = loaded.ref / "spec" / "externalTrafficPolicy"
        return LoadBalancerFacts(_named(label, location), _window(facts.GATEWAY_WINDOW))
    return None


def _of_service(
    workload: Workload, service: LoadedResource[Service], context: AnalysisContext
) -> Iterator[LoadBalancerFacts]:
    for ingress in context.in_namespace_of(Ingress, workload):
        if service.model.metadata.name in ingress.model.services:
            yield from _alb(workload, service, ingress, context)
            yield from _agic(ingress)
    yield from _nlb(workload, service, context)
    yield from _nlb_nodes(service)
    yield from _aws_gateway(workload, service, context)
    yield from _gke(workload, service, context)


def _window(fact: SourcedValue[timedelta]) -> Setting[timedelta]:
    """Return how long a load balancer may go on sending, by its vendor's guide."""
    return Setting("load balancer window", fact.value, Origin(OriginKind.ASSUMED, "its guide"))


def _named(label: str, location: SourceLocation | None) -> Setting[str]:
    return Setting("load balancer", label, Origin(OriginKind.INHERITED, label, location))


def _has_no_gate(workload: Workload, context: AnalysisContext) -> bool:
    """Whether it is known that AWS' controller injects no readiness gate into these pods."""
    labels = context.namespace_labels(workload)
    gates = workload.template.spec.readinessGates
    return labels is not None and labels.get(facts.AWS_GATE_LABEL) != "enabled" and not gates


def _is_alb_class(name: str, context: AnalysisContext) -> bool:
    """Whether the controller of ALBs serves a class; the files may show it, else its name does."""
    controllers = {
        loaded.model.controller
        for loaded in context.index.all_of(IngressClass)
        if loaded.model.metadata.name == name
    }
    shown = bool(facts.ALB_CONTROLLERS & controllers)
    return shown if controllers else name == facts.ALB_CLASS


def _has_alb(ingress: LoadedResource[Ingress], context: AnalysisContext) -> bool:
    """Whether AWS' controller makes an ALB for an Ingress."""
    whose = ingress.model.ingress_class
    if whose:  # else annotations of an ALB may be left over
        return _is_alb_class(whose, context)
    return any(key.startswith(facts.ALB_PREFIX) for key in ingress.model.metadata.annotations)


def _alb(
    workload: Workload,
    service: LoadedResource[Service],
    ingress: LoadedResource[Ingress],
    context: AnalysisContext,
) -> Iterator[LoadBalancerFacts]:
    if not _has_alb(ingress, context):
        return
    # What is set on the Service counts for its target group.
    for loaded in (service, ingress):
        kind = loaded.model.metadata.annotations.get(facts.ALB_TARGET_TYPE)
        if kind is None:
            continue
        if kind == "ip":
            location = loaded.ref / "metadata" / "annotations" / facts.ALB_TARGET_TYPE
            delay = _delay((service, ingress), facts.ALB_ATTRIBUTES)
            label = "an ALB with the pods as targets"
            no_gate = _has_no_gate(workload, context)
            yield LoadBalancerFacts(
                _named(label, location), _window(facts.AWS_WINDOW), delay, no_readiness_gate=no_gate
            )
        return


def _nlb_nodes(service: LoadedResource[Service]) -> Iterator[LoadBalancerFacts]:
    """Yield an NLB with nodes as targets, by its health checks."""
    annotations, spec = service.model.metadata.annotations, service.model.spec
    if spec.type != "LoadBalancer" or spec.externalTrafficPolicy != "Local":
        return
    by_class = spec.loadBalancerClass in (facts.NLB_CLASS, facts.AUTO_NLB_CLASS)
    default = "" if spec.loadBalancerClass == facts.AUTO_NLB_CLASS else "instance"
    if annotations.get(facts.NLB_TARGET_TYPE, default) != "instance":
        return
    if not by_class and annotations.get(facts.NLB_TYPE) not in facts.NLB_TYPES:
        return
    if facts.NLB_CHECK_PORT in annotations:
        return  # only the Service's own port for health checks fails as soon as the last pod ends
    policy = service.ref / "spec" / "externalTrafficPolicy"
    interval, threshold = facts.NLB_CHECKS.value
    origin = Origin(OriginKind.DEFAULT, f"{threshold} checks, {interval}s apart", policy)
    values = [interval, threshold]
    for number, key in enumerate(facts.NLB_CHECK_KEYS):
        written = read_whole(annotations.get(key, ""))
        if written is not None:
            values[number] = written
            location = service.ref / "metadata" / "annotations" / key
            origin = Origin(OriginKind.EXPLICIT, "", location)
    interval, threshold = values
    if origin.written:
        origin = replace(origin, label=f"{threshold} checks, {interval}s apart")
    window = Setting("failing checks", seconds(min(interval * threshold, 10**6)), origin)
    name = _named("an NLB with nodes as targets", policy)
    yield LoadBalancerFacts(name, window)


def _nlb(
    workload: Workload, service: LoadedResource[Service], context: AnalysisContext
) -> Iterator[LoadBalancerFacts]:
    annotations = service.model.metadata.annotations
    if service.model.spec.type != "LoadBalancer":
        return
    for key, value in ((facts.NLB_TARGET_TYPE, "ip"), (facts.NLB_TYPE, "nlb-ip")):
        if annotations.get(key) == value:
            location = service.ref / "metadata" / "annotations" / key
            delay = _delay((service,), facts.NLB_ATTRIBUTES)
            label = "an NLB with the pods as targets"
            no_gate = _has_no_gate(workload, context)
            yield LoadBalancerFacts(
                _named(label, location), _window(facts.AWS_WINDOW), delay, no_readiness_gate=no_gate
            )
            return


def _aws_gateway(
    workload: Workload, service: LoadedResource[Service], context: AnalysisContext
) -> Iterator[LoadBalancerFacts]:
    for loaded in context.in_namespace_of(TargetGroupConfiguration, workload):
        spec = loaded.model.spec
        target, props = spec.targetReference, spec.defaultConfiguration
        if target is None or props is None or target.name != service.model.metadata.name:
            continue
        if props.targetType != "ip":
            continue
        here = loaded.ref / "spec" / "defaultConfiguration"
        delay = None
        for index, attribute in enumerate(props.targetGroupAttributes):
            number = read_whole(attribute.value or "")
            if attribute.key == facts.DEREGISTRATION_KEY and number is not None:
                location = here / "targetGroupAttributes" / index / "value"
                delay = _deregistration(number, location)
        label = "an AWS load balancer with the pods as targets"
        no_gate = _has_no_gate(workload, context)
        name = _named(label, here / "targetType")
        yield LoadBalancerFacts(name, _window(facts.AWS_WINDOW), delay, no_readiness_gate=no_gate)


def _gke(
    workload: Workload, service: LoadedResource[Service], context: AnalysisContext
) -> Iterator[LoadBalancerFacts]:
    annotations = service.model.metadata.annotations
    groups = read_json(annotations.get(facts.GKE_NEG))
    delay = _gke_policy(workload, service, context)
    label = "Google's load balancer with the pods as endpoints"
    if groups.get("ingress") is True or groups.get("exposed_ports"):
        location: SourceLocation | None = service.ref / "metadata" / "annotations" / facts.GKE_NEG
        delay = delay or _backend_config(workload, service, context)
    elif delay is not None:  # GKE's Gateway needs no annotation
        location = source_location(delay)
    else:
        return
    yield LoadBalancerFacts(_named(label, location), _window(facts.GKE_WINDOW), delay)


def _gke_policy(
    workload: Workload, service: LoadedResource[Service], context: AnalysisContext
) -> Setting[timedelta] | None:
    for loaded in context.in_namespace_of(GCPBackendPolicy, workload):
        spec = loaded.model.spec
        if spec.targetRef is None or spec.targetRef.name != service.model.metadata.name:
            continue
        draining = spec.default.connectionDraining if spec.default else None
        value = draining.drainingTimeoutSec if draining else None
        if isinstance(value, int):
            location = loaded.ref / "spec" / "default" / "connectionDraining" / "drainingTimeoutSec"
            return _deregistration(value, location)
    return None


def _backend_config(
    workload: Workload, service: LoadedResource[Service], context: AnalysisContext
) -> Setting[timedelta] | None:
    wanted = backend_config_names(service.model)
    for loaded in context.in_namespace_of(BackendConfig, workload):
        draining = loaded.model.spec.connectionDraining
        value = draining.drainingTimeoutSec if draining else None
        if loaded.model.metadata.name in wanted and isinstance(value, int):
            location = loaded.ref / "spec" / "connectionDraining" / "drainingTimeoutSec"
            return _deregistration(value, location)
    return None


def _agic(ingress: LoadedResource[Ingress]) -> Iterator[LoadBalancerFacts]:
    if ingress.model.ingress_class not in facts.AGIC_CLASSES:
        return
    annotations = ingress.model.metadata.annotations
    here = ingress.ref / "metadata" / "annotations"
    timeout = annotations.get(facts.AGIC_TIMEOUT, "")
    number = read_whole(timeout) if annotations.get(facts.AGIC_DRAINING) == "true" else None
    delay = _deregistration(number, here / facts.AGIC_TIMEOUT) if number is not None else None
    location = ingress.ref / "spec" / "ingressClassName"
    label = "Azure's Application Gateway"
    yield LoadBalancerFacts(_named(label, location), _window(facts.AGIC_WINDOW), delay)


def _deregistration(value: int, location: NodeRef) -> Setting[timedelta]:
    origin = Origin(OriginKind.EXPLICIT, "deregistration delay", location)
    return Setting("deregistration delay", seconds(min(value, 10**6)), origin)


def _delay(
    places: Sequence[LoadedResource[Service] | LoadedResource[Ingress]], annotation: str
) -> Setting[timedelta] | None:
    """Return the deregistration delay that is written, the strongest place first."""
    for loaded in places:
        text = loaded.model.metadata.annotations.get(annotation)
        number = read_whole(dict(_pairs(text or "")).get(facts.DEREGISTRATION_KEY, ""))
        if number is not None:
            return _deregistration(number, loaded.ref / "metadata" / "annotations" / annotation)
    return None


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """``k=v,k=v`` as AWS' controller reads it."""
    return (pair for part in text.split(",") if (pair := read_pair(part)) is not None)
