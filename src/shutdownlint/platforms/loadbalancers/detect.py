"""Which load balancer sends a workload's pods requests, by its Services and what refers to them.

Only those that send to the pods' own addresses count: one that sends to nodes learns nothing of a
pod's end, and what holds for a Service inside the cluster holds for it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.manifests.resources import (
    BackendConfig,
    GCPBackendPolicy,
    Ingress,
    Service,
    TargetGroupConfiguration,
)
from shutdownlint.platforms.homes import namespace_of
from shutdownlint.platforms.kubernetes.services import reached
from shutdownlint.platforms.loadbalancers import facts
from shutdownlint.platforms.problem import ConfigProblem
from shutdownlint.shutdown import LoadBalancer, Origin, OriginKind, Setting, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.workloads import LoadedResource, Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.yaml_source.location import SourceLocation


def load_balancer(
    workload: Workload, services: Sequence[LoadedResource[Service]], world: AnalysisContext
) -> LoadBalancer | None:
    """The load balancer that holds the pods' addresses, if the files show one."""
    for service in services:
        for found in _of_service(workload, service, world):
            containers = reached(workload.template.spec.containers, (service,))
            return replace(found, containers=frozenset(containers))
    return None


def gateway_balancer(services: Sequence[LoadedResource[Service]]) -> LoadBalancer | None:
    """The load balancer in front of a gateway's pods: any that a Service asks for."""
    for located in services:
        spec = located.model.spec
        if spec.type not in ("LoadBalancer", "NodePort"):
            continue
        annotations = located.model.metadata.annotations
        ip = annotations.get(facts.NLB_TARGET_TYPE) == "ip"
        told = f"a Service of type {spec.type}"
        location = located.ref / "spec" / "type"
        if ip:
            told = "an NLB with the pods as targets"
            location = located.ref / "metadata" / "annotations" / facts.NLB_TARGET_TYPE
        elif spec.externalTrafficPolicy == "Local":
            told += " with externalTrafficPolicy Local"
            location = located.ref / "spec" / "externalTrafficPolicy"
        direct = ip or spec.externalTrafficPolicy == "Local"
        return LoadBalancer(_named(told, location), facts.GATEWAY_WINDOW.value, direct=direct)
    return None


def _of_service(
    workload: Workload, service: LoadedResource[Service], world: AnalysisContext
) -> Iterator[LoadBalancer]:
    for ingress in world.near(Ingress, workload):
        if service.model.metadata.name in ingress.model.services:
            yield from _alb(workload, service, ingress, world)
            yield from _agic(ingress)
    yield from _nlb(workload, service, world)
    yield from _aws_gateway(workload, service, world)
    yield from _gke(workload, service, world)


def _named(told: str, location: SourceLocation | None) -> Setting[str]:
    return Setting("load balancer", told, Origin(OriginKind.INHERITED, told, location))


def _ungated(workload: Workload, world: AnalysisContext) -> bool:
    """Whether it is known that AWS' controller injects no readiness gate into these pods."""
    labels = world.namespace_labels(namespace_of(workload))
    gates = workload.template.spec.readinessGates
    return labels is not None and labels.get(facts.AWS_GATE_LABEL) != "enabled" and not gates


def _alb(
    workload: Workload,
    service: LoadedResource[Service],
    ingress: LoadedResource[Ingress],
    world: AnalysisContext,
) -> Iterator[LoadBalancer]:
    annotations, whose = ingress.model.metadata.annotations, ingress.model.ingress_class
    if whose not in ("", facts.ALB_CLASS):
        return  # annotations of an ALB may be left over
    if not whose and not any(key.startswith(facts.ALB_PREFIX) for key in annotations):
        return
    # What stands on the Service counts for its target group.
    for located in (service, ingress):
        kind = located.model.metadata.annotations.get(facts.ALB_TARGET_TYPE)
        if kind is None:
            continue
        if kind == "ip":
            location = located.ref / "metadata" / "annotations" / facts.ALB_TARGET_TYPE
            delay = _delay((service, ingress), facts.ALB_ATTRIBUTES)
            told = "an ALB with the pods as targets"
            ungated = _ungated(workload, world)
            yield LoadBalancer(
                _named(told, location), facts.AWS_WINDOW.value, delay, ungated=ungated
            )
        return


