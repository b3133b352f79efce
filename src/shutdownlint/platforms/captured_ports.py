"""The ports of a pod whose traffic passes a mesh's proxy: annotations take some of them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from shutdownlint.numbers import clip_whole, read_whole
from shutdownlint.platforms.traffic import ServiceFacts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.platforms.pod_draft import PodDraft

#: The first and the last port of each range.
Ports: TypeAlias = tuple[tuple[int, int], ...]
_LAST_PORT: Final = 65535


class CapturedPorts(Struct, frozen=True):
    """What passes a proxy.

    ``only`` these ports do (None: all), without those of ``skipped``. ``calls``: the app's own
    calls do. ``written`` names the annotation or setting that takes ports out.
    """

    only: Ports | None = None
    skipped: Ports = ()
    calls: bool = True
    written: str = ""

    def passes(self, port: int) -> bool:
        """Whether requests to a port pass the proxy."""
        taken = self.only is None or _has(self.only, port)
        return taken and not _has(self.skipped, port)


def read_ports(text: str) -> Ports | None:
    """Return the ports of a list such as ``8080,9000-9010``; None where it cannot be read."""
    found = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if not part.strip():
            continue
        if not (_is_port(first) and _is_port(last or first)):
            return None
        found.append((clip_whole(first, _LAST_PORT), clip_whole(last or first, _LAST_PORT)))
    return tuple(found)


def skipped_ports(annotations: dict[str, str], name: str) -> CapturedPorts:
    """Return what passes a proxy where one annotation lists the ports that do not."""
    ports = read_ports(annotations.get(name, "")) or ()
    return CapturedPorts(skipped=ports, written=name if ports else "")


def uncaptured_requests(draft: PodDraft, captured: CapturedPorts) -> tuple[int, ...]:
    """Return the ports that requests go to, if none of them passes the proxy; else none."""
    ports = tuple(dict.fromkeys(_request_ports(draft)))
    return ports if not any(map(captured.passes, ports)) else ()


def _request_ports(draft: PodDraft) -> Iterator[int]:
    """Yield the ports of the pod that its Service leads to; without one those of its containers."""
    declared = [
        port
        for container in draft.app_containers
        if container.spec is not None
        for port in container.spec.ports
    ]
    service: ServiceFacts | None = draft.facts.get(ServiceFacts)
    targets = service.ports if service is not None else ()
    for target in targets or [port.containerPort for port in declared]:
        if isinstance(target, int):
            yield target
        elif isinstance(target, str) and _is_port(target):
            yield clip_whole(target, _LAST_PORT)
        else:
            numbers = (port.containerPort for port in declared if port.name == target)
            yield from (number for number in numbers if isinstance(number, int))


def _is_port(text: str) -> bool:
    number = read_whole(text, 5)
    return number is not None and number <= _LAST_PORT


def _has(ports: Ports, port: int) -> bool:
    return any(first <= port <= last for first, last in ports)
