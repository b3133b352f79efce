"""Questions about a plan whose durations may be only bounded: headroom, losses, predictions."""

from __future__ import annotations

import math
from datetime import timedelta
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.shutdown.case import INSTANT, Case
from shutdownlint.shutdown.connections import OpenConnections
from shutdownlint.shutdown.durations import UNBOUNDED, ZERO
from shutdownlint.shutdown.losses import find_losses
from shutdownlint.shutdown.process import WhenIdle
from shutdownlint.shutdown.request import Instant, Outcome, Prediction, Request
from shutdownlint.shutdown.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.shutdown.loss import Loss
    from shutdownlint.shutdown.pod_plan import PodPlan
    from shutdownlint.shutdown.provenance import Cause
    from shutdownlint.shutdown.solver import Solution

_ENDLESS = Request(ZERO, UNBOUNDED)


class Traffic(Struct, frozen=True):
    """The other traffic on the pod besides the requests in question.

    ``idle``: keep-alive connections of clients, used before and held open silently. ``pool``:
    such connections of the app to others, through its proxy. ``idle_tcp``: connections of clients
    without HTTP, which the app closes when it ends. ``open_connections``: how many others are open
    on average at any moment; None: unknown.
    """

    idle: int = 0
    pool: int = 0
    idle_tcp: int = 0
    open_connections: float | None = None


NO_TRAFFIC = Traffic()


class Headroom(Struct, frozen=True):
    """The longest requests that are still served, whatever the unknown durations are.

    ``max_in_flight``: running at deletion. ``max_late``: arriving at ``late_at``, the last moment
    at which the app should still accept. None is unbounded.
    """

    max_in_flight: timedelta | None
    max_late: timedelta | None
    cause: Cause
    late_cause: Cause
    late_at: timedelta = ZERO


class Doubt(StrEnum):
    """Why an outcome is unknown."""

    TRAFFIC = "traffic"
    DURATION = "duration"
    TARGET = "target"
    OWN_CALLS = "own-calls"
    LAST_USE = "last-use"


class Answer(Struct, frozen=True):
    """A prediction that holds for every unknown, or the doubt that makes it ``unknown``."""

    prediction: Prediction
    doubt: Doubt | None = None


