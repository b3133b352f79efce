"""Which containers of a pod its Services lead to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shutdownlint.manifests.resources import Container, Service, ServicePort
    from shutdownlint.manifests.workloads import LoadedResource


def leads_to(port: ServicePort, container: Container) -> bool:
    """Whether the container declares the port that a Service's port leads to."""
    target = port.targetPort if port.targetPort is not None else port.port
    return any(target in (p.name, p.containerPort) and target is not None for p in container.ports)


def reached(
    containers: Sequence[Container], services: Iterable[LoadedResource[Service]]
) -> set[str]:
    """The containers that the Services' target ports lead to.

    A target port leads to the first container that declares it (pkg/api/v1/pod/util.go, FindPort).
    """
    found = set()
    for located in services:
        for port in located.model.spec.ports:
            first = next((c.name for c in containers if leads_to(port, c)), None)
            if first is not None:
                found.add(first)
    return found
