"""The solver: with its settings every request is served, and none of them is superfluous."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shutdownlint.platforms.istio.process import ProxyMode
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import ZERO, DurationRange, seconds
from shutdownlint.shutdown.kubelet import grace_of
from shutdownlint.shutdown.pod_plan import GRACE_FIELD, PodPlan
from shutdownlint.shutdown.request import Outcome, Request
from shutdownlint.shutdown.solver import (
    Change,
    FailureKind,
    Targets,
    set_knob,
    solve,
)
from shutdownlint.shutdown.timeline import Timeline
from tests.shutdown.builders import app, between, plan, proxy

WHOLE = st.integers(0, 40)


@st.composite
def pods(draw: st.DrawFn) -> PodPlan:
    containers = [
        app(f"c{number}", pre_stop=draw(WHOLE), drain=draw(st.integers(0, 9)))
        for number in range(draw(st.integers(1, 2)))
    ]
    mode = draw(st.none() | st.sampled_from(ProxyMode))
    sidecar = None
    if mode is not None:
        sidecar = proxy(
            mode,
            pre_stop=draw(st.integers(0, 9)),
            exit_on_zero=draw(st.booleans()),
            minimum=draw(WHOLE),
            termination=draw(WHOLE),
            drain=draw(st.integers(1, 60)),
            written=draw(st.booleans()),
        )
    return plan(*containers, grace=draw(st.integers(1, 90)), proxy=sidecar)


TARGETS = st.builds(Targets, st.integers(1, 30).map(seconds), st.integers(0, 15).map(seconds))


@settings(max_examples=1500, deadline=None)
@given(pods(), TARGETS, st.data())
def test_every_request_is_served(of: PodPlan, targets: Targets, data: st.DataObject) -> None:
    solution = solve(of, targets)
    assert solution.proven, solution.failure
    limit = targets.propagation / timedelta(milliseconds=1)
    arrival = data.draw(st.integers(0, max(int(limit) - 1, 0))) if limit else 0
    length = data.draw(st.integers(0, int(targets.p99 / timedelta(milliseconds=1))))
    request = Request(timedelta(milliseconds=arrival), timedelta(milliseconds=length))
    (prediction,) = Timeline(solution.plan, (request,)).predictions
    assert prediction.outcome is Outcome.OK, (prediction, solution.changes)


@settings(max_examples=500, deadline=None)
@given(pods(), TARGETS)
def test_a_solution_needs_no_other(of: PodPlan, targets: Targets) -> None:
    assert solve(solve(of, targets).plan, targets).changes == ()


def without(of: PodPlan, plan: PodPlan, change: Change) -> PodPlan:
    """Return the solved plan with one setting as it was in ``of``."""
    old = change.old.value
    if isinstance(old, bool):
        before = of.container(change.container or "")
        others = plan.containers
        return replace(
            plan, containers=tuple(before if c.name == before.name else c for c in others)
        )
    if change.field == GRACE_FIELD:
        return replace(plan, grace=change.old)
    container = plan.container(change.container or "")
    assert isinstance(old, DurationRange | timedelta)
    knob = next(knob for knob in container.knobs if knob.field == change.field)
    undone = set_knob(container, knob, old.low if isinstance(old, DurationRange) else old)
    others = plan.containers
    return replace(plan, containers=tuple(undone if c is container else c for c in others))


@settings(max_examples=1500, deadline=None)
@given(pods(), TARGETS)
def test_no_change_is_superfluous(of: PodPlan, targets: Targets) -> None:
    """Undo any change: a request is lost, or a proxy may leave too early or is killed."""
    solution = solve(of, targets)
    # One container, so that every change is about requests.
    assume(len(of.regular) < 2 and solution.changes)
    for change in solution.changes:
        worse = without(of, solution.plan, change)
        late = max(targets.propagation - timedelta(milliseconds=1), ZERO)
        requests = [Request(ZERO, targets.p99), Request(late, targets.p99)]
        outcomes = [Timeline(worse, (r,)).predictions[0].outcome for r in requests]
        idle = Timeline(worse)
        needed = idle.target.accepts_until().at if idle.target else targets.propagation
        proxies = [idle.container(proxy.name) for proxy in worse.proxies]
        leaves = any(each.accepts_until().at <= needed for each in proxies)
        longest = ShutdownAnalysis(worse).longest_shutdown
        killed = longest >= grace_of(None, worse) - timedelta(seconds=1)
        lost = any(outcome is not Outcome.OK for outcome in outcomes)
        assert lost or leaves or killed, change


def test_what_is_not_known_is_not_proven() -> None:
    unknown = solve(plan(app(), grace=between(0, None)), Targets())
    assert unknown.failure is not None
    assert unknown.failure.kind is FailureKind.GRACE_UNKNOWN
    limited = solve(plan(app(limit=5)), Targets())
    assert limited.failure is not None
    assert limited.failure.kind is FailureKind.REQUEST_LOST
    script = plan(app(pre_stop=between(0, None)), grace=30)
    assert not solve(script, Targets(propagation=seconds(9))).proven


def test_targets_come_from_what_sends_the_pod_requests() -> None:
    assert Targets.of(plan(app())) == Targets(seconds(10), seconds(0))
    assert Targets.of(plan(app()), seconds(3)) == Targets(seconds(3), seconds(0))
