"""Linkerd's proxy as a process of the model.

Sources: linkerd2-proxy linkerd2-proxy/src/main.rs:115-129, linkerd/app/core/src/serve.rs:94-101,
linkerd/proxy/http/src/server.rs:170-219.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.shutdown.pod_plan import Effect, Knob
from shutdownlint.shutdown.process import CLOSED, Phase, Process, Trigger, WhenFinished

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.shutdown.durations import DurationRange
    from shutdownlint.shutdown.provenance import Setting

#: The names of its knobs, for rules and fixes.
WAIT_FIELD = "waitBeforeExit"
GRACE_FIELD = "shutdownGrace"


class ProxySettings(Struct, frozen=True):
    """The settings that decide a proxy's shutdown.

    ``mode`` is ``classic`` or ``native``. ``wait`` is the sleep of its preStop hook, which a native
    proxy does not have. ``grace`` is how long it lets its requests finish.
    """

    mode: Setting[str]
    wait: Setting[DurationRange]
    grace: Setting[timedelta]

    @property
    def native(self) -> bool:
        """Whether it is a native sidecar, stopped after the app."""
        return self.mode.value == "native"


def proxy_process(settings: ProxySettings) -> Process:
    """At its stop signal it accepts nothing more, in both directions, and finishes what it has."""
    return Process((Phase(Trigger.SIGNAL, WhenFinished(settings.grace), CLOSED, CLOSED),))


def proxy_knobs(settings: ProxySettings) -> tuple[Knob, ...]:
    """Return the numbers that change this shutdown."""
    finish = Knob(GRACE_FIELD, Effect.FINISH_LIMIT, settings.grace)
    if settings.native:
        return (finish,)
    return (Knob(WAIT_FIELD, Effect.DELAYS_SIGNAL, settings.wait), finish)
