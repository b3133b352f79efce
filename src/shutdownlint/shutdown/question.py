"""What is asked of a plan whose durations may be only bounded: the same of every timeline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from shutdownlint.shutdown.plan import Behaviour
from shutdownlint.shutdown.setting import Reason
from shutdownlint.shutdown.span import ENDLESS, ZERO
from shutdownlint.shutdown.timeline import NO_APP, Answer, Moment, Outcome, Request, Timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.shutdown.plan import Plan

__all__ = ["Answer", "Headroom", "Loss", "Outcome", "Request", "Shutdown"]

_LUCK: Final = "luck: whether a connection is open each time exit-on-zero looks"
_BOUNDS: Final = "a duration of which only the bounds are known"


@dataclass(frozen=True, slots=True)
class Headroom:
    """The longest requests that are still served, however the unknowns turn out.

    ``in_flight``: already running at deletion. ``late``: arriving at the last moment the app is
    meant to accept, its stop signal and drain at the end of preStop. None is unbounded.
    """

    in_flight: timedelta | None
    late: timedelta | None
    by: Reason
    late_by: Reason


@dataclass(frozen=True, slots=True)
class Loss:
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

    def timeline(self, requests: Sequence[Request]) -> Timeline:
        """The timeline with these requests, bounded durations at their low end."""
        return Timeline(self.pinned[0], requests)

    def ask(self, requests: Sequence[Request]) -> tuple[Answer, ...]:
        """What becomes of these requests, asked together; unknown where it depends on more.

        What is asked: every end of what is bounded, with and without other connections open.
        """
        runs = [
            Timeline(plan, requests, others=others).answers
            for plan in self.pinned
            for others in self._others()
        ]
        lucky = len(self._others()) > 1
        return tuple(_agreed(answers, lucky=lucky) for answers in zip(*runs, strict=True))

    def _others(self) -> tuple[bool, ...]:
        proxy = self.plan.proxy
        return (False, True) if proxy is not None and proxy.exit_on_zero.value else (False,)

    @cached_property
    def headroom(self) -> Headroom:
        """How long a request may take."""
        in_flight = [_served_from(plan, ZERO) for plan in self.pinned]
        late = [_served_late(plan) for plan in self.pinned]
        worst, worst_late = min(in_flight, key=_at), min(late, key=_at)
        unbounded = self.plan.grace.value.high is None and self.plan.grace.value.low == ZERO
        return Headroom(
            None if unbounded else worst.at,
            None if unbounded else worst_late.at,
            worst.by,
            worst_late.by,
        )

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """The windows in which requests fail before the app is meant to stop accepting them."""
        return tuple(_losses(self.quiet, self.typical))


def _at(moment: Moment) -> timedelta:
    return moment.at


def _agreed(answers: Sequence[Answer], *, lucky: bool) -> Answer:
    first = answers[0]
    if all(answer.outcome is first.outcome for answer in answers):
        return min(answers, key=lambda answer: answer.at)
    if all(answer.outcome is not Outcome.OK for answer in answers):
        # It fails for certain; only how it looks to the caller depends on more.
        return first
    worst = next(answer for answer in answers if answer.outcome is not Outcome.OK)
    # Each pinned plan was run twice in a row, without and with other connections.
    luck = lucky and any(
        a.outcome is not b.outcome for a, b in zip(answers[::2], answers[1::2], strict=True)
    )
    why = _LUCK if luck else _BOUNDS
    by = Reason(f"{why}; {worst.by.text}", worst.by.settings)
    return Answer(first.request, Outcome.UNKNOWN, worst.at, by)


def _served_from(plan: Plan, arrives: timedelta) -> Moment:
    """How long the longest request may take that arrives then; zero if it is not accepted."""
    request = Request(arrives, ENDLESS * 2)
    answer = Timeline(plan, (request,)).answers[0]
    if answer.outcome is Outcome.CUT:
        return Moment(max(answer.at - arrives, ZERO), answer.by)
    return Moment(ZERO, answer.by)


def _served_late(plan: Plan) -> Moment:
    timeline = Timeline(plan)
    app = timeline.app
    if app is None:
        return Moment(ZERO, NO_APP)
    last = app.accepts_until.at
    if app.plan.behaviour.value is not Behaviour.GRACEFUL:
        last = app.signal.at
    # The last instant before the app stops accepting; an abrupt app serves nothing from then on.
    instant = timedelta(microseconds=1)
    found = _served_from(plan, max(last - instant, ZERO))
    return Moment(max(found.at - instant, ZERO) if last > ZERO else found.at, found.by)


def _losses(quiet: Timeline, busy: Timeline) -> list[Loss]:
    app = quiet.app
    if app is None:
        return []
    losses = []
    until = app.accepts_until.at
    ends = busy.proxy_ends
    if ends is not None and ends.at < app.dies.at:
        losses.append(Loss("requests in flight are cut", ends.at, app.dies.at, ends.by))
    gone = quiet.proxy_ends
    closes = quiet.listener_closes
    if gone is not None and gone.at < until:
        losses.append(Loss("new requests are refused", gone.at, until, gone.by))
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
    if gone is not None and proxy is not None and proxy.classic and gone.at < app.signal.at:
        losses.append(Loss("the app's own outbound calls fail", gone.at, app.signal.at, gone.by))
    return losses
