"""Finds what a stop loses, from simulations of it.

Requests are put on the pod at the moments that matter: in flight at the deletion, just before the
pod should stop accepting, and as long as something sends new ones. What cuts or refuses them, and
when, is the loss.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.shutdown.case import INSTANT, Case
from shutdownlint.shutdown.durations import ORDINARY_REQUEST, ZERO
from shutdownlint.shutdown.loss import WORST_FIRST, Loss, LossKind, LossMeans, LossWeight
from shutdownlint.shutdown.pod_plan import Effect, Role
from shutdownlint.shutdown.process import (
    Direction,
    Trigger,
    WhenIdle,
)
from shutdownlint.shutdown.provenance import Cause, CauseKind
from shutdownlint.shutdown.request import ClientSees, Outcome, Request
from shutdownlint.shutdown.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan, Sender
    from shutdownlint.shutdown.process import PhaseLimit
    from shutdownlint.shutdown.provenance import Setting
    from shutdownlint.shutdown.request import Prediction
    from shutdownlint.shutdown.timeline import ContainerTimeline

#: A process that has cut its requests so soon after its stop signal did not wait for them.
_AT_ONCE: Final = timedelta(seconds=1)
#: The least that the kubelet leaves between a stop signal and SIGKILL.
_LEAST_LEFT: Final = timedelta(seconds=2)


def find_losses(targets: Sequence[Sequence[Case]]) -> tuple[Loss, ...]:
    """Return the losses of a pod, the worst first: those that are sure, then those that may be.

    ``targets`` are, for each container that requests may be meant for, the cases of what is only
    bounded. What only some cases lose is not certain.
    """
    found: dict[tuple[object, ...], Loss] = {}
    for cases in targets:
        of_target = _common([list(_losses_of(case)) for case in cases])
        for loss in of_target:
            doubtful = len(targets) > 1 and cases[0].app is not None and _is_assumed(cases[0])
            if doubtful:
                found.setdefault(loss.identity, _doubted(loss))
            else:
                found.setdefault(loss.identity, _weighed(loss))
    return tuple(sorted(found.values(), key=_badness))


def _badness(loss: Loss) -> tuple[bool, int, int]:
    """Smaller is worse: what is sure to be lost, then by its kind."""
    unsure = loss.weight is LossWeight.POSSIBLE
    return unsure, WORST_FIRST.index(loss.kind), loss.weight.rank


def _is_assumed(case: Case) -> bool:
    return case.app is not None and case.app.plan.serves_assumed


def _common(cases: Sequence[Sequence[Loss]]) -> Iterator[Loss]:
    """Yield the losses of equivalent cases, each as it is at its worst."""
    by_identity: dict[tuple[object, ...], list[Loss]] = {}
    for losses in cases:
        for loss in {each.identity: each for each in reversed(losses)}.values():
            by_identity.setdefault(loss.identity, []).append(loss)
    for same in by_identity.values():
        worst = min(same, key=lambda loss: (loss.longer_than, loss.begin))
        weight = max((loss.weight for loss in same), key=lambda each: each.rank)
        yield replace(worst, weight=weight, certain=len(same) == len(cases))


def _doubted(loss: Loss) -> Loss:
    """Return a loss of a container that requests may not be meant for."""
    stated = loss.weight is LossWeight.STATED and loss.certain
    weight = LossWeight.LIKELY if stated else LossWeight.POSSIBLE
    return replace(loss, certain=False, weight=weight)


def _weighed(loss: Loss) -> Loss:
    return loss if loss.certain else replace(loss, weight=LossWeight.POSSIBLE)


def _losses_of(case: Case) -> Iterator[Loss]:
    """Yield the losses of one case."""
    if case.plan.grace.value.high is None or case.app is None:
        return
    if case.plan.gets_requests:
        yield from _in_flight(case)
        yield from _late(case)
        yield from _by_senders(case)
    yield from _work(case)
    yield from _own_calls(case)
    yield from _written_limits(case)


class _Cut(Struct, frozen=True):
    """The outcome of a request without an end that starts at ``arrival``."""

    arrival: timedelta
    prediction: Prediction
    container: ContainerTimeline
    means: LossMeans

    @classmethod
    def of(cls, case: Case, arrival: timedelta) -> _Cut | None:
        """None where it is not accepted, or never cut."""
        timeline = case.with_endless(arrival)
        (prediction,) = timeline.predictions
        if prediction.outcome is not Outcome.CUT or not prediction.process:
            return None
        container = timeline.container(prediction.process)
        target = timeline.target
        if target is not None and target.kill is not None and prediction.at >= target.kill.at:
            # Whatever ends together with the app, the app was killed.
            abandons = _abandons_hook(target) and case.plan.grace.value.low > ZERO
            means = LossMeans.ABANDONED_HOOK if abandons else LossMeans.SIGKILL
            return cls(arrival, prediction, container, means)
        return cls(arrival, prediction, container, _means(prediction, container))

    @property
    def limit(self) -> timedelta:
        """The time that a request may take that starts then."""
        return max(self.prediction.at - self.arrival, ZERO)

    @property
    def needs_other(self) -> bool:
        """Whether it is cut because a call that it makes fails."""
        return self.prediction.cause.kind is CauseKind.NEEDED_PROCESS

    def is_too_short_for(self, needed: timedelta) -> bool:
        """Whether a request of that length is cut; SIGKILL leaves no time for its last byte."""
        return self.limit < needed or (self.is_killed and self.limit <= needed)

    @property
    def is_killed(self) -> bool:
        """Whether it is cut by SIGKILL."""
        return self.means in (LossMeans.SIGKILL, LossMeans.ABANDONED_HOOK)


def _means(prediction: Prediction, container: ContainerTimeline) -> LossMeans:
    """By what a process cuts a request."""
    if prediction.killed or (container.kill is not None and prediction.at >= container.kill.at):
        return LossMeans.SIGKILL
    signal = container.signal
    if _is_by_hook(container, prediction.at):
        return LossMeans.HOOK
    if signal is not None and prediction.at - signal.at < _AT_ONCE:
        return LossMeans.SIGNAL
    return LossMeans.LIMIT


def _abandons_hook(container: ContainerTimeline) -> bool:
    """Whether its hook takes the whole grace period, whatever requests are open."""
    signal = container.signal
    hook = container.plan.hook
    by_time = hook.ending is None and not hook.signals
    return by_time and signal is not None and signal.cause.kind is CauseKind.HOOK_ABANDONED


def _is_by_hook(container: ContainerTimeline, at: timedelta) -> bool:
    """Whether a container's own preStop hook has stopped it by then: it signals or drains it."""
    plan, signal = container.plan, container.signal
    if signal is not None and at >= signal.at:
        return False
    return bool(plan.hook.signals) or (_drains_in_hook(plan) and plan.role in (Role.APP, Role.EDGE))


