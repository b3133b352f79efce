"""Istio's proxy as a process of the model: what its settings make it do.

Sources: pilot-agent's termination (pkg/envoy/agent.go:136-236), the drain call
(pkg/envoy/admin.go:29-45) and Envoy's listeners (source/server/admin/listeners_handler.cc),
compared with the real agent and real Envoys.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.platforms.istio import facts
from shutdownlint.shutdown.durations import ZERO, DurationRange
from shutdownlint.shutdown.pod_plan import Effect, Knob, Switch
from shutdownlint.shutdown.process import (
    CLOSED,
    OPEN,
    Acceptance,
    After,
    Ending,
    Never,
    Phase,
    Process,
    Trigger,
    WhenIdle,
)
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting, with_value

#: The interval of checks for open connections (activeConnectionCheckDelay, pkg/envoy/agent.go:37);
#: the first check is one interval after the minimum drain.
CHECK_INTERVAL: Final = timedelta(seconds=1)
#: Envoy 1.40 drains idle connections in the last third of the drain, up to 5 s before its end
#: (measured; the guard is envoy.reloadable_features.use_connection_event_drain), and closes them
#: drain_timeout (5 s) later.
_EARLY_DRAIN_MARGIN: Final = timedelta(seconds=5)
_AT_ONCE: Final = Setting("at once", ZERO, Origin(OriginKind.DEFAULT, "it has drained already"))


class ProxyMode(StrEnum):
    """The way in which the proxy is put into the pod."""

    CLASSIC = "classic"
    NATIVE = "native"
    #: The pod is the proxy: there is no app behind it.
    GATEWAY = "gateway"


class ProxySettings(Struct, frozen=True):
    """The settings of a proxy that decide its shutdown.

    ``drain_hook``: its own preStop hook starts the drain and leaves the listener open (native).
    ``early_idle_drain``: its Envoy (1.40 and later) closes idle connections before
    ``drain_duration`` is over. ``exit_on_zero_broken``: exit-on-zero waits for a statistic that
    this release does not have. ``idle_timeout``: when it closes an idle connection with HTTP, and
    ``connection_drain`` how much later that is done.
    """

    mode: Setting[ProxyMode]
    exit_on_zero: Setting[bool]
    minimum_drain: Setting[timedelta]
    termination_drain: Setting[timedelta]
    drain_duration: Setting[timedelta]
    drain_hook: bool = False
    early_idle_drain: bool = False
    exit_on_zero_broken: bool = False
    idle_timeout: Setting[timedelta] | None = None
    connection_drain: timedelta = facts.CONNECTION_DRAIN.value

    @property
    def native(self) -> bool:
        """Whether it is a native sidecar, stopped after the app."""
        return self.mode.value is ProxyMode.NATIVE

    @property
    def keeps_listening(self) -> bool:
        """Whether it serves until its stop signal and then ends at once."""
        return self.native and self.drain_hook


def proxy_process(settings: ProxySettings) -> Process:
    """Return the phases of a proxy with these settings."""
    if settings.keeps_listening:
        return Process(
            (
                Phase(Trigger.DELETION, Never()),
                Phase(Trigger.SIGNAL, After(_AT_ONCE), CLOSED, CLOSED),
            )
        )
    drain = Acceptance(closes_after=settings.drain_duration)
    # A gateway drains every listener, a sidecar those of inbound traffic.
    outbound = drain if settings.mode.value is ProxyMode.GATEWAY else OPEN
    return Process((Phase(Trigger.SIGNAL, _ending(settings), drain, outbound),))


def _ending(settings: ProxySettings) -> Ending:
    if not settings.exit_on_zero.value:
        return After(settings.termination_drain)
    if settings.exit_on_zero_broken:
        return Never()
    return WhenIdle(
        CHECK_INTERVAL,
        settings.minimum_drain,
        switch=settings.exit_on_zero,
        idle_released=_idle_released(settings),
        idle_timeout=_idle_closed(settings),
    )


def _idle_closed(settings: ProxySettings) -> timedelta | None:
    """Return how long after its last use an idle connection is closed, including the drain."""
    timeout = settings.idle_timeout
    if timeout is None or timeout.value <= ZERO:  # 0 turns it off
        return None
    return timeout.value + settings.connection_drain + facts.DELAYED_CLOSE.value


def _idle_released(settings: ProxySettings) -> DurationRange | None:
    """Return when idle connections of clients are closed; None: never."""
    drain = settings.drain_duration.value
    if not settings.early_idle_drain or drain / 3 <= _EARLY_DRAIN_MARGIN:
        return None
    return DurationRange(drain * 2 / 3 + _EARLY_DRAIN_MARGIN, drain)


def proxy_knobs(settings: ProxySettings) -> tuple[Knob, ...]:
    """Return numbers that change this shutdown; those without effect in this mode are omitted."""
    if settings.keeps_listening:
        return ()
    life = (
        Knob("minimumDrain", Effect.MINIMUM_LIFE, settings.minimum_drain)
        if settings.exit_on_zero.value
        else Knob("terminationDrain", Effect.LIFE, settings.termination_drain)
    )
    return (life, Knob("drainDuration", Effect.KEEPS_ACCEPTING, settings.drain_duration))


def proxy_switch(settings: ProxySettings) -> Switch | None:
    """Exit-on-zero, where nothing sets the fixed time and the release has it."""
    written = settings.exit_on_zero.origin.written or settings.termination_drain.origin.written
    works = not (settings.exit_on_zero.value or settings.exit_on_zero_broken)
    if settings.mode.value is not ProxyMode.CLASSIC or written or not works:
        return None
    changed = replace(settings, exit_on_zero=with_value(settings.exit_on_zero, True))
    process, knobs = proxy_process(changed), proxy_knobs(changed)
    return Switch("exitOnZero", settings.exit_on_zero, process, knobs)