class ShutdownAnalysis:
    """All answers about one pod's shutdown."""

    def __init__(self, plan: PodPlan) -> None:
        self.plan = plan

    @cached_property
    def cases(self) -> tuple[PodPlan, ...]:
        """The plans that represent all values of what is only bounded."""
        return tuple(self.plan.concretize())

    @cached_property
    def _cases_by_target(self) -> list[list[Case]]:
        """The cases for each container that requests may be meant for."""
        found: dict[str | None, list[Case]] = {}
        for plan in self.cases:
            found.setdefault(plan.target, []).append(Case(plan))
        return list(found.values())

    @property
    def _first(self) -> Case:
        """The case with all durations at their low end."""
        return self._cases_by_target[0][0]

    @property
    def loaded_timeline(self) -> Timeline:
        """The timeline with an endless request in flight, durations at their low end."""
        return self._first.loaded

    @property
    def idle_timeline(self) -> Timeline:
        """The timeline with no request on the pod, durations at their low end."""
        return self._first.idle

    @cached_property
    def longest_timeline(self) -> Timeline:
        """The timeline in which nothing ends by itself, durations at their low end."""
        return self._busy_timeline(self.cases[0])

    def _busy_timeline(self, plan: PodPlan) -> Timeline:
        busy = frozenset(c.name for c in plan.containers)
        return Timeline(plan, (_ENDLESS,), busy=busy, connections=OpenConnections(others=True))

    @property
    def longest_shutdown(self) -> timedelta:
        """The latest end of the last container, with durations at their low end."""
        return self.longest_timeline.end

    @cached_property
    def latest_end(self) -> timedelta:
        """The latest end of the last container, over all values of durations between bounds."""
        return max(self._busy_timeline(plan).end for plan in self.cases)

    def timeline(self, requests: Sequence[Request], traffic: Traffic = NO_TRAFFIC) -> Timeline:
        """Return the timeline with these requests, durations at their low end."""
        plan = self.cases[0]
        return Timeline(plan, requests, connections=_open_connections(plan, traffic)[0])

    def predict(
        self, requests: Sequence[Request], traffic: Traffic = NO_TRAFFIC
    ) -> tuple[Answer, ...]:
        """Return the outcomes of these requests, which are on the pod together.

        Tried are all ends of what is only bounded, every container that requests may be meant
        for, whether the app waits for its own calls, and, as far as ``traffic`` leaves it open,
        with and without other connections.
        """
        by_target = [[case.plan for case in cases] for cases in self._cases_by_target]
        answers = [self._predict_calls(plans, requests, traffic) for plans in by_target]
        return tuple(_agree(each, Doubt.TARGET) for each in zip(*answers, strict=True))

    def _predict_calls(
        self, plans: Sequence[PodPlan], requests: Sequence[Request], traffic: Traffic
    ) -> list[Answer]:
        """Return outcomes for an app that waits for its own calls, and for one that does not."""
        asked = any(request.outbound for request in requests)
        known = all(c.waits_for_calls is not None for c in self.plan.regular)
        choices = (True, False) if asked and not known else (True,)
        answers = [self._predict(plans, requests, traffic, calls_hold_app=c) for c in choices]
        return [_agree(each, Doubt.OWN_CALLS) for each in zip(*answers, strict=True)]

    def _predict(
        self,
        plans: Sequence[PodPlan],
        requests: Sequence[Request],
        traffic: Traffic,
        *,
        calls_hold_app: bool,
    ) -> list[Answer]:
        others = self._others(traffic)
        choices = [
            (plan, replace(connections, others=busy))
            for plan in plans
            for busy in others
            for connections in _open_connections(plan, traffic)
        ]
        runs = [
            Timeline(plan, requests, connections=connections, calls_hold_app=calls_hold_app)
            for plan, connections in choices
        ]
        by_traffic = len(plans) == 1 and len({connections for _, connections in choices}) > 1
        doubt = Doubt.TRAFFIC if by_traffic else Doubt.DURATION
        each = zip(*(run.predictions for run in runs), strict=True)
        answers = [_merge(predictions, doubt) for predictions in each]
        # Traffic has odds; a duration between two bounds has none.
        if traffic.open_connections and len(others) > 1 and len(plans) == 1:
            survives = 1 - math.exp(-traffic.open_connections)
            busy_run = next(run for run, (_, c) in zip(runs, choices, strict=True) if c.others)
            answers = [_with_probability(answer, busy_run, survives) for answer in answers]
        return [_with_last_use(answer, plans[0]) for answer in answers]

    def _others(self, traffic: Traffic) -> tuple[bool, ...]:
        checks = any(_waits_for_idle(c) for c in self.plan.containers)
        return (False, True) if checks and traffic.open_connections != 0 else (False,)

    @cached_property
    def solution(self) -> Solution:
        """The smallest set of changes with which every request is served."""
        from shutdownlint.shutdown.solver import Targets, solve  # noqa: PLC0415 - for findings only

        return solve(self.plan, Targets.of(self.plan))

    @cached_property
    def _losses_left(self) -> tuple[Loss, ...]:
        """The losses of a stop with the changes of the solution."""
        return ShutdownAnalysis(self.solution.plan).losses

    def is_solved(self, loss: Loss) -> bool:
        """Whether the solution ends a loss, or leaves only longer or less likely requests of it."""
        return bool(self.solution.changes) and not any(
            left.identity == loss.identity
            and left.weight.rank <= loss.weight.rank
            and left.longer_than <= loss.longer_than
            for left in self._losses_left
        )

    @cached_property
    def headroom(self) -> Headroom:
        """The time that a request may take."""
        cases = [case for cases in self._cases_by_target for case in cases]
        worst = min((_longest_served(case, ZERO) for case in cases), key=_at)
        late = [self._served_late(cases) for cases in self._cases_by_target]
        worst_late, late_at = min(late, key=lambda found: found[0].at)
        grace = self.plan.grace.value
        unbounded = grace.high is None and grace.low == ZERO
        return Headroom(
            None if unbounded else worst.at,
            None if unbounded else worst_late.at,
            worst.cause,
            worst_late.cause,
            late_at,
        )

    @staticmethod
    def _served_late(cases: Sequence[Case]) -> tuple[Instant, timedelta]:
        """Return the longest request that arrives last, and when that is at the latest."""
        last = max(case.last_arrival for case in cases)
        return min((_longest_served(case, last) for case in cases), key=_at), last

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The losses of a stop, the worst first."""
        return find_losses(self._cases_by_target)


def _at(instant: Instant) -> timedelta:
    return instant.at


def _waits_for_idle(container: object) -> bool:
    phases = container.process.phases  # type: ignore[attr-defined]
    return any(isinstance(phase.ending, WhenIdle) for phase in phases)


def _open_connections(plan: PodPlan, traffic: Traffic) -> list[OpenConnections]:
    """Return the connections that are open besides the requests: at each end of the bounds."""
    proxies = plan.proxies
    found = []
    for kept, own in zip(*_releases(plan), strict=True):
        idle = kept if traffic.idle and proxies else ZERO
        if traffic.idle_tcp and plan.edge is not None:
            idle = UNBOUNDED  # no app of this pod closes them
        held = UNBOUNDED if traffic.idle_tcp else own if traffic.pool else ZERO
        found.append(
            OpenConnections(idle_until=idle, kept_until=kept, held_until=held if proxies else ZERO)
        )
    return list(dict.fromkeys(found))


_Span = tuple[timedelta, timedelta]


def _releases(plan: PodPlan) -> tuple[_Span, _Span]:
    """Return when a proxy closes idle connections of clients and of the app: earliest, latest."""
    for proxy in plan.proxies:
        for phase in proxy.process.phases:
            if not isinstance(phase.ending, WhenIdle):
                continue
            low = high = UNBOUNDED
            if (released := phase.ending.idle_released) is not None:
                begin = proxy.hook.duration.value.low
                low = begin + released.low
                high = low if released.high is None else begin + released.high
            if (timeout := phase.ending.idle_timeout) is not None:
                # Counted from the last use, which was before the deletion.
                return (ZERO, min(high, timeout)), (ZERO, timeout)
            return (low, high), (UNBOUNDED, UNBOUNDED)
    return (UNBOUNDED, UNBOUNDED), (UNBOUNDED, UNBOUNDED)


def _with_last_use(answer: Answer, plan: PodPlan) -> Answer:
    """Return an answer without a verdict if the request may meet its connection's closing."""
    request, outcome = answer.prediction.request, answer.prediction.outcome
    earliest, latest = _releases(plan)[0]
    if outcome is not Outcome.OK or not request.reused:
        return answer
    if not request.arrival > ZERO or not earliest <= request.arrival < latest < UNBOUNDED:
        return answer
    return Answer(replace(answer.prediction, outcome=Outcome.UNKNOWN), Doubt.LAST_USE)