def _drains_in_hook(plan: ContainerPlan) -> bool:
    """Whether a container's preStop hook starts its drain, and waits for it."""
    phases = plan.process.phases
    return bool(phases) and phases[0].begins is Trigger.DELETION


def _in_flight(case: Case) -> Iterator[Loss]:
    """Yield the losses of requests that the pod has accepted, and that are cut."""
    last = case.last_arrival
    first = _Cut.of(case, ZERO)
    cuts = [first, _Cut.of(case, last)] if last > ZERO else [first]
    found = [cut for cut in cuts if cut is not None]
    if last > ZERO and len(found) > 1 and found[1].means is LossMeans.SIGNAL:
        # Who ends at its signal has a hook for its requests: while new ones are sent they may
        # begin.
        until = min(last, _sends_until(case))
        found[1:] = [cut for cut in (_Cut.of(case, until),) if cut is not None]
    if not found:
        return
    worst = min(found, key=lambda cut: cut.limit)
    if worst.needs_other:
        yield from _needed_call(case, worst)
        return
    target = case.app
    assert target is not None
    needed, weight = case.plan.p99, LossWeight.STATED
    if needed is None:
        needed, weight = target.plan.usual_request, LossWeight.LIKELY
    if needed is not None:
        written = needed is target.plan.usual_request and needed.origin.written
        if worst.is_too_short_for(needed.value) and not written:
            yield _cut_loss(case, worst, LossKind.CUT, weight, needed)
        return
    at_once = worst.limit < _AT_ONCE and not worst.is_killed
    if at_once:
        reconnect = case.plan.clients_reconnect
        weight = LossWeight.POSSIBLE if reconnect else LossWeight.LIKELY
        yield _cut_loss(case, worst, LossKind.CUT, weight)
    elif not worst.is_killed or _is_little_left(worst):
        weight = LossWeight.LIKELY if _is_short_default(worst) else LossWeight.POSSIBLE
        yield _cut_loss(case, worst, LossKind.LONG, weight)


