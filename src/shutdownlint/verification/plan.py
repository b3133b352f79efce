"""The requests worth sending to a pod that is deleted, and their outcomes.

They are chosen at the borders of each loss, a second to either side, so that a difference between
the model and the cluster shows.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import UNBOUNDED, ZERO, seconds
from shutdownlint.shutdown.loss import LossKind
from shutdownlint.shutdown.request import Outcome, Request
from shutdownlint.shutdown.solver import Targets, solve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.shutdown.analysis import Answer
    from shutdownlint.shutdown.pod_plan import PodPlan
    from shutdownlint.shutdown.solver import Failure, Solution

#: The distance of a request from a border: clusters are not exact to the second.
_BESIDE: Final = seconds(1)
#: By how much a request may miss its time without another outcome.
_JITTER: Final = seconds(0.4)
_SHORT: Final = seconds(1)
_MOST_IN_FLIGHT: Final = 6
_MOST_LATE: Final = 8
#: A test does not wait longer.
_LONGEST: Final = timedelta(minutes=10)
#: The number of arrivals tried to find the share of the time that is lost.
_SAMPLES: Final = 60


class Expectation(StrEnum):
    """The outcome of a request that a test sees."""

    SERVED = "served"
    LOST = "lost"
    #: The model leaves it open.
    EITHER = "either"


class PlannedRequest(Struct, frozen=True):
    """A request of a test, and its prediction with the settings as they are and as suggested.

    ``after`` is None where nothing is suggested.
    """

    request: Request
    before: Answer
    after: Answer | None

    @property
    def in_the_end(self) -> Answer:
        """Its prediction once nothing is left to change."""
        return self.after if self.after is not None else self.before


class LostTime(Struct, frozen=True):
    """A rollout loses as many requests of a length as arrive in this time."""

    duration: timedelta
    before: timedelta
    after: timedelta | None


class VerificationPlan(Struct, frozen=True):
    """A test of one pod.

    ``solution`` are the suggested settings; None where nothing is to change, or nothing serves all:
    then ``failure`` says why.
    """

    pod: PlannedPod
    plan: PodPlan
    requests: tuple[PlannedRequest, ...]
    lost: tuple[LostTime, ...]
    solution: Solution | None = None
    failure: Failure | None = None


def expectation(answer: Answer) -> Expectation:
    """Return what a test should see."""
    outcome = answer.prediction.outcome
    if outcome is Outcome.UNKNOWN:
        return Expectation.EITHER
    return Expectation.SERVED if outcome is Outcome.OK else Expectation.LOST


def plan_verification(pod: PlannedPod, wanted: Sequence[Request] = ()) -> VerificationPlan | None:
    """Return the test of a pod, with these requests or with chosen ones.

    None where there is no timeline, or where it serves no requests.
    """
    plan = pod.plan
    if plan is None or pod.rejections or plan.runs_to_completion or plan.grace.value.high is None:
        return None
    targets = Targets.of(plan)
    solution = solve(plan, targets)
    changed = solution if solution.changes and solution.proven else None
    before = ShutdownAnalysis(plan)
    after = ShutdownAnalysis(changed.plan) if changed is not None else None
    requests = list(wanted) or _stable(_candidates(before, after, targets), before, after)
    return VerificationPlan(
        pod,
        plan,
        tuple(_predict(requests, before, after)),
        tuple(_lost_time(before, after, targets)),
        changed,
        solution.failure,
    )


def _candidates(
    before: ShutdownAnalysis, after: ShutdownAnalysis | None, targets: Targets
) -> list[Request]:
    known = [before, *([after] if after is not None else [])]
    lengths, arrivals, ends = {_SHORT, targets.p99}, {_SHORT}, set[timedelta]()
    horizon = targets.propagation
    for analysis in known:
        headroom = analysis.headroom
        horizon = max(horizon, headroom.late_at)
        borders = [headroom.max_in_flight]
        borders += [at for loss in analysis.losses for at in (loss.begin, loss.end)]
        lengths |= set(_beside(border for border in borders if border is not None))
        arrivals |= set(_beside([headroom.late_at, *_refusals(analysis)]))
        if headroom.max_late is not None:
            ends |= set(_beside([headroom.max_late]))
    longest = max(analysis.plan.grace.value.low for analysis in known) + 5 * _BESIDE
    in_flight = sorted(each for each in lengths if each <= min(longest, _LONGEST))
    late = sorted(each for each in arrivals if each <= horizon + 2 * _BESIDE)
    found = [Request(ZERO, each) for each in _spread(in_flight, _MOST_IN_FLIGHT)]
    found += [Request(each, _SHORT) for each in _spread(late, _MOST_LATE)]
    last = before.headroom.late_at - _BESIDE
    if last > ZERO:
        found += [Request(last, each) for each in sorted(ends) if each <= _LONGEST][:2]
    return list(dict.fromkeys(found))


def _beside(borders: Iterable[timedelta]) -> Iterator[timedelta]:
    for border in borders:
        if border >= UNBOUNDED:
            continue
        yield from (at for at in (border - _BESIDE, border + _BESIDE) if at >= _BESIDE)


def _refusals(analysis: ShutdownAnalysis) -> Iterator[timedelta]:
    for loss in analysis.losses:
        if loss.kind is LossKind.LATE:
            yield from (loss.begin, loss.end)


def _spread(values: Sequence[timedelta], most: int) -> list[timedelta]:
    """As many of them, from the first to the last."""
    if len(values) <= most:
        return list(values)
    return [values[round(n * (len(values) - 1) / (most - 1))] for n in range(most)]


def _stable(
    requests: list[Request], before: ShutdownAnalysis, after: ShutdownAnalysis | None
) -> list[Request]:
    """Those whose outcome does not hang on less than half a second.

    Requests hold a pod busy, so each one that is left out may change the others.
    """
    while True:
        shifted = [_outcomes(requests, before, after, by) for by in (-_JITTER, ZERO, _JITTER)]
        kept = [
            request
            for request, *outcomes in zip(requests, *shifted, strict=True)
            if len(set(outcomes)) == 1
        ]
        if len(kept) == len(requests):
            return requests
        requests = kept


def _outcomes(
    requests: Sequence[Request],
    before: ShutdownAnalysis,
    after: ShutdownAnalysis | None,
    by: timedelta,
) -> list[tuple[Expectation, ...]]:
    moved = [
        Request(each.arrival + by if each.arrival else ZERO, max(each.duration + by, ZERO))
        for each in requests
    ]
    answers = [analysis.predict(moved) for analysis in (before, after) if analysis is not None]
    return [tuple(map(expectation, each)) for each in zip(*answers, strict=True)]


def _predict(
    requests: Sequence[Request], before: ShutdownAnalysis, after: ShutdownAnalysis | None
) -> Iterator[PlannedRequest]:
    ours = before.predict(requests)
    theirs = after.predict(requests) if after is not None else [None] * len(requests)
    for request, mine, other in zip(requests, ours, theirs, strict=True):
        yield PlannedRequest(request, mine, other)


def _lost_time(
    before: ShutdownAnalysis, after: ShutdownAnalysis | None, targets: Targets
) -> Iterator[LostTime]:
    """For short requests and for the slowest ordinary ones."""
    for duration in sorted({_SHORT, targets.p99}):
        fixed = _lost(after, duration, targets.propagation) if after is not None else None
        yield LostTime(duration, _lost(before, duration, targets.propagation), fixed)


def _lost(analysis: ShutdownAnalysis, duration: timedelta, propagation: timedelta) -> timedelta:
    """For how much of the time requests of that length that arrive are lost, each tried alone.

    From so long before the deletion that they have just ended, until none arrives any more.
    """
    span = duration + propagation
    step = span / _SAMPLES
    lost = ZERO
    for number in range(_SAMPLES):
        arrival = step * (number + 0.5) - duration
        request = (
            Request(ZERO, duration + arrival) if arrival < ZERO else Request(arrival, duration)
        )
        (answer,) = analysis.predict((request,))
        if expectation(answer) is Expectation.LOST:
            lost += step
    return lost
