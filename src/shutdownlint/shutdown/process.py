"""Processes: what serves, forwards or carries requests, as phases of a shutdown."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.shutdown.durations import ZERO, DurationRange
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from datetime import timedelta


class Direction(StrEnum):
    """The way a request takes through the pod."""

    #: Sent to the pod: through its proxies to the app.
    INBOUND = "inbound"
    #: Made by the app: through its proxies and helpers to the outside.
    OUTBOUND = "outbound"


class Reaction(StrEnum):
    """The reaction of a process to a request that reaches it."""

    SERVES = "serves"
    #: The connection is refused or reset.
    REFUSES = "refuses"
    #: The kernel accepts the connection, there is no answer, and it is reset in the end.
    HANGS = "hangs"
    #: It answers that it does not serve.
    ERROR = "error"


class Acceptance(Struct, frozen=True):
    """The reaction of a process to new requests during a phase.

    ``new`` is for requests on new connections, ``reused`` for those on connections that were opened
    before. ``closes_after``, counted from the begin of the phase, is when new connections begin to
    be refused. ``status`` is what an ``ERROR`` answers.
    """

    new: Reaction = Reaction.SERVES
    reused: Reaction = Reaction.SERVES
    closes_after: Setting[timedelta] | None = None
    status: int = 503


OPEN: Final = Acceptance()
#: Nothing new is served; idle connections are closed.
CLOSED: Final = Acceptance(Reaction.REFUSES, Reaction.REFUSES)
#: The listener is closed, and connections that are open are still served.
KEPT_ONLY: Final = Acceptance(Reaction.REFUSES, Reaction.SERVES)


class Ending(Struct, frozen=True):
    """The condition that ends a phase."""


class After(Ending, frozen=True):
    """A fixed time. ``because`` is named as the reason instead of the time itself."""

    duration: Setting[timedelta]
    because: Setting[object] | None = None


class WhenFinished(Ending, frozen=True):
    """Every request that was accepted is finished; ``limit`` ends the phase all the same."""

    limit: Setting[timedelta] | None = None


class WhenIdle(Ending, frozen=True):
    """A check finds no more than ``threshold`` open connections.

    Checks come every ``interval``; the first one is an interval after ``delay`` has passed
    (``immediately``: right when it has passed). ``switch`` is the setting that turned this on.
    ``idle_released`` is when idle connections of clients are closed, counted from the begin of the
    phase; None: never. ``idle_timeout`` is how long after its last use the process closes any idle
    connection with HTTP, also before the phase. ``limit`` ends the phase all the same.
    """

    interval: timedelta
    delay: Setting[timedelta]
    switch: Setting[bool] | None = None
    threshold: int = 0
    immediately: bool = False
    idle_released: DurationRange | None = None
    idle_timeout: timedelta | None = None
    limit: Setting[timedelta] | None = None


class WhenGone(Ending, frozen=True):
    """The containers of these names have ended."""

    containers: tuple[str, ...]


class Never(Ending, frozen=True):
    """Only the next signal, or SIGKILL, ends the phase."""


class Trigger(StrEnum):
    """The event that starts a phase."""

    #: The pod's deletion: preStop hooks start then.
    DELETION = "deletion"
    SIGNAL = "signal"
    #: The end of the phase before.
    NEXT = "next"


class PhaseLimit(Struct, frozen=True):
    """The setting that ends a phase, and how long that takes.

    ``is_fixed``: it always takes so long, whatever requests there are.
    """

    setting: Setting[timedelta]
    length: timedelta
    is_fixed: bool


class Phase(Struct, frozen=True):
    """A part of a process's shutdown.

    ``cuts``: as the phase begins, the process cuts every request that it still has.
    """

    begins: Trigger
    ending: Ending
    inbound: Acceptance = OPEN
    outbound: Acceptance = OPEN
    cuts: bool = False

    def acceptance(self, direction: Direction) -> Acceptance:
        """Return the acceptance of new requests of that direction."""
        return self.inbound if direction is Direction.INBOUND else self.outbound

    @property
    def limit(self) -> PhaseLimit | None:
        """The latest end of the phase; None if only requests or other containers end it."""
        ending = self.ending
        if isinstance(ending, After):
            return PhaseLimit(ending.duration, max(ending.duration.value, ZERO), is_fixed=True)
        if isinstance(ending, WhenIdle):
            check = ZERO if ending.immediately else ending.interval
            length = max(ending.delay.value, ZERO) + check
            return PhaseLimit(ending.delay, length, is_fixed=True)
        if isinstance(ending, WhenFinished) and ending.limit is not None:
            return PhaseLimit(ending.limit, ending.limit.value, is_fixed=False)
        return None


class Process(Struct, frozen=True):
    """A process and the phases of its shutdown, in order.

    Before the first phase it serves everything. A signal moves it to the next phase that begins
    at a signal, and is ignored where there is none. After the last phase it exits, and cuts
    what it still has.
    """

    phases: tuple[Phase, ...] = ()

    @property
    def ignores_signal(self) -> bool:
        """Whether its stop signal changes nothing, so that only SIGKILL ends it."""
        return all(phase.begins is not Trigger.SIGNAL for phase in self.phases) and not any(
            phase.begins is Trigger.DELETION for phase in self.phases
        )


class Wrapper(Struct, frozen=True):
    """A program around a process (a shell, an init, a process manager) and what it does to it.

    The container's stop signal goes to the wrapper. ``forwards``: the process gets one too,
    ``delay`` later. ``kills_after``: the wrapper kills it that long after the signal.
    ``exits_after``: the wrapper itself ends that long after its signal, and the container with it;
    None where it waits for the process.
    """

    name: str
    forwards: bool = True
    delay: timedelta = ZERO
    kills_after: Setting[timedelta] | None = None
    exits_after: timedelta | None = None


class HookSignal(Struct, frozen=True):
    """A signal that a preStop hook sends to its container's process.

    ``at`` is when, counted from the begin of the hook; ``signal`` its name, such as ``TERM``.
    ``phases`` is what the process does then, where that differs from its stop signal.
    ``ends_pod``: it ends the pod's pause container, and with it every container at once.
    ``container`` is another one, whose process gets it in a shared process namespace.
    """

    at: timedelta
    signal: str
    phases: tuple[Phase, ...] | None = None
    ends_pod: bool = False
    container: str = ""


class Hook(Struct, frozen=True):
    """A container's preStop hook, as far as timing goes.

    ``duration`` is how long it takes. Where ``ending`` is set, the hook ends by that condition of
    its container's process instead, and ``duration`` only says what is known beforehand.
    ``signals`` are those that it sends to its container's process.
    """

    duration: Setting[DurationRange]
    ending: Ending | None = None
    signals: tuple[HookSignal, ...] = ()

    @property
    def exists(self) -> bool:
        """Whether there is a hook that may take time."""
        timed = self.ending is not None or self.duration.value.high != ZERO
        return timed or bool(self.signals)


_AT_ONCE: Final = Setting("at once", ZERO, Origin(OriginKind.DEFAULT, "its stop signal"))


def abrupt(because: Setting[object] | None = None) -> Process:
    """Return a process that ends at its stop signal and cuts what it has."""
    return Process((Phase(Trigger.SIGNAL, After(_AT_ONCE, because), CLOSED, CLOSED),))


def ignoring() -> Process:
    """Return a process that does not react to its stop signal."""
    return Process()


def graceful(
    drain: Setting[timedelta] | None = None,
    limit: Setting[timedelta] | None = None,
    acceptance: Acceptance = CLOSED,
    exit_tail: Setting[timedelta] | None = None,
) -> Process:
    """Return a process that stops accepting at its stop signal and finishes what it has.

    ``drain``: it still accepts for that long. ``limit``: it cuts what is unfinished that long
    after it stopped accepting. ``acceptance``: what it does with late requests. ``exit_tail``: it
    lives on for that long after its last request.
    """
    finishes = WhenFinished(limit)
    tail = () if exit_tail is None else (Phase(Trigger.NEXT, After(exit_tail), CLOSED, cuts=True),)
    if drain is None or drain.value <= ZERO:
        return Process((Phase(Trigger.SIGNAL, finishes, acceptance), *tail))
    return Process(
        (
            Phase(Trigger.SIGNAL, After(drain)),
            Phase(Trigger.NEXT, finishes, acceptance),
            *tail,
        )
    )
