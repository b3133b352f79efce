"""Adds a mesh's proxy to the model of a pod: what is the same for every mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.platforms.traffic import MeshProxyFacts
from shutdownlint.shutdown.pod_plan import Role

if TYPE_CHECKING:
    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft
    from shutdownlint.shutdown.provenance import Setting


def add_mesh_proxy(
    draft: PodDraft, proxy: ContainerDraft, mesh: str, mode: Setting[str], *, edge: bool = False
) -> None:
    """Add a proxy, or put it in the place of the container of its name.

    It is in front of the app and behind it; ``edge``: the pod itself is the proxy.
    """
    proxy.settled = True
    proxy.note(MeshProxyFacts(mesh, mode))
    draft.containers = [c for c in draft.containers if c.name != proxy.name]
    draft.containers.append(proxy)
    if edge:
        proxy.role = Role.EDGE
        return
    proxy.role = Role.PROXY
    draft.front.insert(0, proxy.name)
    draft.back.append(proxy.name)