def _merge(predictions: Sequence[Prediction], doubt: Doubt) -> Answer:
    first = predictions[0]
    if all(p.outcome is first.outcome for p in predictions):
        return Answer(min(predictions, key=lambda p: p.at))
    if all(p.outcome is not Outcome.OK for p in predictions):
        # It fails for certain; only how the caller notices depends on more.
        return Answer(first)
    worst = next(p for p in predictions if p.outcome is not Outcome.OK)
    return Answer(replace(worst, outcome=Outcome.UNKNOWN), doubt)


def _agree(answers: Sequence[Answer], doubt: Doubt) -> Answer:
    """Return the answer of all cases, or the doubt about which case holds."""
    failed = [a for a in answers if a.prediction.outcome is not Outcome.OK]
    if not failed:
        return answers[0]
    if len(failed) == len(answers):
        return failed[0]
    unknown = replace(failed[0].prediction, outcome=Outcome.UNKNOWN)
    return Answer(unknown, doubt)


def _with_probability(answer: Answer, timeline: Timeline, survives: float) -> Answer:
    """Add the chance of a request to be served, if the proxy must survive each check before.

    With r other connections open on average (arriving at random) a check finds none of them with
    probability e^-r; a check during a known request is always survived.
    """
    if answer.doubt is not Doubt.TRAFFIC:
        return answer
    arrival = answer.prediction.request.arrival
    checks = sum(c.checks_without_request(arrival) for c in timeline.containers)
    return replace(answer, prediction=replace(answer.prediction, probability=survives**checks))


def _longest_served(case: Case, arrival: timedelta) -> Instant:
    """Return how long the longest request may take that arrives just before then."""
    (prediction,) = case.with_endless(arrival).predictions
    if prediction.outcome is Outcome.CUT:
        begin = max(arrival - INSTANT, ZERO)
        length = max(prediction.at - begin, ZERO)
        return Instant(length if arrival <= ZERO else max(length - INSTANT, ZERO), prediction.cause)
    return Instant(ZERO, prediction.cause)