def _sends_until(case: Case) -> timedelta:
    """Return how long something sends new requests to this case's target."""
    if case.plan.no_delay:
        return ZERO
    target = case.app.plan.name if case.app is not None else ""
    windows = [s.window.value for s in case.plan.senders if s.leads_to(target)]
    return max(windows, default=ZERO)


def _is_short_default(cut: _Cut) -> bool:
    """Whether a proxy cuts after a short fixed time, which is a default."""
    proxy = cut.container.plan.role in (Role.PROXY, Role.EDGE)
    settings = cut.prediction.cause.settings
    chosen = any(setting.origin.written for setting in settings)
    if cut.is_killed and cut.arrival > ZERO:
        return False  # its hook decides
    return proxy and not chosen and cut.limit < ORDINARY_REQUEST


def _is_little_left(cut: _Cut) -> bool:
    """Whether SIGKILL leaves less than an ordinary request takes, because of the hook.

    That the grace period ends at all is no loss: without a hook its length is the answer.
    """
    return cut.limit <= (ORDINARY_REQUEST if cut.arrival > ZERO else _LEAST_LEFT)


def _cut_loss(
    case: Case,
    cut: _Cut,
    kind: LossKind,
    weight: LossWeight,
    needed: Setting[timedelta] | None = None,
) -> Loss:
    prediction, container = cut.prediction, cut.container.plan
    target = case.app
    assert target is not None
    return Loss(
        kind,
        cut.means,
        container.name,
        container.role,
        prediction.at,
        max(prediction.at, case.loaded.container(target.plan.name).exit.at),
        prediction.cause,
        _cut_setting(case.plan, cut),
        weight,
        longer_than=cut.limit,
        arrival=cut.arrival,
        needed=needed,
        client_sees=prediction.client_sees,
        status=prediction.status,
    )


def _cut_setting(plan: PodPlan, cut: _Cut) -> Setting[object]:
    container = cut.container.plan
    if cut.is_killed:
        return container.grace or plan.grace
    return _setting_of(cut.prediction.cause, container)


def _setting_of(cause: Cause, container: ContainerPlan) -> Setting[object]:
    """Return the setting of a cause; the container's delay where it has none."""
    if cause.settings:
        return cause.settings[0]
    return _delay(container)


def _delay(container: ContainerPlan) -> Setting[object]:
    """Return the setting that delays a container's closing: its stop signal, or a time after."""
    knob = container.knob(Effect.DELAYS_SIGNAL) or container.knob(Effect.KEEPS_ACCEPTING)
    return knob.setting if knob is not None else container.hook.duration


def _needed_call(case: Case, cut: _Cut) -> Iterator[Loss]:
    """Yield a request that is lost because a process ends that it needs."""
    p99 = case.plan.p99
    long_enough = cut.limit >= (p99.value if p99 is not None else _AT_ONCE)
    if cut.is_killed and (p99 is None or long_enough):
        return
    if p99 is not None and long_enough:
        return
    # Who has a proxy for other calls may make none of them in the requests that are in flight.
    makes_calls = p99 is not None or cut.container.plan.role is not Role.PROXY
    likely = makes_calls and not long_enough
    weight = LossWeight.LIKELY if likely else LossWeight.POSSIBLE
    loss = _cut_loss(case, cut, LossKind.OWN_CALLS, weight, p99)
    container = cut.container.plan
    ended = case.idle.container(container.name).accepts_until(Direction.OUTBOUND)
    yield replace(loss, setting=_setting_of(ended.cause, container))


# New requests


