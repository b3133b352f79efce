"""ingress-nginx: its grace periods are flags, the limit of its workers is in a ConfigMap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.durations import server_duration
from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.platforms.programs.servers import Flags, KnownServer
from shutdownlint.platforms.programs.start import flag_values
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
    WhenGone,
)
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.platforms.programs.servers import ServerStart

SHUTDOWN_GRACE: Final = SourcedValue(
    ZERO, "ingress-nginx pkg/flags/flags.go:225-227 (--shutdown-grace-period)"
)
POST_SHUTDOWN: Final = SourcedValue(
    seconds(10), "ingress-nginx pkg/flags/flags.go:225-227 (--post-shutdown-grace-period)"
)
WORKER_SHUTDOWN: Final = SourcedValue(
    seconds(240), "ingress-nginx configmap.md:780-782 (worker-shutdown-timeout)"
)
#: The key of its ConfigMap.
WORKER_SHUTDOWN_KEY: Final = "worker-shutdown-timeout"
#: The hook that ends when the controller has gone (ingress-nginx cmd/waitshutdown/main.go:28-43).
WAIT_SHUTDOWN: Final = "/wait-shutdown"


def read(start: ServerStart) -> KnownServer:
    """Return the controller's shutdown."""
    flags = Flags(start.started)
    grace = flags.read("shutdown grace", ("--shutdown-grace-period",), SHUTDOWN_GRACE.value)
    post = flags.read("post-shutdown grace", ("--post-shutdown-grace-period",), POST_SHUTDOWN.value)
    workers, assumptions = _worker_shutdown(start)
    waits = WAIT_SHUTDOWN in start.hook_command
    begins = Trigger.DELETION if waits else Trigger.SIGNAL
    phases = (
        Phase(begins, After(grace), OPEN, OPEN),
        Phase(Trigger.NEXT, WhenFinished(workers), CLOSED),
        Phase(Trigger.NEXT, After(post), CLOSED, CLOSED, cuts=True),
    )
    return KnownServer(
        Process(phases),
        "ingress-nginx",
        hook=WhenGone((start.container,)) if waits else None,
        assumptions=assumptions,
    )


def _worker_shutdown(
    start: ServerStart,
) -> tuple[Setting[timedelta] | None, tuple[Assumption, ...]]:
    """Read the limit of nginx's workers in the controller's ConfigMap; None: it cannot be read."""
    name = WORKER_SHUTDOWN_KEY
    origin = Origin(OriginKind.DEFAULT, "ingress-nginx's default", start.started.location)
    default = Setting(name, WORKER_SHUTDOWN.value, origin)
    written = next(
        (word.text for _, word in flag_values(start.started.words, ("--configmap",))), None
    )
    loaded = start.config_map((written or "").rpartition("/")[2])
    if loaded is None:
        text = f"ingress-nginx's {name} is assumed to be its default of 240s"
        return default, (Assumption(text, "its ConfigMap may set another"),)
    written_value = loaded.model.data.get(name)
    if written_value is None:
        return default, ()
    value = server_duration(written_value)
    if value is None:
        text = f"{name} {written_value} cannot be read: no limit is assumed"
        return None, (Assumption(text, "write a time such as 240s"),)
    where = Origin(OriginKind.EXPLICIT, name, loaded.ref / "data" / name)
    return Setting(name, value, where), ()
