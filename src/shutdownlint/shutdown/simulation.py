"""Simulates one pod's shutdown: its events in the order of time.

Of events at the same moment, requests that finish come first, then what happens to containers,
then SIGKILL, then checks for open connections, then requests that arrive. So a request that ends
exactly when its server ends is served, and one that arrives at that moment is not.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from shutdownlint.shutdown.clock import Clock, Order
from shutdownlint.shutdown.durations import UNBOUNDED, ZERO
from shutdownlint.shutdown.kubelet import grace_of, runs_hook, time_to_kill
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
from shutdownlint.shutdown.request import EventKind, Instant
from shutdownlint.shutdown.request_flow import RequestFlow
from shutdownlint.shutdown.running import RunningContainer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import timedelta

    from shutdownlint.shutdown.connections import OpenConnections
    from shutdownlint.shutdown.pod_plan import PodPlan
    from shutdownlint.shutdown.process import Acceptance, Ending, HookSignal
    from shutdownlint.shutdown.request import Request


class Simulation:
    """One run. ``busy`` names containers whose work never ends by itself.

    ``connections`` are those besides the requests. ``calls_hold_app``: an app whose plan does not
    say it waits for its own calls.
    """

    def __init__(
        self,
        plan: PodPlan,
        requests: Sequence[Request],
        *,
        busy: frozenset[str],
        connections: OpenConnections,
        calls_hold_app: bool,
    ) -> None:
        self.plan = plan
        self.busy = busy
        self.connections = connections
        self.calls_hold_app = calls_hold_app
        self.clock = Clock()
        self.containers = [RunningContainer(c, grace_of(c, plan)) for c in plan.containers]
        self.requests = RequestFlow(
            plan,
            self.clock,
            self.containers,
            requests,
            self._schedule_check,
            connections.kept_until,
        )

    def run(self) -> None:
        """Simulate until every container has ended and every request is decided."""
        self.clock.note(None, EventKind.POD_DELETED, Cause.of(self.plan.grace))
        self.requests.start()
        for container in self.containers:
            self._start(container)
        self._settle()
        self.clock.run(self._settle)
        # Nothing may refer to this object any more: runs pause the garbage collector.
        self.requests.on_release = None

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
            waited = self.clock.now > container.hook_end.at
            cause = Cause(CauseKind.CONTAINERS_ENDED) if waited else container.hook_end.cause
            self._signal(container, cause)
            return True
        return False

    def _condition_met(self, ending: Ending, container: RunningContainer) -> bool:
        if isinstance(ending, WhenFinished):
            return not self._has_work(container) and container.plan.name not in self.busy
        if isinstance(ending, WhenGone):
            return all(self.requests.by_name[name].exit is not None for name in ending.containers)
        return False

    def _has_work(self, container: RunningContainer) -> bool:
        """Whether it waits for one of its requests; not every app waits for its own calls."""
        waits = container.plan.waits_for_calls
        if (self.calls_hold_app if waits is None else waits) or container.plan.role is not Role.APP:
            return bool(container.active)
        return any(not running.request.outbound for running in container.active)

    # Containers

    def _start(self, container: RunningContainer) -> None:
        grace = container.plan.grace or self.plan.grace
        if runs_hook(grace.value.low, grace_counts_hook=self.plan.grace_counts_hook):
            self._start_hook(container)
        else:
            self._end_hook(container, Cause.of(grace))

    def _start_hook(self, container: RunningContainer) -> None:
        hook = container.plan.hook
        if hook.exists:
            self.clock.note(container.plan.name, EventKind.HOOK_STARTS, Cause.of(hook.duration))
        if container.phases and container.phases[0].begins is Trigger.DELETION:
            self._begin_phase(container, 0, Cause(CauseKind.HOOK_STARTS_DRAIN))
        for sent in hook.signals:
            self.clock.at(sent.at, Order.CHANGE, partial(self._signal_by_hook, container, sent))
        duration = hook.duration.value.low
        if hook.ending is None and duration < container.grace:
            cause = Cause.of(hook.duration)
            self.clock.at(duration, Order.CHANGE, lambda: self._end_hook(container, cause))
            return
        if isinstance(hook.ending, WhenIdle):
            self._schedule_check(container)
        if isinstance(hook.ending, After):
            self.clock.at(
                hook.ending.duration.value,
                Order.CHANGE,
                lambda: self._end_hook(container, Cause.of(hook.duration)),
            )
        self.clock.at(container.grace, Order.CHANGE, lambda: self._abandon_hook(container))

    def _abandon_hook(self, container: RunningContainer) -> None:
        if container.hook_end is None and container.exit is None:
            cause = Cause(CauseKind.HOOK_ABANDONED, (container.plan.grace or self.plan.grace,))
            self.clock.note(container.plan.name, EventKind.HOOK_ABANDONED, cause)
            self._end_hook(container, cause)

    def _end_hook(self, container: RunningContainer, cause: Cause) -> None:
        if container.hook_end is not None or container.exit is not None:
            return
        container.hook_end = Instant(self.clock.now, cause)
        if not self._has_turn(container):
            self.clock.at(container.grace, Order.CHANGE, lambda: self._stop_waiting(container))

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
        container.signal = Instant(self.clock.now, cause)
        self.clock.note(container.plan.name, EventKind.SIGNAL, self._signal_cause(container))
        left = time_to_kill(
            container.grace,
            hook_end.at,
            self.clock.now - hook_end.at,
            grace_counts_hook=self.plan.grace_counts_hook,
        )
        kill = Cause.of(container.plan.grace or self.plan.grace)
        container.kill = Instant(self.clock.now + left, kill)
        self.clock.at(self.clock.now + left, Order.KILL, lambda: self._kill(container, kill))
        self._pass_on(container, container.signal.cause)

    def _signal_by_hook(self, container: RunningContainer, sent: HookSignal) -> None:
        """Send a container's first process a signal from a hook, while the hook goes on."""
        # Signals of one moment are sent before any of them ends the hook's own container.
        ended = container.exit is not None and container.exit.at < self.clock.now
        if ended or container.hook_end is not None:
            return
        cause = Cause(CauseKind.HOOK_SIGNALS, (container.plan.hook.duration,))
        if sent.container:
            container = self.requests.by_name[sent.container]
        if sent.ends_pod:
            for each in self.containers:
                if each.plan.pod == container.plan.pod:
                    self._kill(each, cause)
        if container.exit is not None:
            return
        self.clock.note(container.plan.name, EventKind.SIGNAL, cause)
        if sent.phases is not None and container.signal is None:
            container.phases, container.phase = sent.phases, -1
        self._pass_on(container, cause)

    def _pass_on(self, container: RunningContainer, cause: Cause) -> None:
        """Pass a signal through the wrappers to the process."""
        delay, reaches = ZERO, True
        for wrapper in container.plan.wrappers:
            reached = self.clock.now + delay
            if not reaches:
                break
            if wrapper.exits_after is not None:
                ends = Cause(CauseKind.WRAPPER_ENDS, name=wrapper.name)
                self.clock.at(
                    reached + wrapper.exits_after,
                    Order.CHANGE,
                    partial(self._end_by_wrapper, container, ends),
                )
            if wrapper.kills_after is not None:
                kills = Cause(CauseKind.WRAPPER_KILLS, (wrapper.kills_after,), wrapper.name)
                self.clock.at(
                    reached + wrapper.delay + wrapper.kills_after.value,
                    Order.CHANGE,
                    partial(self._end_by_wrapper, container, kills),
                )
            reaches = wrapper.forwards
            delay += wrapper.delay
        if reaches and delay > ZERO:
            self.clock.at(
                self.clock.now + delay, Order.CHANGE, lambda: self._deliver(container, cause)
            )
        elif reaches:
            self._deliver(container, cause)
        else:
            self.clock.note(container.plan.name, EventKind.SIGNAL_IGNORED, cause)

    def _signal_cause(self, container: RunningContainer) -> Cause:
        signal = container.signal
        assert signal is not None
        if signal.at == ZERO and container.plan.role is not Role.APP:
            return Cause(CauseKind.STOPPED_WITH_POD)
        return signal.cause

    def _deliver(self, container: RunningContainer, cause: Cause) -> None:
        """Deliver a signal to the process."""
        if container.exit is not None:
            return
        following = range(container.phase + 1, len(container.phases))
        wanted = (n for n in following if container.phases[n].begins is Trigger.SIGNAL)
        number = next(wanted, None)
        if number is None:
            self.clock.note(container.plan.name, EventKind.SIGNAL_IGNORED, cause)
        else:
            by_kubelet = cause.kind is not CauseKind.HOOK_SIGNALS
            begin = self._signal_cause(container) if by_kubelet else cause
            self._begin_phase(container, number, begin)

    def _begin_phase(self, container: RunningContainer, number: int, cause: Cause) -> None:
        container.phase, container.token = number, container.token + 1
        container.phase_begin = Instant(self.clock.now, cause)
        container.next_check = None
        phase = container.phases[number]
        if phase.cuts:
            self.requests.give_up(container, cause)
        for direction in Direction:
            self._note_acceptance(container, phase.acceptance(direction), direction, cause)
        self.requests.break_dependent_requests(container)
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
            self.clock.at(self.clock.now + duration, Order.CHANGE, end)

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

            self.clock.at(self.clock.now + closes.value, Order.CHANGE, close)

    def _stop_accepting(
        self, container: RunningContainer, direction: Direction, cause: Cause
    ) -> None:
        if direction not in container.accepts_until:
            container.accepts_until[direction] = Instant(self.clock.now, cause)
            if direction is Direction.INBOUND and container.exit is None:
                self.clock.note(container.plan.name, EventKind.STOPS_ACCEPTING, cause)

    def _end_phase(self, container: RunningContainer, cause: Cause) -> None:
        number = container.phase + 1
        # A process that has done what it waited for ends, also before its signal.
        is_done = isinstance(container.phases[number - 1].ending, WhenFinished | WhenGone)
        following = container.phases[number].begins if number < len(container.phases) else None
        if following is None or (is_done and following is not Trigger.NEXT):
            self._exit(container, cause)
        elif following is Trigger.NEXT:
            self._begin_phase(container, number, cause)
        else:  # it stays as it is until its signal
            container.token += 1

    def _kill(self, container: RunningContainer, cause: Cause) -> None:
        if container.exit is None:
            container.killed = True
            self._exit(container, cause)

    def _end_by_wrapper(self, container: RunningContainer, cause: Cause) -> None:
        if container.exit is None:
            self._exit(container, cause, EventKind.KILLED)

    def _exit(
        self, container: RunningContainer, cause: Cause, kind: EventKind = EventKind.EXITS
    ) -> None:
        container.exit = Instant(self.clock.now, cause)
        container.token += 1
        kind = EventKind.KILLED if container.killed else kind
        for direction in Direction:
            self._stop_accepting(container, direction, cause)
        self.clock.note(container.plan.name, kind, cause)
        self.requests.give_up(container, cause)
        self.requests.break_dependent_requests(container)
        if self.connections.held_until > self.clock.now:
            for other in self.containers:
                self._schedule_check(other)

    # Checks for open connections

    def _idle_ending(self, container: RunningContainer) -> tuple[WhenIdle, timedelta] | None:
        """Return the idle condition that the container waits for now, and from when it counts."""
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
        missed = (
            max(-((first - self.clock.now) // ending.interval), 0) if self.clock.now > first else 0
        )
        check = first + missed * ending.interval
        if container.next_check is not None and container.next_check <= check:
            return
        container.next_check = check
        self.clock.at(check, Order.CHECK, lambda: self._check(container, ending, check))

    def _recheck_after_idle(self, container: RunningContainer) -> None:
        """Plan a check for the time at which the first idle connection ends."""
        ends = [self.connections.idle_until, self.connections.held_until]
        ends += [running.kept_until for running in self.requests.waiting(container)]
        ahead = [end for end in ends if self.clock.now < end < UNBOUNDED]
        if ahead and not container.active and not self.connections.others:
            self.clock.at(min(ahead), Order.CHANGE, lambda: self._schedule_check(container))

    def _is_busy(self, container: RunningContainer, ending: WhenIdle) -> bool:
        if self.connections.others:
            return True
        now = self.clock.now
        waiting = (now < running.kept_until for running in self.requests.waiting(container))
        count = len(container.active) + (now < self.connections.idle_until) + sum(waiting)
        app = self.requests.target
        held = app is not None and app.exit is None and now < self.connections.held_until
        return count + held > ending.threshold

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
