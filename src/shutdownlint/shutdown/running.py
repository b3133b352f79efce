"""The state of every container and request while the simulation of a shutdown runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.process import Direction, Reaction
from shutdownlint.shutdown.provenance import Cause, CauseKind
from shutdownlint.shutdown.request import ClientSees, Instant, Outcome, Prediction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from shutdownlint.shutdown.pod_plan import ContainerPlan
    from shutdownlint.shutdown.process import Phase
    from shutdownlint.shutdown.request import Request

_START: Final = Instant(ZERO, Cause(CauseKind.POD_DELETED))


class RunningRequest:
    """A request, the containers on its path, and what has become of it."""

    def __init__(
        self, request: Request, path: Sequence[RunningContainer], kept_until: timedelta
    ) -> None:
        self.request = request
        #: When a proxy closes its connection, if it is a kept one that is idle until then.
        self.kept_until = kept_until
        self.path = path
        self.prediction: Prediction | None = None
        self.end = request.arrival + request.duration
        #: Whether its answer cannot ask the client to close: it began before a proxy's drain.
        self.keeps_connection = False

    def decide(
        self,
        outcome: Outcome,
        at: timedelta,
        cause: Cause,
        sees: ClientSees = ClientSees.ANSWER,
        status: int | None = None,
        by: RunningContainer | None = None,
    ) -> None:
        """Settle what becomes of it; ``by`` loses it. The first decision stays."""
        if sees is ClientSees.REFUSED and self.request.reused:
            sees = ClientSees.RESET  # the client has a connection already
        if self.prediction is None:
            self.prediction = Prediction(
                self.request,
                outcome,
                at,
                cause,
                sees,
                status,
                process=by.plan.name if by is not None else "",
                killed=by is not None and by.killed,
            )


class RunningContainer:
    """A container in the simulation: where its hook and its process are."""

    def __init__(self, plan: ContainerPlan, grace: timedelta) -> None:
        self.plan = plan
        self.grace = grace
        self.phases = plan.process.phases
        self.phase = -1
        self.phase_begin = _START
        self.active: set[RunningRequest] = set()
        #: When its turn for the stop signal came: its hook is over.
        self.hook_end: Instant | None = None
        self.signal: Instant | None = None
        self.kill: Instant | None = None
        self.exit: Instant | None = None
        #: By the kubelet; a wrapper that kills its program is a cause of its own.
        self.killed = False
        self.gave_up: Instant | None = None
        self.accepts_until: dict[Direction, Instant] = {}
        #: Phases that a timer or a check belongs to; a later phase makes it void.
        self.token = 0
        self.next_check: timedelta | None = None
        #: The number of its open requests, by the time from which it holds.
        self.open_requests: list[tuple[timedelta, int]] = []

    @property
    def current(self) -> Phase | None:
        """The phase that it is in; None before the first one."""
        return self.phases[self.phase] if self.phase >= 0 else None

    def reaction(self, direction: Direction, now: timedelta, *, kept: bool) -> tuple[Reaction, int]:
        """Return its reaction to a request that arrives now; ``kept``: on an open connection."""
        if self.exit is not None:
            return Reaction.REFUSES, 0
        phase = self.current
        if phase is None:
            return Reaction.SERVES, 0
        acceptance = phase.acceptance(direction)
        if kept:
            return acceptance.reused, acceptance.status
        if acceptance.closes_after is not None and acceptance.new is Reaction.SERVES:
            closed = self.phase_begin.at + acceptance.closes_after.value <= now
            return (Reaction.REFUSES if closed else Reaction.SERVES), 0
        return acceptance.new, acceptance.status

    def serves_reused(self, direction: Direction) -> bool:
        """Whether requests on connections that are open are served now."""
        phase = self.current
        open_phase = phase is None or phase.acceptance(direction).reused is Reaction.SERVES
        return self.exit is None and open_phase
