"""Requests and their outcomes."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.shutdown.process import Direction

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.shutdown.provenance import Cause


class Outcome(StrEnum):
    """The outcome of a request."""

    OK = "ok"
    #: Accepted, then not answered as the app would have.
    CUT = "cut"
    #: Not accepted; hanging counts as that.
    REFUSED = "refused"
    #: A living proxy or server answers that no app serves.
    UNAVAILABLE = "503"
    UNKNOWN = "unknown"


class ClientSees(StrEnum):
    """The caller's view of the outcome. The status of an answer is a separate field."""

    ANSWER = "answer"
    RESET = "reset"
    REFUSED = "connection refused"
    HANGS = "hangs, then reset"
    STATUS = "status"


class Request(Struct, frozen=True):
    """A request that arrives ``arrival`` after termination starts and takes ``duration``.

    One that arrives at zero is in flight at deletion: it was accepted before anything happened,
    and ``duration`` is what it has left. ``reused``: its connection was opened before. ``stream``:
    its answer begins at once and lasts, as that of a WebSocket.
    """

    arrival: timedelta
    duration: timedelta
    direction: Direction = Direction.INBOUND
    reused: bool = False
    stream: bool = False

    @property
    def outbound(self) -> bool:
        """Whether the app makes it."""
        return self.direction is Direction.OUTBOUND


class Prediction(Struct, frozen=True):
    """The outcome of a request, its time, and the cause.

    ``client_sees`` is what the caller notices, with ``status`` where it is an answer.
    ``probability`` is how likely it is served, where that depends on traffic whose extent is known.
    ``process`` is the container that loses it; empty where it is served. ``killed``: by SIGKILL.
    """

    request: Request
    outcome: Outcome
    at: timedelta
    cause: Cause
    client_sees: ClientSees = ClientSees.ANSWER
    status: int | None = None
    probability: float | None = None
    process: str = ""
    killed: bool = False


class Instant(Struct, frozen=True):
    """A point in time, counted from the pod's deletion, and what puts it there."""

    at: timedelta
    cause: Cause


class EventKind(StrEnum):
    """The kind of an event in a pod or a container."""

    POD_DELETED = "pod-deleted"
    HOOK_STARTS = "hook-starts"
    HOOK_ABANDONED = "hook-abandoned"
    SIGNAL = "signal"
    SIGNAL_IGNORED = "signal-ignored"
    STOPS_ACCEPTING = "stops-accepting"
    CUTS = "cuts"
    EXITS = "exits"
    KILLED = "killed"
    #: Nothing is left to kill.
    GRACE_ENDS = "grace-ends"


class Event(Struct, frozen=True):
    """Something that happens to a container (None: to the pod)."""

    at: timedelta
    container: str | None
    kind: EventKind
    cause: Cause
