"""The forward simulation of one pod's shutdown: events in the order of time.

Of events at the same moment, requests that finish come first, then what happens to containers,
then SIGKILL, then checks for open connections, then requests that arrive. So a request that ends
exactly when its server ends is served, and one that arrives at that moment is not.
"""

from __future__ import annotations

from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.kubelet import grace_of, time_to_kill
from shutdownlint.shutdown.pod_plan import Role
from shutdownlint.shutdown.process import (
    After,
    Direction,
    Reaction,
    Trigger,
    WhenFinished,
    WhenGone,
    WhenIdle,
)
from shutdownlint.shutdown.provenance import Cause, CauseKind
from shutdownlint.shutdown.request import (
    ClientSees,
    Event,
    EventKind,
    Instant,
    Outcome,
    Prediction,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import timedelta

    from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan
    from shutdownlint.shutdown.process import Acceptance, Ending, Phase
    from shutdownlint.shutdown.request import Request

# The order of events at the same moment.
_FINISH, _CHANGE, _KILL, _CHECK, _ARRIVE = range(5)
_START: Final = Instant(ZERO, Cause(CauseKind.POD_DELETED))
_SERVED: Final = Cause(CauseKind.SERVED)
_OUTCOMES: Final = {
    Reaction.REFUSES: (Outcome.REFUSED, ClientSees.REFUSED),
    Reaction.HANGS: (Outcome.REFUSED, ClientSees.HANGS),
    Reaction.ERROR: (Outcome.UNAVAILABLE, ClientSees.STATUS),
}


class RunningRequest:
    """A request, the containers on its path, and what has become of it."""

    def __init__(self, request: Request, path: Sequence[RunningContainer]) -> None:
        self.request = request
        self.path = path
        self.prediction: Prediction | None = None
        self.end = request.arrival + request.duration

    def decide(
        self,
        outcome: Outcome,
        at: timedelta,
        cause: Cause,
        sees: ClientSees = ClientSees.ANSWER,
        status: int | None = None,
    ) -> None:
        """Settle what becomes of it; the first decision stays."""
        if self.prediction is None:
            self.prediction = Prediction(self.request, outcome, at, cause, sees, status)


class RunningContainer:
    """A container in the simulation: where its hook and its process are."""

    def __init__(self, plan: ContainerPlan, grace: timedelta) -> None:
        self.plan = plan
        self.grace = grace
        self.phases = plan.process.phases
        self.phase = -1
        self.phase_begin = _START
        self.held: set[RunningRequest] = set()
        #: When its turn for the stop signal came: its hook is over.
        self.hook_end: Instant | None = None
        self.signal: Instant | None = None
        self.kill: Instant | None = None
        self.exit: Instant | None = None
        self.killed = False
        self.gave_up: Instant | None = None
        self.accepts_until: dict[Direction, Instant] = {}
        #: Phases that a timer or a check belongs to; a later phase makes it void.
        self.token = 0
        self.next_check: timedelta | None = None
        #: From when on how many of the requests are open at it.
        self.open_requests: list[tuple[timedelta, int]] = []

    @property
    def current(self) -> Phase | None:
        """The phase that it is in; None before the first one."""
        return self.phases[self.phase] if self.phase >= 0 else None

    def reaction(self, request: Request, now: timedelta) -> tuple[Reaction, int]:
        """What it does with a request that arrives now."""
        if self.exit is not None:
            return Reaction.REFUSES, 0
        phase = self.current
        if phase is None:
            return Reaction.SERVES, 0
        acceptance = phase.acceptance(request.direction)
        if request.kept:
            return acceptance.kept, acceptance.status
        if acceptance.closes_after is not None and acceptance.new is Reaction.SERVES:
            closed = self.phase_begin.at + acceptance.closes_after.value <= now
            return (Reaction.REFUSES if closed else Reaction.SERVES), 0
        return acceptance.new, acceptance.status

    def serves_kept(self, direction: Direction) -> bool:
        """Whether requests on connections that are open are served now."""
        phase = self.current
        open_phase = phase is None or phase.acceptance(direction).kept is Reaction.SERVES
        return self.exit is None and open_phase


class Simulation:
    """One run. ``busy`` names containers whose work never ends by itself.

    ``others``: connections besides the requests stay open to the end. ``idle_until``: idle
    connections of clients are held open until then.
    """

    def __init__(
        self,
        plan: PodPlan,
        requests: Sequence[Request],
        *,
        busy: frozenset[str],
        others: bool,
        idle_until: timedelta,
    ) -> None:
        self.plan = plan
        self.busy = busy
        self.others = others
        self.idle_until = idle_until
        self.now = ZERO
        self.events: list[Event] = []
        self.containers = [RunningContainer(c, grace_of(c, plan)) for c in plan.containers]
        self.by_name = {c.plan.name: c for c in reversed(self.containers)}
        self.requests = [RunningRequest(r, self._path(r)) for r in requests]
        self._queue: list[tuple[timedelta, int, int, Callable[[], None]]] = []
        self._count = 0

    def run(self) -> None:
        """Simulate until every container has ended and every request is decided."""
        self._note(None, EventKind.POD_DELETED, Cause.of(self.plan.grace))
        for running in self.requests:
            if running.request.arrival <= ZERO:
                self._accept(running)
            else:
                self._at(running.request.arrival, _ARRIVE, partial(self._arrive, running))
        for container in self.containers:
            self._start(container)
        while self._queue:
            self.now, _, _, action = heappop(self._queue)
            action()
            self._settle()

    # Time

    def _at(self, moment: timedelta, order: int, action: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._queue, (moment, order, self._count, action))

    def _note(self, container: RunningContainer | None, kind: EventKind, cause: Cause) -> None:
        name = container.plan.name if container is not None else None
        self.events.append(Event(self.now, name, kind, cause))

    def _settle(self) -> None:
        """Apply the conditions that wait for a state instead of a time, until none is met."""
        changed = True
        while changed:
            changed = False
            for container in self.containers:
                changed = self._settle_one(container) or changed

    def _settle_one(self, container: RunningContainer) -> bool:
        if container.exit is not None:
            return False
        phase = container.current
        if phase is not None and self._condition_met(phase.ending, container):
            self._end_phase(container, Cause(CauseKind.REQUESTS_FINISHED))
            return True
        ending = container.plan.hook.ending
        hook_runs = container.hook_end is None
        if hook_runs and ending is not None and self._condition_met(ending, container):
            self._end_hook(container, Cause.of(container.plan.hook.duration))
            return True
        if (
            container.hook_end is not None
            and container.signal is None
            and self._has_turn(container)
        ):
            waited = self.now > container.hook_end.at
            cause = Cause(CauseKind.CONTAINERS_ENDED) if waited else container.hook_end.cause
            self._signal(container, cause)
            return True
        return False

    def _condition_met(self, ending: Ending, container: RunningContainer) -> bool:
        if isinstance(ending, WhenFinished):
            return not container.held and container.plan.name not in self.busy
        if isinstance(ending, WhenGone):
            return all(self.by_name[name].exit is not None for name in ending.containers)
        return False

    # Containers

    def _start(self, container: RunningContainer) -> None:
        hook = container.plan.hook
        if hook.exists:
            self._note(container, EventKind.HOOK_STARTS, Cause.of(hook.duration))
        if container.phases and container.phases[0].begins is Trigger.DELETION:
            self._begin_phase(container, 0, Cause(CauseKind.HOOK_STARTS_DRAIN))
        duration = hook.duration.value.low
        if hook.ending is None and duration < container.grace:
            cause = Cause.of(hook.duration)
            self._at(duration, _CHANGE, lambda: self._end_hook(container, cause))
            return
        if isinstance(hook.ending, WhenIdle):
            self._schedule_check(container)
        if isinstance(hook.ending, After):
            self._at(
                hook.ending.duration.value,
                _CHANGE,
                lambda: self._end_hook(container, Cause.of(hook.duration)),
            )
        self._at(container.grace, _CHANGE, lambda: self._abandon_hook(container))

    def _abandon_hook(self, container: RunningContainer) -> None:
        if container.hook_end is None and container.exit is None:
            cause = Cause(CauseKind.HOOK_ABANDONED, (container.plan.grace or self.plan.grace,))
            self._note(container, EventKind.HOOK_ABANDONED, cause)
            self._end_hook(container, cause)

    def _end_hook(self, container: RunningContainer, cause: Cause) -> None:
        if container.hook_end is not None or container.exit is not None:
            return
        container.hook_end = Instant(self.now, cause)
        if not self._has_turn(container):
            self._at(container.grace, _CHANGE, lambda: self._stop_waiting(container))

    def _has_turn(self, container: RunningContainer) -> bool:
        """Whether every container has ended that a native sidecar waits for."""
        return all(other.exit is not None for other in self._waits_for(container))

    def _waits_for(self, container: RunningContainer) -> Iterable[RunningContainer]:
        if not container.plan.native_sidecar:
            return
        later = False
        for other in self.containers:
            if other.plan.pod != container.plan.pod:
                continue
            if not other.plan.native_sidecar or later:
                yield other
            later = later or other is container

    def _stop_waiting(self, container: RunningContainer) -> None:
        if container.signal is None and container.exit is None:
            self._signal(container, Cause.of(container.plan.grace or self.plan.grace))

    def _signal(self, container: RunningContainer, cause: Cause) -> None:
        hook_end = container.hook_end
        assert hook_end is not None
        container.signal = Instant(self.now, cause)
        self._note(container, EventKind.SIGNAL, self._signal_cause(container))
        left = time_to_kill(
            container.grace,
            hook_end.at,
            self.now - hook_end.at,
            grace_counts_hook=self.plan.grace_counts_hook,
        )
        kill = Cause.of(container.plan.grace or self.plan.grace)
        container.kill = Instant(self.now + left, kill)
        self._at(self.now + left, _KILL, lambda: self._kill(container, kill))
        delay, reaches = ZERO, True
        for wrapper in container.plan.wrappers:
            reached = self.now + delay
            if not reaches:
                break
            if wrapper.exits_after is not None:
                ends = Cause(CauseKind.WRAPPER_ENDS, name=wrapper.name)
                self._at(
                    reached + wrapper.exits_after, _CHANGE, partial(self._kill, container, ends)
                )
            if wrapper.kills_after is not None:
                kills = Cause(CauseKind.WRAPPER_KILLS, (wrapper.kills_after,), wrapper.name)
                self._at(
                    reached + wrapper.delay + wrapper.kills_after.value,
                    _CHANGE,
                    partial(self._kill, container, kills),
                )
            reaches = wrapper.forwards
            delay += wrapper.delay
        if reaches and delay > ZERO:
            self._at(self.now + delay, _CHANGE, lambda: self._deliver(container))
        elif reaches:
            self._deliver(container)
        else:
            self._note(container, EventKind.SIGNAL_IGNORED, container.signal.cause)

    def _signal_cause(self, container: RunningContainer) -> Cause:
        signal = container.signal
        assert signal is not None
        if signal.at == ZERO and container.plan.role is not Role.APP:
            return Cause(CauseKind.STOPPED_WITH_POD)
        return signal.cause

    def _deliver(self, container: RunningContainer) -> None:
        """The process gets its signal."""
        if container.exit is not None:
            return
        following = range(container.phase + 1, len(container.phases))
        wanted = (n for n in following if container.phases[n].begins is Trigger.SIGNAL)
        number = next(wanted, None)
        assert container.signal is not None
        if number is None:
            self._note(container, EventKind.SIGNAL_IGNORED, container.signal.cause)
        else:
            self._begin_phase(container, number, self._signal_cause(container))

    def _begin_phase(self, container: RunningContainer, number: int, cause: Cause) -> None:
        container.phase, container.token = number, container.token + 1
        container.phase_begin = Instant(self.now, cause)
        container.next_check = None
        phase = container.phases[number]
        if phase.cuts:
            self._give_up(container, cause)
        for direction in Direction:
            self._note_acceptance(container, phase.acceptance(direction), direction, cause)
        self._break_dependent_requests(container)
        ending = phase.ending
        if isinstance(ending, After):
            self._timer(container, ending.duration.value, self._after_cause(ending, cause))
        elif isinstance(ending, WhenFinished | WhenIdle) and ending.limit is not None:
            self._timer(container, ending.limit.value, Cause.of(ending.limit))
        if isinstance(ending, WhenIdle):
            self._schedule_check(container)

    def _after_cause(self, ending: After, begin: Cause) -> Cause:
        if ending.because is not None:
            return Cause.of(ending.because)
        # What ends at once ends for the reason that began it.
        return begin if ending.duration.value <= ZERO else Cause.of(ending.duration)

    def _timer(self, container: RunningContainer, duration: timedelta, cause: Cause) -> None:
        token = container.token

        def end() -> None:
            if container.token == token and container.exit is None:
                self._end_phase(container, cause)

        if duration <= ZERO:
            end()
        else:
            self._at(self.now + duration, _CHANGE, end)

    def _note_acceptance(
        self,
        container: RunningContainer,
        acceptance: Acceptance,
        direction: Direction,
        cause: Cause,
    ) -> None:
        """Record when new connections stop being served."""
        if direction in container.accepts_until:
            return
        if acceptance.new is not Reaction.SERVES:
            self._stop_accepting(container, direction, cause)
        elif acceptance.closes_after is not None:
            token, closes = container.token, acceptance.closes_after

            def close() -> None:
                if container.token == token and container.exit is None:
                    self._stop_accepting(container, direction, Cause.of(closes))

            self._at(self.now + closes.value, _CHANGE, close)

    def _stop_accepting(
        self, container: RunningContainer, direction: Direction, cause: Cause
    ) -> None:
        if direction not in container.accepts_until:
            container.accepts_until[direction] = Instant(self.now, cause)
            if direction is Direction.INBOUND and container.exit is None:
                self._note(container, EventKind.STOPS_ACCEPTING, cause)

    def _end_phase(self, container: RunningContainer, cause: Cause) -> None:
        number = container.phase + 1
        if number == len(container.phases):
            self._exit(container, cause)
        elif container.phases[number].begins is Trigger.NEXT:
            self._begin_phase(container, number, cause)
        else:  # it stays as it is until its signal
            container.token += 1

    def _kill(self, container: RunningContainer, cause: Cause) -> None:
        if container.exit is None:
            container.killed = True
            self._exit(container, cause)

    def _exit(self, container: RunningContainer, cause: Cause) -> None:
        container.exit = Instant(self.now, cause)
        container.token += 1
        kind = EventKind.KILLED if container.killed else EventKind.EXITS
        for direction in Direction:
            self._stop_accepting(container, direction, cause)
        self._note(container, kind, cause)
        self._give_up(container, cause)
        self._break_dependent_requests(container)

    # Requests

    def _path(self, request: Request) -> list[RunningContainer]:
        plan, target = self.plan, self.target
        if request.outbound:
            return [*([target] if target else []), *(self.by_name[name] for name in plan.back)]
        front = [self.by_name[name] for name in plan.front]
        members = [c for c in self.containers if c.plan.role is Role.MEMBER]
        edge = [c for c in self.containers if c.plan.role is Role.EDGE]
        return [*front, *edge, *([target] if target else []), *members]

    @property
    def target(self) -> RunningContainer | None:
        """The container that requests are meant for."""
        plan = self.plan
        name = plan.target if plan.target is not None else next(iter(plan.targets), None)
        return self.by_name[name] if name is not None else None

    def _accept(self, running: RunningRequest) -> None:
        for container in running.path:
            container.held.add(running)
            container.open_requests.append((self.now, len(container.held)))
        self._at(max(running.end, self.now), _FINISH, lambda: self._finish(running))

    def _arrive(self, running: RunningRequest) -> None:
        request, path = running.request, running.path
        if self.target is None and self.plan.edge is None:
            self._refuse(running, len(path), Cause(CauseKind.NO_CONTAINER), Reaction.REFUSES, 0)
            return
        for number, container in enumerate(path):
            origin = request.outbound and number == 0
            if origin and container.exit is None:
                continue  # the app makes its calls as long as it lives
            reaction, status = container.reaction(request, self.now)
            if reaction is not Reaction.SERVES:
                ended = container.accepts_until.get(request.direction) or container.exit
                cause = container.exit.cause if origin and container.exit else _cause_of(ended)
                self._refuse(running, number, cause, reaction, status)
                return
        self._accept(running)
        self._break_if_dependent(running)

    def _refuse(
        self, running: RunningRequest, number: int, cause: Cause, reaction: Reaction, status: int
    ) -> None:
        """A request that the container of that number on its path does not serve."""
        behind_proxy = number > 0 and not running.request.outbound
        if behind_proxy and reaction is not Reaction.ERROR:
            running.decide(Outcome.UNAVAILABLE, self.now, cause, ClientSees.STATUS, 503)
            return
        outcome, sees = _OUTCOMES[reaction]
        running.decide(outcome, self.now, cause, sees, status or None)

    def _finish(self, running: RunningRequest) -> None:
        running.decide(Outcome.OK, self.now, _SERVED)
        for container in running.path:
            self._release(container, running)

    def _release(self, container: RunningContainer, running: RunningRequest) -> None:
        if running in container.held:
            container.held.discard(running)
            container.open_requests.append((self.now, len(container.held)))
            self._schedule_check(container)

    def _give_up(self, container: RunningContainer, cause: Cause) -> None:
        """Cut every request that the container has."""
        if container.gave_up is None:
            container.gave_up = Instant(self.now, cause)
        held, container.held = container.held, set()
        for running in sorted(held, key=lambda r: r.request.arrival):
            self._cut(running, container, cause)
        container.open_requests.append((self.now, 0))

    def _cut(self, running: RunningRequest, container: RunningContainer, cause: Cause) -> None:
        number = running.path.index(container)
        behind_proxy = number > 0 and not running.request.outbound
        sees, status = (ClientSees.STATUS, 503) if behind_proxy else (ClientSees.RESET, None)
        running.decide(Outcome.CUT, self.now, cause, sees, status)
        # Those nearer to the caller, and proxies behind, see the end at once. An app works on
        # without a caller.
        for position, other in enumerate(running.path):
            if position < number or other.plan.role in (Role.PROXY, Role.EDGE, Role.HELPER):
                self._release(other, running)

    # Requests that need other processes while they run

    def _needed(self) -> Iterable[RunningContainer]:
        return (self.by_name[name] for name in self.plan.needed)

    def _break_dependent_requests(self, container: RunningContainer) -> None:
        if container.plan.name in self.plan.needed:
            for running in self.requests:
                if self.target is not None and running in self.target.held:
                    self._break_if_dependent(running)

    def _break_if_dependent(self, running: RunningRequest) -> None:
        if running.request.outbound:
            return
        for needed in self._needed():
            if not needed.serves_kept(Direction.OUTBOUND):
                ended = needed.accepts_until.get(Direction.OUTBOUND) or needed.exit
                settings = _cause_of(ended).settings
                cause = Cause(CauseKind.NEEDED_PROCESS, settings, needed.plan.name)
                running.decide(Outcome.CUT, self.now, cause, ClientSees.STATUS, 500)

    # Checks for open connections

    def _idle_ending(self, container: RunningContainer) -> tuple[WhenIdle, timedelta] | None:
        """The idle condition that the container waits for now, and from when it counts."""
        phase, hook = container.current, container.plan.hook
        if phase is not None and isinstance(phase.ending, WhenIdle):
            return phase.ending, container.phase_begin.at
        if container.hook_end is None and isinstance(hook.ending, WhenIdle):
            return hook.ending, ZERO
        return None

    def _schedule_check(self, container: RunningContainer) -> None:
        """Plan the next check at which the container may be found idle."""
        found = self._idle_ending(container) if container.exit is None else None
        if found is None:
            return
        ending, begin = found
        if self._is_busy(container, ending):
            self._recheck_after_idle(container)
            return
        first = begin + max(ending.delay.value, ZERO)
        first += ZERO if ending.immediately else ending.interval
        missed = max(-((first - self.now) // ending.interval), 0) if self.now > first else 0
        check = first + missed * ending.interval
        if container.next_check is not None and container.next_check <= check:
            return
        container.next_check = check
        self._at(check, _CHECK, lambda: self._check(container, ending, check))

    def _recheck_after_idle(self, container: RunningContainer) -> None:
        """Plan a check for the time at which idle connections of clients end."""
        if not container.held and not self.others and self.now < self.idle_until:
            self._at(self.idle_until, _CHANGE, lambda: self._schedule_check(container))

    def _is_busy(self, container: RunningContainer, ending: WhenIdle) -> bool:
        if self.others:
            return True
        return len(container.held) + (self.now < self.idle_until) > ending.threshold

    def _check(self, container: RunningContainer, ending: WhenIdle, check: timedelta) -> None:
        if container.next_check == check:
            container.next_check = None
        found = self._idle_ending(container) if container.exit is None else None
        if found is None or found[0] is not ending:
            return
        if self._is_busy(container, ending):
            self._recheck_after_idle(container)
            return
        settings = (ending.switch or ending.delay, ending.delay)
        cause = Cause(CauseKind.NO_OPEN_CONNECTION, settings)
        if container.current is not None and container.current.ending is ending:
            self._end_phase(container, cause)
        else:
            self._end_hook(container, cause)


def _cause_of(instant: Instant | None) -> Cause:
    return instant.cause if instant is not None else Cause(CauseKind.POD_DELETED)
