"""HAProxy Ingress: it waits, then the shorter of two limits counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.platforms.programs.servers import Flags, KnownServer
from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.shutdown.process import (
    CLOSED,
    OPEN,
    After,
    Phase,
    Process,
    Trigger,
    WhenFinished,
)

if TYPE_CHECKING:
    from shutdownlint.platforms.programs.servers import ServerStart

_DOCS: Final = "haproxy-ingress docs command-line.md:310-324, 594-606, 841-849"
STOP: Final = SourcedValue(seconds(25), f"{_DOCS} (--shutdown-timeout)")
GRACE: Final = SourcedValue(seconds(20), f"{_DOCS} (--haproxy-grace-period)")


def read(start: ServerStart) -> KnownServer:
    """Return the controller's shutdown."""
    flags = Flags(start.started)
    wait = flags.read("wait", ("--wait-before-shutdown",), ZERO)
    limit = flags.read("shutdown timeout", ("--shutdown-timeout",), STOP.value)
    grace = flags.read("haproxy grace", ("--haproxy-grace-period",), GRACE.value)
    phases = (
        Phase(Trigger.SIGNAL, After(wait), OPEN, OPEN),
        Phase(Trigger.NEXT, WhenFinished(min(limit, grace, key=lambda s: s.value)), CLOSED),
    )
    return KnownServer(Process(phases), "HAProxy Ingress")
