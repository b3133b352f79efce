"""The timeline of one pod's shutdown: what a simulation has given, container by container.

A pure function of the plan and of the requests on the pod. t=0 is the pod's deletion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.shutdown.connections import NONE_OPEN
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.process import Direction, WhenIdle
from shutdownlint.shutdown.provenance import Cause, CauseKind
from shutdownlint.shutdown.request import Event, EventKind, Instant, Outcome, Prediction
from shutdownlint.shutdown.simulation import Simulation

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from shutdownlint.shutdown.connections import OpenConnections
    from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan
    from shutdownlint.shutdown.request import Request
    from shutdownlint.shutdown.running import RunningContainer, RunningRequest


class ContainerTimeline:
    """The events of one container."""

    def __init__(self, running: RunningContainer, end: timedelta) -> None:
        self._running = running
        self.plan: ContainerPlan = running.plan
        #: When it has ended. A container always ends: SIGKILL is the last means.
        self.exit = running.exit or Instant(end, Cause(CauseKind.POD_DELETED))
        #: When it got its stop signal; None where it ended before.
        self.signal = running.signal
        #: When SIGKILL comes at the latest; None where it ended before its signal.
        self.kill = running.kill
        self.killed = running.killed
        #: When it gave up the requests that it still had.
        self.gave_up = running.gave_up or self.exit

    def accepts_until(self, direction: Direction = Direction.INBOUND) -> Instant:
        """Return when it stops serving new connections."""
        return self._running.accepts_until.get(direction, self.exit)

    @property
    def first_check(self) -> timedelta | None:
        """The time of its first check for open connections; None if it has no checks."""
        signal = self.signal
        for phase in self.plan.process.phases:
            if isinstance(phase.ending, WhenIdle) and signal is not None:
                delay = max(phase.ending.delay.value, ZERO)
                return (
                    signal.at
                    + delay
                    + (ZERO if phase.ending.immediately else phase.ending.interval)
                )
        return None

    @property
    def listener_closes(self) -> timedelta | None:
        """The time its listener closes, if it lives that long; None if it never closes itself."""
        signal = self.signal
        for phase in self.plan.process.phases:
            closes = phase.inbound.closes_after
            if closes is not None and signal is not None:
                return signal.at + closes.value
        return None

    def checks_without_request(self, until: timedelta) -> int:
        """Count the checks before then that find none of the requests open.

        Meaningful in a timeline in which other connections stay open to the end.
        """
        ending = next(
            (p.ending for p in self.plan.process.phases if isinstance(p.ending, WhenIdle)), None
        )
        first = self.first_check
        if ending is None or first is None:
            return 0
        end = min(until, self.exit.at)
        changes = [*self._running.open_requests, (end, 1)]
        count, begin, open_requests = 0, ZERO, 0
        for at, number in changes:
            if open_requests == 0:
                count += _ticks(first, ending.interval, begin, min(at, end))
            begin, open_requests = at, number
        return count


def _ticks(first: timedelta, interval: timedelta, begin: timedelta, end: timedelta) -> int:
    """Count the times ``first``, ``first + interval``, … in [begin, end)."""
    if end <= begin or end <= first:
        return 0
    before = max(-((first - begin) // interval), 0)
    return max(-((first - end) // interval) - before, 0)


class Timeline:
    """The shutdown of one pod with these requests on it.

    ``busy``: containers whose work never ends by itself. ``connections``: those besides the
    requests, which matter to processes that wait for open connections only. ``calls_hold_app``:
    an app whose plan does not say it waits for its own calls. Raises ``ValueError`` for a plan
    with durations that are only bounded.
    """

    def __init__(
        self,
        plan: PodPlan,
        requests: Sequence[Request] = (),
        *,
        busy: frozenset[str] = frozenset(),
        connections: OpenConnections = NONE_OPEN,
        calls_hold_app: bool = True,
    ) -> None:
        if plan.has_unknown_durations:
            raise ValueError("a timeline needs a plan whose durations are all known")
        self.plan = plan
        simulation = Simulation(
            plan, requests, busy=busy, connections=connections, calls_hold_app=calls_hold_app
        )
        simulation.run()
        end = simulation.clock.now
        self.containers = tuple(ContainerTimeline(c, end) for c in simulation.containers)
        self.events = _tidy(simulation.clock.events)
        self.predictions = tuple(_prediction(r) for r in simulation.requests.requests)
        target = simulation.requests.target
        self._target = target.plan.name if target is not None else None

    def container(self, name: str) -> ContainerTimeline:
        """Return the timeline of the container of that name. Raises ``KeyError``."""
        for container in self.containers:
            if container.plan.name == name:
                return container
        raise KeyError(name)

    @property
    def target(self) -> ContainerTimeline | None:
        """The container that requests are meant for; None in an edge pod."""
        return self.container(self._target) if self._target is not None else None

    @property
    def end(self) -> timedelta:
        """The time at which the last container has ended."""
        return max((c.exit.at for c in self.containers), default=ZERO)


def _prediction(running: RunningRequest) -> Prediction:
    if running.prediction is not None:
        return running.prediction
    # It outlasts the simulation: nothing ends it.
    return Prediction(running.request, Outcome.OK, running.end, Cause(CauseKind.SERVED))


def _tidy(events: list[Event]) -> tuple[Event, ...]:
    """Return the events without those that a later one at the same moment makes superfluous."""
    gone = {(e.at, e.container) for e in events if e.kind in (EventKind.EXITS, EventKind.KILLED)}
    return tuple(
        event
        for event in events
        if not (
            event.kind in (EventKind.STOPS_ACCEPTING, EventKind.CUTS)
            and (event.at, event.container) in gone
        )
    )