def _late(case: Case) -> Iterator[Loss]:
    """Yield the loss of new requests that something sends while the pod serves none."""
    app = case.app
    assert app is not None
    if case.plan.grace.value.high == ZERO:
        return  # its endpoint is gone at once
    begin = _closed_from(case)
    # An app that still accepts behind a closed proxy is configured to wait for requests.
    expects = app.accepts_until().at if app.plan.role is Role.APP else ZERO
    found = []
    for sender in case.plan.senders:
        until = max(sender.window.value, expects)
        if until > begin and sender.leads_to(app.plan.name):
            loss = _refused(case, sender, begin, until)
            found += [loss] if loss is not None else []
    if found:
        # The one that is surest, then the one that sends for longest.
        yield min(found, key=lambda loss: (loss.weight.rank, -loss.end))


def _closed_from(case: Case) -> timedelta:
    """Return when a container on the path of new requests stops accepting them."""
    plan, app = case.plan, case.app
    assert app is not None
    names = [*plan.front, app.plan.name]
    if plan.edge is None:
        names += plan.behind(app.plan.name)
    return min(case.idle.container(name).accepts_until().at for name in names)


def _refused(case: Case, sender: Sender, begin: timedelta, until: timedelta) -> Loss | None:
    """Return the loss of what a sender sends from then on; None where it is served."""
    (prediction,) = Timeline(case.plan, (Request(max(begin, INSTANT), ZERO),)).predictions
    if prediction.outcome is Outcome.OK:
        return None
    app = case.app
    assert app is not None
    # A proxy that stops together with the app is not what decides.
    alone = prediction.process and app.accepts_until().at > begin
    container = case.idle.container(prediction.process) if alone else app
    closed = container.accepts_until()
    own = container.plan.role in (Role.PROXY, Role.HELPER) and closed.cause.settings
    return Loss(
        LossKind.LATE,
        LossMeans.HOOK if _is_by_hook(container, begin) else LossMeans.CLOSED,
        container.plan.name,
        container.plan.role,
        begin,
        until,
        closed.cause,
        closed.cause.settings[0] if own else _delay(container.plan),
        _weight_of_late(case.plan, sender, container.plan, begin),
        arrival=begin,
        sender=sender,
        client_sees=prediction.client_sees,
        status=prediction.status,
        when_idle=_leaves_when_idle(container.plan),
    )


def _weight_of_late(
    plan: PodPlan, sender: Sender, container: ContainerPlan, begin: timedelta
) -> LossWeight:
    unsure = not sender.is_shown or begin >= sender.likely_window or _leaves_when_idle(container)
    return LossWeight.POSSIBLE if unsure or plan.no_delay else LossWeight.LIKELY


def _leaves_when_idle(container: ContainerPlan) -> bool:
    """Whether it goes on as long as a connection is open, as one is under ordinary traffic."""
    return any(isinstance(phase.ending, WhenIdle) for phase in container.process.phases)


def _by_senders(case: Case) -> Iterator[Loss]:
    """Yield the losses of requests in flight whose connection is closed by their sender."""
    first = _Cut.of(case, ZERO)
    p99 = case.plan.p99
    for sender in case.plan.senders:
        closes = sender.closes_after
        if closes is None or (first is not None and first.limit <= closes.value):
            continue
        if p99 is not None and p99.value <= closes.value:
            continue
        any_length = closes.value < _AT_ONCE
        sure = p99 is not None or any_length
        yield Loss(
            LossKind.CUT if sure else LossKind.LONG,
            LossMeans.SENDER,
            sender.name.value,
            None,
            closes.value,
            closes.value,
            Cause.of(closes),
            closes,
            LossWeight.LIKELY if sure else LossWeight.POSSIBLE,
            longer_than=closes.value,
            needed=p99,
            sender=sender,
            client_sees=ClientSees.RESET,
        )


# Calls and work


