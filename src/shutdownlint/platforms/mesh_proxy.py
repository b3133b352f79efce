"""Adds a mesh's proxy to the model of a pod: what is the same for every mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.captured_ports import CapturedPorts, uncaptured_requests
from shutdownlint.platforms.pod_draft import ContainerDraft
from shutdownlint.platforms.pods.images import is_pause
from shutdownlint.platforms.traffic import MeshProxyFacts
from shutdownlint.shutdown.durations import ZERO, DurationRange
from shutdownlint.shutdown.pod_plan import Assumption, Role
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.platforms.pod_draft import PodDraft


_ALL: Final = CapturedPorts()


def sidecar_of(draft: PodDraft, name: str, location: NodeRef, *, native: bool) -> ContainerDraft:
    """Return the sidecar of that name: as it is written in the pod, else as an injector adds it."""
    written = draft.container(name)
    if written is not None:
        return written
    origin = Origin(OriginKind.DEFAULT, "no preStop hook", location)
    hook = Setting(f"{name} preStop", DurationRange.exact(ZERO), origin)
    return ContainerDraft(name, hook, native_sidecar=native)


def sidecar_mode(name: str, origin: Origin, *, native: bool) -> Setting[str]:
    """Whether a sidecar is ``native`` or ``classic``, as a setting."""
    return Setting(name, "native" if native else "classic", origin)


def put_container(draft: PodDraft, container: ContainerDraft) -> None:
    """Add a container, in the place of one of its name."""
    draft.containers = [c for c in draft.containers if c.name != container.name]
    draft.containers.append(container)


def add_mesh_proxy(
    draft: PodDraft,
    proxy: ContainerDraft,
    mesh: str,
    mode: Setting[str],
    *,
    edge: bool = False,
    captured: CapturedPorts = _ALL,
) -> None:
    """Add a proxy, or put it in the place of the container of its name.

    It is in front of the app and behind it, as far as traffic is ``captured``; ``edge``: the pod
    itself is the proxy, as is one that has nothing else but a pause container.
    """
    apps = [c for c in draft.app_containers if c.name != proxy.name and c.spec is not None]
    edge = edge or (bool(apps) and all(is_pause(c.spec) for c in apps if c.spec is not None))
    proxy.settled = True
    proxy.note(MeshProxyFacts(mesh, mode))
    put_container(draft, proxy)
    if edge:
        proxy.role = Role.EDGE
        for container in draft.containers:
            container.serves = False  # what else is in the pod gets no requests
        return
    proxy.role = Role.PROXY
    past = uncaptured_requests(draft, captured)
    if past:
        ports = ", ".join(map(str, past))
        plural = "s" if len(past) > 1 else ""
        text = f"requests to port{plural} {ports} do not pass {proxy.name} ({captured.written})"
        draft.assumptions.append(Assumption(text))
    else:
        draft.front.insert(0, proxy.name)
    if captured.calls:
        draft.back.append(proxy.name)
