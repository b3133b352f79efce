"""What is asked of a plan whose durations may be only bounded: the same of every timeline."""

from __future__ import annotations

import math
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.shutdown.durations import ENDLESS, ZERO
from shutdownlint.shutdown.plan import Behaviour
from shutdownlint.shutdown.provenance import Reason
from shutdownlint.shutdown.solver import Aims, Solution, solve
from shutdownlint.shutdown.timeline import Answer, Moment, Outcome, Request, Timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.shutdown.plan import Plan

__all__ = ["Answer", "Headroom", "Loss", "Outcome", "Request", "Shutdown", "Traffic"]

#: Envoy 1.40 drains idle connections in the last third of the drain, up to 5 s before its end
#: (measured; the guard is envoy.reloadable_features.use_connection_event_drain), and its HTTP
#: connection manager closes them drain_timeout (5 s) later.
EARLY_DRAIN_MARGIN: Final = timedelta(seconds=5)
_LUCK: Final = "luck: whether a connection is open each time exit-on-zero looks"
_BOUNDS: Final = "a duration of which only the bounds are known"
_WHICH: Final = "it depends on the container that it is meant for"


class Traffic(Struct, frozen=True):
    """What else is on the pod besides the requests that are asked about.

    ``idle``: keep-alive connections of clients, used before and held open without a word.
    ``open_connections``: how many others are open on average at any moment; None is unknown.
    """

    idle: int = 0
    open_connections: float | None = None


class Headroom(Struct, frozen=True):
    """The longest requests that are still served, however the unknowns turn out.

    ``in_flight``: already running at deletion. ``late``: arriving at the last moment the app is
    meant to accept, its stop signal and drain at the end of preStop. None is unbounded.
    """

    in_flight: timedelta | None
    late: timedelta | None
    by: Reason
    late_by: Reason
    #: When the last such request arrives.
    late_at: timedelta = ZERO


class Loss(Struct, frozen=True):
    """A window of the shutdown in which requests fail, and its cause."""

    kind: str
    begins: timedelta
    ends: timedelta
    by: Reason