def _nlb(
    workload: Workload, service: LoadedResource[Service], world: AnalysisContext
) -> Iterator[LoadBalancer]:
    annotations = service.model.metadata.annotations
    if service.model.spec.type != "LoadBalancer":
        return
    for key, value in ((facts.NLB_TARGET_TYPE, "ip"), (facts.NLB_TYPE, "nlb-ip")):
        if annotations.get(key) == value:
            location = service.ref / "metadata" / "annotations" / key
            delay = _delay((service,), facts.NLB_ATTRIBUTES)
            told = "an NLB with the pods as targets"
            ungated = _ungated(workload, world)
            yield LoadBalancer(
                _named(told, location), facts.AWS_WINDOW.value, delay, ungated=ungated
            )
            return


def _aws_gateway(
    workload: Workload, service: LoadedResource[Service], world: AnalysisContext
) -> Iterator[LoadBalancer]:
    for located in world.near(TargetGroupConfiguration, workload):
        spec = located.model.spec
        target, props = spec.targetReference, spec.defaultConfiguration
        if target is None or props is None or target.name != service.model.metadata.name:
            continue
        if props.targetType != "ip":
            continue
        here = located.ref / "spec" / "defaultConfiguration"
        delay = None
        for index, attribute in enumerate(props.targetGroupAttributes):
            number = _whole(attribute.value or "")
            if attribute.key == facts.DEREGISTRATION_KEY and number is not None:
                location = here / "targetGroupAttributes" / index / "value"
                delay = _deregistration(number, location)
        told = "an AWS load balancer with the pods as targets"
        ungated = _ungated(workload, world)
        name = _named(told, here / "targetType")
        yield LoadBalancer(name, facts.AWS_WINDOW.value, delay, ungated=ungated)


def _gke(
    workload: Workload, service: LoadedResource[Service], world: AnalysisContext
) -> Iterator[LoadBalancer]:
    annotations = service.model.metadata.annotations
    groups = _json(annotations.get(facts.GKE_NEG))
    delay = _gke_policy(workload, service, world)
    told = "Google's load balancer with the pods as endpoints"
    if groups.get("ingress") is True or groups.get("exposed_ports"):
        location: SourceLocation | None = service.ref / "metadata" / "annotations" / facts.GKE_NEG
        delay = delay or _backend_config(workload, service, world)
    elif delay is not None:  # GKE's Gateway needs no annotation
        location = delay.origin.location
    else:
        return
    yield LoadBalancer(_named(told, location), facts.GKE_WINDOW.value, delay)


def _gke_policy(
    workload: Workload, service: LoadedResource[Service], world: AnalysisContext
) -> Setting[timedelta] | None:
    for located in world.near(GCPBackendPolicy, workload):
        spec = located.model.spec
        if spec.targetRef is None or spec.targetRef.name != service.model.metadata.name:
            continue
        draining = spec.default.connectionDraining if spec.default else None
        value = draining.drainingTimeoutSec if draining else None
        if isinstance(value, int):
            location = (
                located.ref / "spec" / "default" / "connectionDraining" / "drainingTimeoutSec"
            )
            return _deregistration(value, location)
    return None


