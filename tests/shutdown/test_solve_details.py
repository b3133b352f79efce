"""Solutions in figures: each value, with its reason; and corners of ranges and of checks."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from shutdownlint.platforms.istio.process import ProxyMode
from shutdownlint.shutdown.analysis import Doubt, ShutdownAnalysis, Traffic
from shutdownlint.shutdown.connections import OpenConnections
from shutdownlint.shutdown.durations import ZERO, DurationRange, seconds
from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan, Role, Sender
from shutdownlint.shutdown.process import (
    CLOSED,
    After,
    Direction,
    Hook,
    Phase,
    Process,
    Trigger,
    WhenFinished,
    WhenIdle,
)
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting
from shutdownlint.shutdown.request import Outcome, Request
from shutdownlint.shutdown.solver import ReasonKind, Targets, solve
from shutdownlint.shutdown.timeline import Timeline
from tests.shutdown.builders import HERE, app, between, plan, proxy
from tests.shutdown.test_answers import idle_proxy

if TYPE_CHECKING:
    from shutdownlint.shutdown.solver import Solution

TEN = Targets(seconds(10), seconds(5))


def changes(solution: Solution) -> dict[str, tuple[float, ReasonKind]]:
    return {
        change.field: (change.value.total_seconds(), change.reason.kind)
        for change in solution.changes
        if isinstance(change.value, timedelta)
    }


def test_a_proxy_outlives_the_last_request_by_a_second() -> None:
    """5 s of sleep and 10 s of request: the proxy needs 15 s and one more."""
    solution = solve(plan(app(), grace=60, proxy=proxy(termination=5)), TEN)
    assert changes(solution) == {
        "preStop": (5, ReasonKind.REQUESTS_STILL_ARRIVE),
        "terminationDrain": (16, ReasonKind.REQUESTS_DONE),
    }


def test_a_grace_period_is_raised_above_what_ends_last() -> None:
    solution = solve(plan(app(pre_stop=5), grace=15, proxy=proxy(termination=16)), TEN)
    # The proxy's own 16 s end after the last request, and a margin of 5 s is added.
    assert changes(solution) == {"grace": (21, ReasonKind.PROXY_DONE)}


def test_the_reason_is_the_first_of_equal_ends() -> None:
    """Test that the program's own limit ends with the last request, and not later."""
    (change,) = solve(plan(app(pre_stop=5, limit=10), grace=10), TEN).changes
    assert (change.value, change.reason.kind) == (seconds(20), ReasonKind.REQUESTS_DONE)
    (change,) = solve(plan(app(pre_stop=5, limit=11), grace=10), TEN).changes
    assert (change.value, change.reason.kind) == (seconds(21), ReasonKind.PROGRAM_MAY_TAKE)


def test_without_requests_the_last_signal_decides() -> None:
    (change,) = solve(plan(app(pre_stop=12), grace=10), Targets(ZERO, ZERO)).changes
    assert (change.value, change.reason.kind) == (seconds(17), ReasonKind.LAST_SIGNAL)
    (change,) = solve(plan(app(pre_stop=12), grace=10), Targets(seconds(1), ZERO)).changes
    assert (change.value, change.reason.kind) == (seconds(18), ReasonKind.REQUESTS_DONE)


@pytest.mark.parametrize(
    ("immediately", "kind", "value"),
    # It may look for the first time after 20 s, or a second later: later than any request.
    [(True, ReasonKind.PROXY_DONE, 25), (False, ReasonKind.PROXY_DONE, 26)],
)
def test_the_first_look_of_a_proxy_counts(
    immediately: bool, kind: ReasonKind, value: float
) -> None:
    ending = WhenIdle(seconds(1), Setting("delay", seconds(20), HERE), immediately=immediately)
    patient = ContainerPlan(
        "proxy",
        Hook(Setting("preStop", between(0), HERE)),
        Process((Phase(Trigger.SIGNAL, ending),)),
        Role.PROXY,
    )
    (change,) = solve(plan(app(pre_stop=5), grace=10, proxy=patient), TEN).changes
    assert (change.value, change.reason.kind) == (seconds(value), kind)


@pytest.mark.parametrize(("written", "value"), [(True, 45), (False, 20)])
def test_a_limit_counts_where_somebody_wrote_it(written: bool, value: float) -> None:
    origin = HERE if written else Origin(OriginKind.DEFAULT, "its default")
    limited = ContainerPlan(
        "app",
        Hook(Setting("preStop", between(10), HERE)),
        Process(
            (Phase(Trigger.SIGNAL, WhenFinished(Setting("limit", seconds(30), origin)), CLOSED),)
        ),
        serves=True,
    )
    (change,) = solve(plan(limited, grace=12), Targets(seconds(5), ZERO)).changes
    assert change.value == seconds(value)


def test_what_an_app_drains_before_a_signal_is_not_counted_twice() -> None:
    """Test that a phase that starts at the deletion is over when the hook is."""
    early = ContainerPlan(
        "app",
        Hook(Setting("preStop", between(0), HERE)),
        Process(
            (
                Phase(Trigger.DELETION, After(Setting("early", seconds(9), HERE))),
                Phase(Trigger.SIGNAL, After(Setting("drain", seconds(3), HERE))),
            )
        ),
        serves=True,
    )
    assert not early.process.ignores_signal
    assert solve(plan(early, grace=60), Targets(seconds(1), seconds(3))).changes == ()
    (change,) = solve(plan(early, grace=3), Targets(ZERO, seconds(3))).changes
    assert change.value == seconds(8)