class Shutdown:
    """Everything that can be asked of one pod's shutdown."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @cached_property
    def pinned(self) -> tuple[Plan, ...]:
        """The plans that stand for all values of what is only bounded."""
        return tuple(self.plan.pinned())

    @cached_property
    def typical(self) -> Timeline:
        """The timeline that is drawn: bounded durations at their low end, a request in flight."""
        return Timeline(self.pinned[0], (Request(ZERO, ENDLESS),))

    @cached_property
    def quiet(self) -> Timeline:
        """The timeline with no request on the pod."""
        return Timeline(self.pinned[0])

    @cached_property
    def over(self) -> timedelta:
        """When the last container is gone at the latest."""
        return max(self.quiet.over, self.typical.over)

    def timeline(self, requests: Sequence[Request], traffic: Traffic = Traffic()) -> Timeline:
        """The timeline with these requests, bounded durations at their low end."""
        plan = self.pinned[0]
        return Timeline(plan, requests, idle_until=_idle_until(plan, traffic)[0])

    def ask(self, requests: Sequence[Request], traffic: Traffic = Traffic()) -> tuple[Answer, ...]:
        """What becomes of these requests, asked together; unknown where it depends on more.

        Tried are every end of what is bounded, and, as far as ``traffic`` leaves it open, with and
        without other connections, which decide when exit-on-zero ends the proxy.
        """
        each = [self._ask(plans, requests, traffic) for plans in self._by_container]
        return tuple(_whichever(answers) for answers in zip(*each, strict=True))

    @cached_property
    def _by_container(self) -> list[list[Plan]]:
        """The pinned plans by the container that requests are asked of."""
        found: dict[int | None, list[Plan]] = {}
        for plan in self.pinned:
            found.setdefault(plan.asked, []).append(plan)
        return list(found.values())

    def _ask(
        self, plans: Sequence[Plan], requests: Sequence[Request], traffic: Traffic
    ) -> list[Answer]:
        others = self._others(traffic)
        runs = [
            Timeline(plan, requests, others=busy, idle_until=idle_until)
            for plan in plans
            for busy in others
            for idle_until in _idle_until(plan, traffic)
        ]
        answers = zip(*(run.answers for run in runs), strict=True)
        lucky = len(others) > 1 or len({run.idle_until for run in runs}) > 1
        agreed = [_agreed(each, lucky=lucky and len(plans) == 1) for each in answers]
        # Luck has odds; what lies between two bounds has none.
        if traffic.open_connections and len(others) > 1 and len(plans) == 1:
            survives = 1 - math.exp(-traffic.open_connections)
            agreed = [_with_chance(answer, runs[0], survives) for answer in agreed]
        return agreed

    def _others(self, traffic: Traffic) -> tuple[bool, ...]:
        proxy = self.plan.proxy
        samples = proxy is not None and proxy.exit_on_zero.value
        return (False, True) if samples and traffic.open_connections != 0 else (False,)

    @cached_property
    def solution(self) -> Solution:
        """The smallest set of changes with which every request is served."""
        return solve(self.plan, Aims.of(self.plan))

    @cached_property
    def headroom(self) -> Headroom:
        """How long a request may take."""
        in_flight = [_served_from(plan, ZERO) for plan in self.pinned]
        worst = min(in_flight, key=_at)
        late = [self._served_late(plans) for plans in self._by_container]
        worst_late, late_at = min(late, key=lambda found: found[0].at)
        unbounded = self.plan.grace.value.high is None and self.plan.grace.value.low == ZERO
        return Headroom(
            None if unbounded else worst.at,
            None if unbounded else worst_late.at,
            worst.by,
            worst_late.by,
            late_at,
        )

    @staticmethod
    def _served_late(plans: Sequence[Plan]) -> tuple[Moment, timedelta]:
        """The longest request that arrives last, and when that is at the latest."""
        last = max(_last(plan) for plan in plans)
        return min((_served_before(plan, last) for plan in plans), key=_at), last

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The windows in which requests fail before the app is meant to stop accepting them."""
        found = [loss for plans in self._by_container for loss in _possible_losses(plans)]
        return tuple(dict.fromkeys(found))


def _at(moment: Moment) -> timedelta:
    return moment.at


def _idle_until(plan: Plan, traffic: Traffic) -> tuple[timedelta, ...]:
    """Until when idle connections stay: to the end, or for as long as the proxy lets them."""
    proxy = plan.proxy
    if not traffic.idle or proxy is None:
        return (ZERO,)
    drain = proxy.drain_duration.value
    room = drain / 3 > EARLY_DRAIN_MARGIN
    if not proxy.early_idle_drain or not room:
        return (ENDLESS,)
    begins = proxy.pre_stop.value.low
    return begins + drain * 2 / 3 + EARLY_DRAIN_MARGIN, begins + drain


def _agreed(answers: Sequence[Answer], *, lucky: bool) -> Answer:
    first = answers[0]
    if all(answer.outcome is first.outcome for answer in answers):
        return min(answers, key=lambda answer: answer.at)
    if all(answer.outcome is not Outcome.OK for answer in answers):
        # It fails for certain; only how it looks to the caller depends on more.
        return first
    worst = next(answer for answer in answers if answer.outcome is not Outcome.OK)
    by = Reason(f"{_LUCK if lucky else _BOUNDS}; {worst.by.text}", worst.by.settings)
    return Answer(first.request, Outcome.UNKNOWN, worst.at, by)


def _whichever(answers: Sequence[Answer]) -> Answer:
    """The answer for a request of which nobody knows the container that it is meant for."""
    worst = next((answer for answer in answers if answer.outcome is not Outcome.OK), answers[0])
    if all(answer.outcome is not Outcome.OK for answer in answers) or worst.outcome is Outcome.OK:
        return worst
    by = Reason(f"{_WHICH}; {worst.by.text}", worst.by.settings)
    return Answer(worst.request, Outcome.UNKNOWN, worst.at, by)