def _own_calls(case: Case) -> Iterator[Loss]:
    """Yield the losses of the app's own calls that fail while it serves or finishes its work."""
    plan, app = case.plan, case.app
    if app is None or plan.edge is not None or plan.runs_to_completion:
        return
    busy = case.loaded.container(app.plan.name)
    working = None if plan.gets_requests else Timeline(plan, busy=frozenset((app.plan.name,)))
    for name in dict.fromkeys((*plan.back, *plan.needed)):
        carrier = case.idle.container(name)
        ended = carrier.accepts_until(Direction.OUTBOUND)
        serves = app.signal is not None and ended.at < app.signal.at
        if not serves:
            if working is None:
                continue
            carrier = working.container(name)
            ended = carrier.accepts_until(Direction.OUTBOUND)
            if carrier.killed or ended.at >= working.container(app.plan.name).exit.at:
                continue
        when_idle = _leaves_when_idle(carrier.plan)
        setting = _setting_of(ended.cause, carrier.plan)
        # Who chose how long the proxy goes on knows how long the work takes.
        short = ended.at < ORDINARY_REQUEST and not setting.origin.written
        short = short and plan.asks_for_time and not when_idle
        weight = LossWeight.LIKELY if serves or short else LossWeight.POSSIBLE
        yield Loss(
            LossKind.OWN_CALLS,
            LossMeans.CLOSED,
            name,
            carrier.plan.role,
            ended.at,
            busy.exit.at,
            ended.cause,
            setting,
            weight,
            longer_than=ZERO if serves else ended.at,
            arrival=ended.at if serves else ZERO,
            when_idle=when_idle,
        )
        return


def _work(case: Case) -> Iterator[Loss]:
    """Yield the work in progress, which passes no proxy; of pods that get requests stated jobs."""
    alone = Case(replace(case.plan, front=())) if case.plan.front else case
    job = case.plan.longest_job
    if job is not None:
        cut = _Cut.of(alone, alone.last_arrival)
        if cut is not None and not cut.needs_other and cut.is_too_short_for(job.value):
            yield _cut_loss(case, cut, LossKind.WORK, LossWeight.STATED, job)
        return
    if case.plan.gets_requests:
        return
    cuts = (_Cut.of(alone, ZERO), _Cut.of(alone, alone.last_arrival))
    found = [cut for cut in cuts if cut is not None and not cut.needs_other]
    if found and found[0].is_killed:
        found = [cut for cut in found if _is_little_left(cut)]
    if found:
        yield _cut_loss(case, found[0], LossKind.WORK, LossWeight.POSSIBLE)


# Limits that never come to their end


def _written_limits(case: Case) -> Iterator[Loss]:
    """Drains and limits that somebody wrote, and that end after SIGKILL."""
    for container in case.loaded.containers:
        signal, kill, plan = container.signal, container.kill, container.plan
        if signal is None or kill is None or plan.native_sidecar or plan.role is Role.MEMBER:
            continue
        if _abandons_hook(container) and not _drains_in_hook(plan):
            waits = plan.hook.duration
            if plan.role is Role.PROXY and waits.origin.written:
                yield _never_ends(container, waits, waits.value.low, case.last_arrival)
            continue  # there is no time left for anything
        for limit, ends in _limits(container):
            late = ends >= kill.at if limit.is_fixed else ends > kill.at
            if late and limit.setting.origin.written:
                last = _Cut.of(case, case.last_arrival)
                of_last = last is not None and last.container.plan.name == plan.name
                begin = case.last_arrival if of_last else signal.at
                yield _never_ends(container, limit.setting, ends, begin)
                break


def _never_ends(
    container: ContainerTimeline, setting: Setting[object], ends: timedelta, begin: timedelta
) -> Loss:
    """Return a setting that would end after SIGKILL."""
    assert container.kill is not None
    kill, plan = container.kill, container.plan
    return Loss(
        LossKind.LONG,
        LossMeans.WRITTEN_LIMIT,
        plan.name,
        plan.role,
        kill.at,
        ends,
        kill.cause,
        setting,
        LossWeight.LIKELY,
        longer_than=kill.at - begin,
        arrival=begin,
    )


def _limits(container: ContainerTimeline) -> Iterator[tuple[PhaseLimit, timedelta]]:
    """Yield the limits of a container's phases, and when each is over."""
    assert container.signal is not None
    at = ZERO
    for phase in container.plan.process.phases:
        at = max(at, container.signal.at) if phase.begins is Trigger.SIGNAL else at
        limit = phase.limit
        if limit is not None:
            at += limit.length
            yield limit, at