def sender(name: str, window: float, *containers: str) -> Sender:
    return Sender(
        Setting("sender", name, HERE),
        Setting("window", seconds(window), HERE),
        frozenset(containers),
    )


def test_each_container_waits_for_those_that_send_to_it() -> None:
    of = plan(app("web"), app("admin"), grace=60)
    senders = (sender("balancer", 20, "web"), sender("Service", 5, "admin"))
    found = solve(replace(of, senders=senders), Targets(seconds(1), seconds(20)))
    assert {c.container: c.value for c in found.changes} == {
        "web": seconds(20),
        "admin": seconds(5),
    }
    to_all = (sender("balancer", 20, "web"), sender("Service", 5))
    found = solve(replace(of, senders=to_all), Targets(seconds(1), seconds(20)))
    assert {c.container: c.value for c in found.changes} == {
        "web": seconds(20),
        "admin": seconds(5),
    }


def test_a_process_that_only_begins_to_stop_at_the_deletion_hears_no_signal() -> None:
    phase = Phase(Trigger.DELETION, WhenFinished(None))
    assert not Process((phase,)).ignores_signal
    assert Process((Phase(Trigger.NEXT, WhenFinished(None)),)).ignores_signal
    assert Process().ignores_signal


def test_corners_include_the_moment_before_each_whole_second() -> None:
    corners = DurationRange(seconds(1.5), seconds(4.5)).corner_values(seconds(60))
    assert [c.total_seconds() for c in corners] == [1.5, 2, 2.999999, 4, 3.999999, 4.499999, 4.5]


def test_one_plan_without_a_choice_of_traffic_is_no_doubt_about_traffic() -> None:
    """Idle connections that are released at one known time leave nothing open."""
    of = plan(app(pre_stop=40), grace=60, proxy=idle_proxy(between(10, 20), 3, delay=1))
    late = Request(seconds(16), seconds(0.5))
    (found,) = ShutdownAnalysis(of).predict((late,), Traffic(open_connections=0, idle=1))
    assert (found.prediction.outcome, found.doubt) == (Outcome.UNKNOWN, Doubt.TRAFFIC)
    bounded = plan(app(pre_stop=between(0, 20)), grace=30)
    (found,) = ShutdownAnalysis(bounded).predict((Request(seconds(5), seconds(1)),))
    assert found.doubt is Doubt.DURATION


def test_a_call_of_the_app_needs_every_proxy_on_its_way() -> None:
    """Also one that ends while the app still runs."""
    of: PodPlan = plan(app(pre_stop=20), grace=60, proxy=proxy(termination=5))
    call = Request(seconds(8), seconds(1), Direction.OUTBOUND)
    (prediction,) = Timeline(of, (call,)).predictions
    assert prediction.outcome is not Outcome.OK
    early = Request(seconds(1), seconds(1), Direction.OUTBOUND)
    (prediction,) = Timeline(of, (early,)).predictions
    assert prediction.outcome is Outcome.OK


def test_checks_count_only_while_nothing_is_open() -> None:
    of = plan(app(pre_stop=40), grace=60, proxy=idle_proxy(delay=1))
    others = OpenConnections(others=True)
    idle = Timeline(of, connections=others).container("proxy")
    busy = Timeline(of, (Request(ZERO, seconds(10)),), connections=others).container("proxy")
    assert idle.checks_without_request(seconds(8)) >= 1
    assert busy.checks_without_request(seconds(8)) == 0


def test_a_proxy_that_can_wait_for_its_requests_does_so() -> None:
    """Only where the fixed time is a default, and too short."""
    of = plan(app(pre_stop=8), grace=60, proxy=proxy(termination=5, written=False))
    assert [(c.field, c.value_text) for c in solve(of, TEN).changes] == [
        ("exitOnZero", "true"),
        ("minimumDrain", "8s"),
    ]
    short = Targets(seconds(2), ZERO)
    enough = plan(app(pre_stop=2), grace=60, proxy=proxy(termination=5, written=False))
    assert solve(enough, short).changes == ()
    for mode in (ProxyMode.NATIVE, ProxyMode.GATEWAY):
        other = plan(app(pre_stop=8), grace=60, proxy=proxy(mode, written=False))
        assert "exitOnZero" not in {c.field for c in solve(other, TEN).changes}
    chosen = plan(app(pre_stop=8), grace=60, proxy=proxy(termination=5))
    assert [c.field for c in solve(chosen, TEN).changes] == ["terminationDrain"]


def test_a_hook_that_is_added_leaves_time_for_a_default_limit() -> None:
    origin = Origin(OriginKind.DEFAULT, "its default")
    setting = Setting("limit", seconds(30), origin)
    limited = replace(
        app(), process=Process((Phase(Trigger.SIGNAL, WhenFinished(setting), CLOSED),))
    )
    assert changes(solve(plan(limited, grace=30), TEN)) == {
        "preStop": (5, ReasonKind.REQUESTS_STILL_ARRIVE),
        "grace": (40, ReasonKind.PROGRAM_MAY_TAKE),
    }
    assert changes(solve(plan(limited, grace=30), Targets(seconds(10), ZERO))) == {}