def _with_chance(answer: Answer, alone: Timeline, survives: float) -> Answer:
    """The odds of a request whose fate is luck: the proxy must survive each look before it.

    With r other connections open on average (arriving at random) a look finds none of them with
    probability e^-r; a look at which a known request is open is always survived.
    """
    if answer.outcome is not Outcome.UNKNOWN:
        return answer
    looks = alone.looks_without_known(answer.request.arrives)
    return replace(answer, chance=survives**looks)


def _served_from(plan: Plan, arrives: timedelta) -> Moment:
    """How long the longest request may take that arrives then; zero if it is not accepted."""
    request = Request(arrives, plan.grace.value.low + ENDLESS)
    answer = Timeline(plan, (request,)).answers[0]
    if answer.outcome is Outcome.CUT:
        return Moment(max(answer.at - arrives, ZERO), answer.by)
    return Moment(ZERO, answer.by)


def _last(plan: Plan) -> timedelta:
    """When the last request arrives that the app is meant to accept."""
    timeline = Timeline(plan)
    app, signal = timeline.app, timeline.proxy_signal
    if timeline.gateway and signal is not None:
        return signal.at
    if app is None:
        return ZERO
    graceful = app.plan.behaviour.value is Behaviour.GRACEFUL
    return app.accepts_until.at if graceful else app.signal.at


def _served_before(plan: Plan, last: timedelta) -> Moment:
    """The same for one that arrives the last instant before then."""
    instant = timedelta(microseconds=1)
    found = _served_from(plan, max(last - instant, ZERO))
    return Moment(max(found.at - instant, ZERO) if last > ZERO else found.at, found.by)


def _possible_losses(plans: Sequence[Plan]) -> list[Loss]:
    """The losses of plans that stand for each other; one that not all of them have may be."""
    each = [_losses(Timeline(plan), Timeline(plan, (Request(ZERO, ENDLESS),))) for plan in plans]
    found: dict[str, Loss] = {}
    for losses in each:
        for loss in losses:
            found.setdefault(loss.kind, loss)
    for kind, loss in found.items():
        if not all(any(other.kind == kind for other in losses) for losses in each):
            may = kind.replace(" are ", " may be ").replace(" fail", " may fail")
            found[kind] = replace(loss, kind=kind if " may " in kind else may)
    return list(found.values())


def _gateway_losses(quiet: Timeline, busy: Timeline) -> list[Loss]:
    """A gateway's: what is in flight when it ends before it had to."""
    kill, ends, closes = busy.proxy_kill, busy.proxy_ends, quiet.listener_closes
    losses = []
    if ends is not None and kill is not None and ends.at < kill.at:
        losses.append(Loss("requests in flight are cut", ends.at, kill.at, ends.by))
    if ends is not None and closes is not None and closes.at < ends.at:
        losses.append(Loss("new requests are refused", closes.at, ends.at, closes.by))
    return losses


def _losses(quiet: Timeline, busy: Timeline) -> list[Loss]:
    app = quiet.app
    if quiet.gateway:
        return _gateway_losses(quiet, busy)
    if app is None:
        return []
    losses = []
    until = app.accepts_until.at
    # What a proxy that samples open connections does to late requests is luck, not fate.
    lucky = quiet.plan.proxy is not None and quiet.plan.proxy.exit_on_zero.value
    may = "may be" if lucky else "are"
    ends = busy.proxy_ends
    if ends is not None and ends.at < app.dies.at:
        losses.append(Loss("requests in flight are cut", ends.at, app.dies.at, ends.by))
    gone = quiet.proxy_ends
    closes = quiet.listener_closes
    if gone is not None and gone.at < until:
        losses.append(Loss(f"new requests {may} refused", gone.at, until, gone.by))
    if closes is not None and closes.at < until and (gone is None or closes.at < gone.at):
        losses.append(
            Loss(
                "new requests are refused",
                closes.at,
                min(until, gone.at if gone else until),
                closes.by,
            )
        )
    proxy = quiet.plan.proxy
    if gone is not None and proxy is not None and proxy.stops_with_pod and gone.at < app.signal.at:
        fail = "may fail" if lucky else "fail"
        losses.append(Loss(f"the app's own outbound calls {fail}", gone.at, app.dies.at, gone.by))
    return losses
