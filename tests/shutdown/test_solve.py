"""The solver: what it says serves every request, and nothing of it is too much."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shutdownlint.shutdown import Behaviour, Outcome, Plan, ProxyMode, Request, Timeline, seconds
from shutdownlint.shutdown.durations import Span
from shutdownlint.shutdown.solver import Aims, Change, solve
from tests.shutdown.builders import app, plan, proxy

WHOLE = st.integers(0, 40)


@st.composite
def pods(draw: st.DrawFn) -> Plan:
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
        )
    return plan(*containers, grace=draw(st.integers(1, 90)), proxy=sidecar)


AIMS = st.builds(Aims, st.integers(1, 30).map(seconds), st.integers(0, 15).map(seconds))


@settings(max_examples=1500, deadline=None)
@given(pods(), AIMS, st.data())
def test_every_request_is_served(of: Plan, aims: Aims, data: st.DataObject) -> None:
    solution = solve(of, aims)
    assert solution.proven, solution.because
    limit = aims.propagation / timedelta(milliseconds=1)
    arrives = data.draw(st.integers(0, max(int(limit) - 1, 0))) if limit else 0
    lasts = data.draw(st.integers(0, int(aims.p99 / timedelta(milliseconds=1))))
    asked = (Request(timedelta(milliseconds=arrives), timedelta(milliseconds=lasts)),)
    (answer,) = Timeline(solution.plan, asked).answers
    assert answer.outcome is Outcome.OK, (answer, solution.changes)


@settings(max_examples=500, deadline=None)
@given(pods(), AIMS)
def test_a_solution_needs_no_other(of: Plan, aims: Aims) -> None:
    assert solve(solve(of, aims).plan, aims).changes == ()


def without(plan: Plan, change: Change) -> Plan:
    """The solved plan with one setting as it was."""
    if change.field == "grace":
        return replace(plan, grace=change.old)
    if change.field == "preStop":
        containers = tuple(
            replace(c, pre_stop=change.old) if c.name == change.container else c
            for c in plan.containers
        )
        return replace(plan, containers=containers)
    names = {
        "terminationDrain": "termination_drain",
        "minimumDrain": "minimum_drain",
        "drainDuration": "drain_duration",
    }
    assert plan.proxy is not None
    old: Any = {names[change.field]: change.old}
    return replace(plan, proxy=replace(plan.proxy, **old))


@settings(max_examples=1500, deadline=None)
@given(pods(), AIMS)
def test_nothing_of_it_is_superfluous(of: Plan, aims: Aims) -> None:
    """Take any change back, and a request is lost, or a proxy depends on luck or is killed early."""
    solution = solve(of, aims)
    # one container, so that every change is about requests
    assume(len(of.containers) == 1 and solution.changes)
    for change in solution.changes:
        worse = without(solution.plan, change)
        instant = timedelta(milliseconds=1)
        late = max(aims.propagation - instant, timedelta(0))
        requests = [Request(timedelta(0), aims.p99), Request(late, aims.p99)]
        outcomes = [Timeline(worse, (r,)).answers[0].outcome for r in requests]
        quiet = Timeline(worse)
        app_open = quiet.app.accepts_until.at if quiet.app else aims.propagation
        lucky = quiet.proxy_ends is not None and quiet.proxy_ends.at <= app_open
        closes = quiet.listener_closes
        shut = closes is not None and closes.at < app_open
        spent = quiet.over >= quiet.grace - timedelta(seconds=1)
        refused = any(outcome is not Outcome.OK for outcome in outcomes)
        assert refused or lucky or shut or spent, change


def test_what_is_not_known_is_not_proven() -> None:
    unknown = plan(app(), grace=Span(seconds(0), None))
    assert not solve(unknown, Aims()).proven
    abrupt = plan(app(behaviour=Behaviour.ABRUPT))
    assert "does not finish" in solve(abrupt, Aims()).because
    script = plan(app(pre_stop=Span(seconds(0), None)), grace=30)
    assert not solve(script, Aims(propagation=seconds(9))).proven


def test_the_aims_come_from_what_stands_before_the_pod() -> None:
    assert Aims.of(plan(app())) == Aims(seconds(10), seconds(0))
    assert Aims.of(plan(app()), seconds(3), seconds(4)) == Aims(seconds(3), seconds(4))