def _backend_config(
    workload: Workload, service: LoadedResource[Service], world: AnalysisContext
) -> Setting[timedelta] | None:
    annotations = service.model.metadata.annotations
    wanted: set[object] = set()
    for key in facts.GKE_BACKEND_CONFIG:
        config = _json(annotations.get(key))
        ports = config.get("ports")
        names = [config.get("default"), *(ports.values() if isinstance(ports, dict) else ())]
        wanted |= {name for name in names if isinstance(name, str)}
    for located in world.near(BackendConfig, workload):
        draining = located.model.spec.connectionDraining
        value = draining.drainingTimeoutSec if draining else None
        if located.model.metadata.name in wanted and isinstance(value, int):
            location = located.ref / "spec" / "connectionDraining" / "drainingTimeoutSec"
            return _deregistration(value, location)
    return None


def _agic(ingress: LoadedResource[Ingress]) -> Iterator[LoadBalancer]:
    if ingress.model.ingress_class not in facts.AGIC_CLASSES:
        return
    annotations = ingress.model.metadata.annotations
    here = ingress.ref / "metadata" / "annotations"
    timeout = annotations.get(facts.AGIC_TIMEOUT, "")
    number = _whole(timeout) if annotations.get(facts.AGIC_DRAINING) == "true" else None
    delay = _deregistration(number, here / facts.AGIC_TIMEOUT) if number is not None else None
    location = ingress.ref / "spec" / "ingressClassName"
    told = "Azure's Application Gateway"
    yield LoadBalancer(_named(told, location), facts.AGIC_WINDOW.value, delay)


def _whole(text: str) -> int | None:
    """A number of seconds as these annotations take it."""
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _deregistration(value: int, location: NodeRef) -> Setting[timedelta]:
    origin = Origin(OriginKind.EXPLICIT, "deregistration delay", location)
    return Setting("deregistration delay", seconds(min(value, 10**6)), origin)


def _delay(
    places: Sequence[LoadedResource[Service] | LoadedResource[Ingress]], annotation: str
) -> Setting[timedelta] | None:
    """The deregistration delay that is written, the strongest place first."""
    for located in places:
        text = located.model.metadata.annotations.get(annotation)
        number = _whole(dict(_pairs(text or "")).get(facts.DEREGISTRATION_KEY, ""))
        if number is not None:
            return _deregistration(number, located.ref / "metadata" / "annotations" / annotation)
    return None


_PAIR = re.compile(r"\s*([^=,]+?)\s*=\s*([^,]*?)\s*")


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    """``k=v,k=v`` as AWS' controller reads it, blanks and line breaks around each left out."""
    for part in text.split(","):
        found = _PAIR.fullmatch(part)
        if found is not None:
            yield found.group(1), found.group(2)


def _json(text: str | None) -> dict[str, object]:
    try:
        data = json.loads(text or "{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def attribute_defects(world: AnalysisContext) -> Iterator[ConfigProblem]:
    """Target group attributes that AWS' controller cannot read."""
    low, high = facts.DEREGISTRATION_RANGE.value
    kinds: tuple[tuple[type[Service] | type[Ingress], str], ...] = (
        (Service, facts.NLB_ATTRIBUTES),
        (Service, facts.ALB_ATTRIBUTES),
        (Ingress, facts.ALB_ATTRIBUTES),
    )
    for model, annotation in kinds:
        for located in world.objects.of(model):
            text = located.model.metadata.annotations.get(annotation)
            # Placeholders of any kind, and commas that are meant: left to others.
            if not text or has_placeholder(text) or "$" in text or "\\" in text:
                continue
            location = located.ref / "metadata" / "annotations" / annotation
            for part in text.split(","):
                found = _PAIR.fullmatch(part)
                reason = ""
                if found is None and not part.strip():
                    continue
                if found is None:
                    reason = f"'{part.strip()}' is not key=value"
                elif found.group(1) == facts.DEREGISTRATION_KEY:
                    value = found.group(2)
                    number = _whole(value)
                    if number is None or not low <= number <= high:
                        told = f"must be a whole number of seconds from {low} to {high}"
                        reason = f"{found.group(1)} {told}, not '{value}'"
                if reason:
                    words = {"key": annotation, "reason": reason}
                    yield ConfigProblem("target-group-attributes", location, words)
