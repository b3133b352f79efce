"""Contour as a platform: an Envoy goes on until its connections are closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.platforms.contour import facts
from shutdownlint.platforms.managed_envoy import find_managed_envoy
from shutdownlint.platforms.platform import Platform
from shutdownlint.shutdown.process import WhenIdle

if TYPE_CHECKING:
    from shutdownlint.platforms.pod_draft import PodDraft


class Plugin(Platform):
    """Contour."""

    name = "contour"

    def contribute(self, draft: PodDraft) -> None:
        """Let the pod's Envoy go on until the shutdown manager finds no more connections."""
        envoy = find_managed_envoy(draft, facts.PROGRAM)
        if envoy is None:
            return
        drain = envoy.duration("--drain-delay", facts.DRAIN_DELAY.value)
        check = envoy.duration("--check-delay", facts.CHECK_DELAY.value)
        interval = envoy.duration("--check-interval", facts.CHECK_INTERVAL.value)
        least = envoy.number("--min-open-connections", facts.OPEN_CONNECTIONS.value)
        delay = envoy.sum_of("drain-delay and check-delay", drain, check)
        envoy.take(WhenIdle(interval.value, delay, threshold=least, immediately=True))
