"""Traefik: each entry point has times of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.platforms.programs.servers import Flags, KnownServer
from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.shutdown.pod_plan import Assumption
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

ACCEPT: Final = SourcedValue(
    ZERO, "traefik pkg/config/static/static_config.go:43-45,225-234 (requestAcceptGraceTimeout)"
)
GRACE: Final = SourcedValue(
    seconds(10), "traefik pkg/config/static/static_config.go:43-45,225-234 (graceTimeOut)"
)
#: How the flags of one entry point begin.
_LIFECYCLE: Final = lazy_pattern(r"--entrypoints\.[^.]+\.transport\.lifecycle\.")


def read(start: ServerStart) -> KnownServer:
    """Return the shutdown of its slowest entry point: all of them stop at once."""
    flags = Flags(start.started)
    found = (_LIFECYCLE.match(name) for name in flags.names)
    pairs = []
    for own in sorted({each[0] for each in found if each is not None}) or [""]:
        accepting, finishing = (f"{own}requestacceptgracetimeout",), (f"{own}gracetimeout",)
        accept = flags.read("requestAcceptGraceTimeout", accepting, ACCEPT.value)
        grace = flags.read("graceTimeOut", finishing, GRACE.value)
        pairs.append((accept, grace))
    accept, grace = max(pairs, key=lambda pair: pair[0].value + pair[1].value)
    phases = (
        Phase(Trigger.SIGNAL, After(accept), OPEN, OPEN),
        Phase(Trigger.NEXT, WhenFinished(grace), CLOSED),
    )
    text = "Traefik's grace timeouts are assumed to be those of its arguments, or the defaults"
    return KnownServer(
        Process(phases),
        "Traefik",
        assumptions=(Assumption(text, "a file or its variables may set others"),),
    )
