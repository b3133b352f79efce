"""The facts for rules besides a pod's timing: rollout, network, operating system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.platforms.pods.controllers import Rollout
    from shutdownlint.platforms.pods.fleet import Fleet
    from shutdownlint.shutdown.provenance import Setting


class PodFacts(Struct, frozen=True):
    """The facts about a pod besides its timing.

    ``rollout`` is None for pods that are not replaced, ``fleet`` where their number is not known.
    """

    rollout: Setting[Rollout] | None
    host_network: bool = False
    os_name: str = ""
    fleet: Fleet | None = None


class NodeShutdown(Struct, frozen=True):
    """The time that a kubelet grants the pod when its node shuts down."""

    granted: Setting[timedelta]


class StatedFacts(Struct, frozen=True):
    """The facts that the user states of the pod's workload, by the name of the fact."""

    settings: dict[str, Setting[Any]]
