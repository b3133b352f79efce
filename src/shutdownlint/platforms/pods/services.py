"""The containers of a pod that its Services lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.platforms.pods.images import is_pause
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import Container, Service, ServicePort
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.pod_draft import ContainerDraft


#: Parts of the names of ports that only monitoring uses, or proxies for their configuration: they
#: keep the last one and connect again.
_MONITORING: Final = ("metric", "prom", "health", "probe", "debug", "pprof", "profiling", "xds")


def is_monitoring(port: str) -> bool:
    """Whether no requests of users come to a port of this name."""
    return any(word in port.lower() for word in _MONITORING)


def is_only_monitored(ports: Sequence[ServicePort]) -> bool:
    """Whether all ports of a Service are used by monitoring only."""
    return bool(ports) and all(is_monitoring(port.name or "") for port in ports)


def leads_to(port: ServicePort, container: Container) -> bool:
    """Whether the container declares the port that a Service's port leads to."""
    target = port.targetPort if port.targetPort is not None else port.port
    return any(target in (p.name, p.containerPort) and target is not None for p in container.ports)


def leads_to_pod(service: Service, workload: Workload) -> bool:
    """Whether a port of the Service leads to the pod: a name has to be declared, a number not."""
    ports = service.spec.ports
    return not ports or any(
        not isinstance(port.targetPort, str)
        or port.targetPort.isdigit()
        or any(leads_to(port, c) for c in workload.template.spec.containers)
        for port in ports
    )


def containers_reached(
    containers: Sequence[Container], services: Iterable[LoadedResource[Service]]
) -> set[str]:
    """Return the containers that the Services' target ports lead to.

    A target port leads to the first container that declares it (pkg/api/v1/pod/util.go, FindPort).
    """
    found = set()
    for service in services:
        ports = service.model.spec.ports
        of_users = [port for port in ports if not is_monitoring(port.name or "")]
        for port in of_users or ports:
            first = next((c.name for c in containers if leads_to(port, c)), None)
            if first is not None:
                found.add(first)
    return found


def serving_containers(
    drafts: Sequence[ContainerDraft], services: Sequence[LoadedResource[Service]]
) -> tuple[set[str], bool]:
    """Return the containers that requests reach, and whether the manifests show it.

    The targets of Services, else the containers with ports, else any that is no pause container.
    """
    specs = [draft.spec for draft in drafts if draft.spec is not None]
    containers = [spec for spec in specs if not is_pause(spec)]
    listening = containers_reached(containers, services) or {c.name for c in containers if c.ports}
    if listening:
        return listening, True
    return {c.name for c in containers}, len(containers) == 1


class ServingService(Struct, frozen=True):
    """A Service that sends a pod requests. ``containers`` get them; empty: any that serve."""

    name: Setting[str]
    service: LoadedResource[Service]
    containers: frozenset[str] = frozenset()


def serving_services(
    workload: Workload, services: Sequence[LoadedResource[Service]], context: AnalysisContext
) -> Iterator[ServingService]:
    """Yield the Service that sends the pods requests: one of the same file, if there is.

    One for monitoring counts only where there is no other. It is assumed where another application
    may have it. Further ones follow where they lead to containers that those before do not.
    """
    if workload.runs_to_completion:
        return
    containers = workload.template.spec.containers
    serving = containers_reached(containers, services)
    covered: set[str] = set()
    for service, name in _ranked(workload, services, context):
        reached = containers_reached(containers, [service])
        if not covered and not 0 < len(reached) < len(serving):
            yield ServingService(name, service)
            return
        if reached - covered:
            yield ServingService(name, service, frozenset(reached - covered))
            covered |= reached


def _ranked(
    workload: Workload, services: Sequence[LoadedResource[Service]], context: AnalysisContext
) -> Iterator[tuple[LoadedResource[Service], Setting[str]]]:
    here = workload.ref.document.file

    def rank(service: LoadedResource[Service]) -> tuple[bool, bool]:
        return is_only_monitored(service.model.spec.ports), service.ref.document.file != here

    for service in sorted(services, key=rank):
        if not service.model.headless:
            location = service.ref / "metadata" / "name"
            shown = context.surely_selects(service, workload, services)
            kind = OriginKind.INHERITED if shown else OriginKind.ASSUMED
            origin = Origin(kind, "Service", location)
            yield service, Setting("Service", service.model.metadata.name or "", origin)
