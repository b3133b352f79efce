"""The losses of a stop: their kinds, and the known facts about one loss."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.shutdown.durations import ZERO

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.shutdown.pod_plan import Role, Sender
    from shutdownlint.shutdown.provenance import Cause, Setting
    from shutdownlint.shutdown.request import ClientSees


class LossKind(StrEnum):
    """The kind of a loss, the worst first."""

    #: Requests in flight, of any length or of the length that requests are known to have.
    CUT = "cut"
    #: New requests, which something still sends.
    LATE = "late"
    #: The calls that the app makes while it serves.
    OWN_CALLS = "own_calls"
    #: Jobs, and messages of queues.
    WORK = "work"
    #: Only requests longer than something; how long they are is not known.
    LONG = "long"


class LossMeans(StrEnum):
    """By what it is lost."""

    #: The process ends, or cuts what it has, at its stop signal.
    SIGNAL = "signal"
    #: A limit of the process, which is over before SIGKILL.
    LIMIT = "limit"
    SIGKILL = "sigkill"
    #: SIGKILL, after a preStop hook that took the whole grace period.
    ABANDONED_HOOK = "abandoned-hook"
    #: SIGKILL, although the process has a limit that is written and that ends later.
    WRITTEN_LIMIT = "written-limit"
    #: The container's own preStop hook signals it.
    HOOK = "hook"
    #: It accepts no new requests any more.
    CLOSED = "closed"
    #: Who sends the requests closes the connection.
    SENDER = "sender"


class LossWeight(StrEnum):
    """The degree of knowledge about the lost requests."""

    #: Somebody says that there are such requests.
    STATED = "stated"
    #: There are under ordinary traffic.
    LIKELY = "likely"
    #: There may be.
    POSSIBLE = "possible"

    @property
    def rank(self) -> int:
        """Zero is the surest."""
        return list(LossWeight).index(self)


class Loss(Struct, frozen=True):
    """A loss of one stop of a pod: its kind, the process, the time and the cause.

    ``process`` is the container that loses it, ``role`` what it is (None: who sends the requests).
    ``begin`` is the first moment at which something is lost, ``end`` the last one. Requests that
    take no longer than ``longer_than`` are not lost; ``arrival`` is when they begin, zero for those
    in flight at the deletion. ``needed`` is how long they take. ``cause`` is what decides
    ``begin``, ``setting`` what to change. ``certain`` is false where only some values of what is
    only bounded lose it; ``when_idle``: only where no connection is open.
    """

    kind: LossKind
    means: LossMeans
    process: str
    role: Role | None
    begin: timedelta
    end: timedelta
    cause: Cause
    setting: Setting[object]
    weight: LossWeight
    longer_than: timedelta = ZERO
    arrival: timedelta = ZERO
    needed: Setting[timedelta] | None = None
    sender: Sender | None = None
    client_sees: ClientSees | None = None
    status: int | None = None
    certain: bool = True
    when_idle: bool = False

    @property
    def identity(self) -> tuple[object, ...]:
        """The properties of this loss that are the same in other cases of the pod."""
        return self.kind, self.means, self.process


#: Their order: what is worse comes first.
WORST_FIRST: Final = tuple(LossKind)
