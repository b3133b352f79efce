"""Envoy Gateway as a platform: the times of EnvoyProxy objects, and the pods that it makes.

The grace period of the pods is drainTimeout and five minutes, unless a patch sets another
(internal/.../resource_provider.go:623-633).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint.manifests.decoding import value_at
from shutdownlint.manifests.resources import Resource
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.envoy_gateway import facts
from shutdownlint.platforms.managed_envoy import find_managed_envoy
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.problem import Problem
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.process import WhenIdle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.pod_draft import PodDraft

_GRACE: Final = "terminationGracePeriodSeconds"
#: Where a patch has the spec of the pods.
_TEMPLATE: Final = ("patch", "value", "spec", "template", "spec")


class EnvoyProxy(Resource, frozen=True):
    """gateway.envoyproxy.io EnvoyProxy."""

    spec: Any = None


class EnvoyGraceShort(Problem, frozen=True, kw_only=True):
    """A patch whose grace period is shorter than the drain."""

    platform = "envoy_gateway"

    grace: timedelta
    drain: timedelta


class EnvoyShutdownTimes(Problem, frozen=True, kw_only=True):
    """Two times of a shutdown that contradict each other."""

    platform = "envoy_gateway"

    key: str
    value: timedelta
    drain: timedelta


class Plugin(Platform):
    """Envoy Gateway."""

    name = "envoy_gateway"
    problems = (EnvoyGraceShort, EnvoyShutdownTimes)

    def contribute(self, draft: PodDraft) -> None:
        """Let the pod's Envoy go on until its connections are closed, for drainTimeout at most."""
        envoy = find_managed_envoy(draft, facts.PROGRAM)
        if envoy is not None:
            delay = envoy.duration("--min-drain-duration", facts.MINIMUM_DRAIN.value)
            limit = envoy.duration("--drain-timeout", facts.DRAIN_TIMEOUT.value)
            least = envoy.number("--exit-at-connections", facts.EXIT_AT_CONNECTIONS.value)
            interval = facts.CHECK_INTERVAL.value
            envoy.take(WhenIdle(interval, delay, threshold=least, immediately=True, limit=limit))

    def context_problems(self, context: AnalysisContext) -> Iterator[Problem]:
        """Yield the problems with the times of EnvoyProxy objects."""
        for loaded in context.index.all_of(EnvoyProxy):
            yield from _problems(loaded)


def _problems(loaded: LoadedResource[EnvoyProxy]) -> Iterator[Problem]:
    here = loaded.ref / "spec" / "shutdown"
    shutdown = value_at(loaded.model.spec, "shutdown")
    drain = _duration(shutdown, "drainTimeout", facts.DRAIN_TIMEOUT.value)
    if drain is None:
        return
    for key, default in (
        ("minDrainDuration", facts.MINIMUM_DRAIN.value),
        ("healthCheckFailureDelay", facts.HEALTH_CHECK_DELAY.value),
    ):
        value = _duration(shutdown, key, default)
        least = key == "minDrainDuration"
        written = isinstance(shutdown, dict) and key in shutdown
        if value is not None and written and (value > drain if least else value >= drain):
            yield EnvoyShutdownTimes(location=here / key, key=key, value=value, drain=drain)
    for kind in ("envoyDeployment", "envoyDaemonSet"):
        path = ("provider", "kubernetes", kind, *_TEMPLATE, _GRACE)
        grace = value_at(loaded.model.spec, *path)
        if type(grace) is int and seconds(min(grace, 10**9)) <= drain:
            place = (loaded.ref / "spec").below(*path)
            yield EnvoyGraceShort(location=place, grace=seconds(max(grace, 0)), drain=drain)


def _duration(shutdown: Any, key: str, default: timedelta) -> timedelta | None:
    """Return a time of the shutdown; None where it cannot be read."""
    written = value_at(shutdown, key)
    if written is None:
        return default
    try:
        return go_duration(written) if isinstance(written, str) else None
    except ValueError:
        return None
