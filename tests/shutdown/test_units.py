"""The small parts of the model: durations, ranges, the kubelet's countdown, causes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.shutdown.durations import (
    UNBOUNDED,
    ZERO,
    DurationRange,
    ceil_seconds,
    format_duration,
    seconds,
    whole_seconds,
)
from shutdownlint.shutdown.kubelet import grace_of, time_to_kill
from shutdownlint.shutdown.provenance import CauseKind
from shutdownlint.shutdown.request import Request
from shutdownlint.shutdown.solver import Targets, solve
from shutdownlint.shutdown.timeline import Timeline
from tests.shutdown.builders import app, between, plan, proxy


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0s"),
        (1.5, "1.5s"),
        (59, "59s"),
        (119, "119s"),
        (120, "2m"),
        (125, "125s"),
        (600, "10m"),
        (3600, "1h"),
        (3660, "1h1m"),
        (3661, "3661s"),
        (5400, "1h30m"),
        (7200, "2h"),
        (86400, "24h"),
        (-30, "-30s"),
    ],
)
def test_durations_read_as_people_write_them(number: float, text: str) -> None:
    assert format_duration(seconds(number)) == text


def test_ranges_add_and_run_in_parallel() -> None:
    assert between(1, 4) + between(2, 3) == between(3, 7)
    assert between(1, None) + between(2, 3) == between(3, None)
    assert between(1, 4) + between(2, None) == between(3, None)
    assert between(1, 4).parallel(between(2, 3)) == between(2, 4)
    assert between(1, 4).parallel(between(2, None)) == between(2, None)
    assert str(between(0, None)) == "an unknown time"
    assert str(between(3, None)) == "at least 3s"
    assert str(between(3, 5)) == "3s to 5s"
    assert str(DurationRange(UNBOUNDED, None)) == "forever"


def test_the_ends_of_a_range_and_the_seconds_beside_them() -> None:
    values = between(1.5, 4.5).corner_values(seconds(100))
    assert {values[0], values[-1]} == {seconds(1.5), seconds(4.5)}
    assert {seconds(2), seconds(4)} <= set(values)
    assert all(seconds(1.5) <= value <= seconds(4.5) for value in values)
    assert between(3).corner_values(seconds(100)) == (seconds(3),)
    assert max(between(3, None).corner_values(seconds(10))) == seconds(13)


def test_seconds_are_rounded() -> None:
    assert whole_seconds(seconds(2.9)) == seconds(2)
    assert ceil_seconds(seconds(2.1)) == seconds(3)
    assert ceil_seconds(seconds(2)) == seconds(2)


@pytest.mark.parametrize(
    ("grace", "hook", "waited", "counts", "left"),
    [
        (30, 0, 0, True, 30),
        (30, 5.9, 0, True, 25),
        (30, 5, 3.5, True, 22),
        (30, 29, 0, True, 2),
        (30, 45, 0, True, 2),
        (30, 20, 0, False, 30),
        (1, 0, 0, False, 1),
    ],
)
def test_the_countdown_of_the_kubelet(
    grace: float, hook: float, waited: float, counts: bool, left: float
) -> None:
    times = (seconds(grace), seconds(hook), seconds(waited))
    assert time_to_kill(*times, grace_counts_hook=counts) == seconds(left)


def test_a_grace_period_of_zero_counts_as_one_second() -> None:
    assert grace_of(None, plan(app(), grace=0)) == seconds(1)
    assert grace_of(None, plan(app(), grace=7)) == seconds(7)


def test_plans_with_several_unknown_hooks_are_tried_one_by_one_as_well() -> None:
    of = plan(app("a", between(1, 9)), app("b", between(2, 8)), grace=30)
    tried = {
        tuple(c.hook.duration.value.low.total_seconds() for c in each.containers)
        for each in of.concretize()
    }
    assert {(1, 2), (9, 8), (9, 2), (1, 8)} <= tried
    assert all(c.hook.duration.value.known for each in of.concretize() for c in each.containers)


def test_of_very_many_unknown_hooks_the_first_are_tried_alone() -> None:
    of = plan(*(app(f"c{number}", between(1, 9)) for number in range(40)), grace=30)
    (target, *_) = of.targets
    assert len(of.targets) <= limits.MAX_TARGETS_OF_A_POD
    cases = list(replace(of, target=target).concretize())
    ends = len(between(1, 9).corner_values(seconds(32)))
    assert len(cases) <= ends + limits.MAX_DURATIONS_TRIED_ALONE


def test_a_proxy_that_stops_with_the_pod_says_so() -> None:
    """Its signal at zero is the pod's deletion; the app's comes after its own hook."""
    timeline = Timeline(plan(app(pre_stop=3), proxy=proxy()))
    signals = {e.container: e.cause.kind for e in timeline.events if e.kind.value == "signal"}
    assert signals["istio-proxy"] is CauseKind.STOPPED_WITH_POD
    assert signals["app"] is not CauseKind.STOPPED_WITH_POD
    late = Timeline(plan(app(), proxy=proxy(pre_stop=4, hook=True)))
    (cause,) = [
        e.cause.kind
        for e in late.events
        if e.kind.value == "signal" and e.container == "istio-proxy"
    ]
    assert cause is not CauseKind.STOPPED_WITH_POD


def test_a_request_at_the_end_of_its_server_is_served_and_one_that_arrives_is_not() -> None:
    of = plan(app(pre_stop=5), grace=30)

    def outcome(arrival: float, length: float) -> str:
        request = Request(seconds(arrival), seconds(length))
        return Timeline(of, [request]).predictions[0].outcome.value

    assert outcome(0, 30) == "ok"
    assert outcome(0, 30.5) == "cut"
    assert outcome(4.5, 10) == "ok"
    assert outcome(5, 10) == "refused"


@pytest.mark.parametrize("drain", [0, 4])
def test_the_solver_counts_the_drain_of_the_app(drain: float) -> None:
    """Test that an app that goes on accepting needs that much less of a sleep."""
    of = plan(app(drain=drain), grace=30)
    solution = solve(of, Targets(seconds(10), seconds(6)))
    assert solution.failure is None
    slept = solution.value_of("preStop", "app")
    assert slept == (None if drain >= 6 else seconds(6 - drain))
    assert solution.value_of("preStop", "other") is None
    assert solution.value_of("nothing") is None


def test_a_long_native_sidecar_does_not_lengthen_the_app() -> None:
    of = plan(app(), app("side", pre_stop=20, native_sidecar=True, serves=False), grace=30)
    timeline = Timeline(of, [Request(ZERO, seconds(25))])
    assert timeline.predictions[0].outcome.value == "ok"
    side = timeline.container("side")
    assert side.signal is not None
    assert side.signal.at == seconds(25)
    assert side.kill is not None
    assert side.kill.at - side.signal.at == timedelta(seconds=5), (
        "30 s less 20 s of the hook and 5 s of waiting"
    )
