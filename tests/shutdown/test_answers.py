"""Answers of the analysis in detail: doubt, odds, idle connections, losses, first checks."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shutdownlint.shutdown.analysis import Doubt, ShutdownAnalysis, Traffic
from shutdownlint.shutdown.durations import ZERO, DurationRange, seconds
from shutdownlint.shutdown.loss import LossKind, LossWeight
from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan, Role, Sender
from shutdownlint.shutdown.process import (
    CLOSED,
    OPEN,
    Acceptance,
    After,
    Direction,
    Hook,
    Phase,
    Process,
    Trigger,
    WhenFinished,
    WhenIdle,
)
from shutdownlint.shutdown.provenance import Setting
from shutdownlint.shutdown.request import EventKind, Outcome, Request
from shutdownlint.shutdown.solver import Targets, solve
from shutdownlint.shutdown.timeline import Timeline, _ticks
from tests.shutdown.builders import HERE, app, between, plan, proxy

TEN = Request(ZERO, seconds(10))


def idle_proxy(
    released: DurationRange | None = None, pre_stop: float = 0, delay: float = 5
) -> ContainerPlan:
    """Return a proxy that leaves when it finds no connection; it lets idle ones go at some time."""
    setting = Setting("delay", seconds(delay), HERE)
    ending = WhenIdle(seconds(1), setting, idle_released=released)
    return ContainerPlan(
        "proxy",
        Hook(Setting("preStop", between(pre_stop), HERE)),
        Process((Phase(Trigger.SIGNAL, ending),)),
        Role.PROXY,
    )


def answer(
    of: PodPlan, request: Request, traffic: Traffic | None = None
) -> tuple[Outcome, Doubt | None]:
    (found,) = ShutdownAnalysis(of).predict((request,), traffic or Traffic())
    return found.prediction.outcome, found.doubt


def test_other_connections_are_a_doubt_of_their_own() -> None:
    of = plan(app(pre_stop=2), grace=60, proxy=idle_proxy())
    late = Request(seconds(12), seconds(1))
    exits_early = plan(app(pre_stop=20), grace=60, proxy=idle_proxy())
    assert answer(exits_early, late)[1] is Doubt.TRAFFIC
    assert answer(exits_early, late, Traffic(open_connections=0))[1] is None
    assert answer(of, TEN, Traffic(open_connections=0)) == (Outcome.OK, None)


def test_a_bounded_duration_is_a_doubt_of_another_kind() -> None:
    of = plan(app(pre_stop=between(0, 20)), grace=30)
    outcome, doubt = answer(of, Request(seconds(5), seconds(1)))
    assert (outcome, doubt) == (Outcome.UNKNOWN, Doubt.DURATION)
    assert answer(of, Request(seconds(25), seconds(1)))[0] is Outcome.REFUSED


def test_odds_are_given_only_where_connections_decide() -> None:
    of = plan(app(pre_stop=20), grace=60, proxy=idle_proxy())
    late = Request(seconds(12), seconds(1))
    (found,) = ShutdownAnalysis(of).predict((late,), Traffic(open_connections=3))
    assert found.prediction.probability is not None
    (found,) = ShutdownAnalysis(plan(app(pre_stop=20), grace=60)).predict(
        (late,), Traffic(open_connections=3)
    )
    assert found.prediction.probability is None


@pytest.mark.parametrize(
    ("released", "pre_stop", "arrival", "outcome"),
    [
        # Idle connections hold the proxy until 3 s (its hook) + 10 s; it looks each second.
        (between(10), 3, 12, Outcome.OK),
        (between(10), 3, 16, Outcome.REFUSED),
        (between(10, 20), 3, 16, Outcome.UNKNOWN),
        (between(10, 20), 3, 12, Outcome.OK),
        (None, 3, 25, Outcome.OK),
    ],
)
def test_idle_connections_hold_a_proxy_until_they_are_released(
    released: DurationRange | None, pre_stop: float, arrival: float, outcome: Outcome
) -> None:
    of = plan(app(pre_stop=40), grace=60, proxy=idle_proxy(released, pre_stop, delay=1))
    request = Request(seconds(arrival), seconds(0.5))
    assert answer(of, request, Traffic(open_connections=0, idle=True))[0] is outcome


def test_the_shown_timeline_takes_the_low_end_of_what_is_only_bounded() -> None:
    analysis = ShutdownAnalysis(plan(app(pre_stop=between(2, 9)), grace=30))
    (signal,) = [e for e in analysis.timeline(()).events if e.kind is EventKind.SIGNAL]
    assert signal.at == seconds(2)


def test_a_loss_that_some_target_does_not_have_is_uncertain() -> None:
    """Test requests that may be for one of two containers that stop at different times."""
    short, slow = app("short", serves=True), app("slow", pre_stop=between(0, 20), serves=True)
    of = plan(short, slow, grace=40, proxy=proxy(termination=5))
    found = {loss.kind: loss for loss in ShutdownAnalysis(of).losses}
    assert found[LossKind.LONG].certain
    # Only where the hook is longer than the proxy lives, the app still makes calls.
    assert not found[LossKind.OWN_CALLS].certain
    assert found[LossKind.OWN_CALLS].weight is LossWeight.POSSIBLE


def test_an_edge_that_is_killed_at_the_end_loses_nothing_before() -> None:
    patient = ContainerPlan(
        "edge",
        Hook(Setting("preStop", between(0), HERE)),
        Process((Phase(Trigger.SIGNAL, WhenFinished()),)),
        Role.EDGE,
    )
    setting = Setting("terminationGracePeriodSeconds", between(30), HERE)
    analysis = ShutdownAnalysis(PodPlan(setting, (patient,)))
    assert not analysis.losses
    hasty = replace(
        patient, process=Process((Phase(Trigger.SIGNAL, After(Setting("d", seconds(5), HERE))),))
    )
    (loss,) = ShutdownAnalysis(PodPlan(setting, (hasty,))).losses
    assert (loss.kind, loss.begin, loss.longer_than) == (LossKind.LONG, seconds(5), seconds(5))


def test_without_a_container_that_serves_the_first_one_is_meant() -> None:
    of = plan(app("one", serves=False), app("two", serves=False), app("three", serves=False))
    assert of.targets == ("one",)
    assert replace(of, containers=(of.containers[0], app("two"), app("three"))).targets == (
        "two",
        "three",
    )


def test_a_request_to_a_pod_with_an_edge_and_an_app_passes_the_edge_alone() -> None:
    edge = proxy()
    edge = replace(edge, role=Role.EDGE, native_sidecar=False)
    setting = Setting("terminationGracePeriodSeconds", between(30), HERE)
    of = PodPlan(setting, (app(behaviour="abrupt"), edge))
    (prediction,) = Timeline(of, [Request(ZERO, seconds(3))]).predictions
    assert prediction.outcome is Outcome.OK


def test_calls_of_the_app_pass_what_is_behind_it() -> None:
    """Test that the app makes calls as long as it lives; a proxy that is gone carries none."""
    of = plan(app(pre_stop=20), grace=30, proxy=proxy(termination=5))

    def outcome(at: float) -> Outcome:
        request = Request(seconds(at), seconds(0.5), direction=Direction.OUTBOUND)
        return Timeline(of, [request]).predictions[0].outcome

    assert outcome(2) is Outcome.OK
    assert outcome(10) is not Outcome.OK
    assert (
        Timeline(
            plan(app(), grace=30), [Request(seconds(1), seconds(1), direction=Direction.OUTBOUND)]
        )
        .predictions[0]
        .outcome
        is not Outcome.OK
    ), "an app that has exited makes no calls"


def test_what_ends_at_once_ends_for_the_reason_that_began_it() -> None:
    def cause(duration: float) -> str:
        ending = After(Setting("wait", seconds(duration), HERE))
        container = replace(app(pre_stop=3), process=Process((Phase(Trigger.SIGNAL, ending),)))
        return str(Timeline(plan(container, grace=30)).container("app").exit.cause)

    assert cause(0).startswith("preStop 3s")
    assert cause(4).startswith("wait 4s")


def test_a_listener_closes_once() -> None:
    """Test that a phase that closes its listener later does not move an earlier time."""
    closes = Setting("closes", seconds(8), HERE)
    phases = (
        Phase(Trigger.SIGNAL, After(Setting("a", seconds(4), HERE)), CLOSED),
        Phase(Trigger.NEXT, After(Setting("b", seconds(9), HERE)), Acceptance(closes_after=closes)),
    )
    of = plan(replace(app(), process=Process(phases)), grace=30)
    timeline = Timeline(of)
    assert timeline.container("app").accepts_until().at == ZERO
    stops = [e.at for e in timeline.events if e.kind is EventKind.STOPS_ACCEPTING]
    assert stops == [ZERO]
    later = Process(
        (
            Phase(
                Trigger.SIGNAL,
                After(Setting("a", seconds(20), HERE)),
                Acceptance(closes_after=closes),
            ),
        )
    )
    of = plan(replace(app(pre_stop=3), process=later), grace=60)
    container = Timeline(of).container("app")
    assert container.accepts_until().at == seconds(11)
    assert container.listener_closes == seconds(11)
    short = Process(
        (
            Phase(
                Trigger.SIGNAL,
                After(Setting("a", seconds(2), HERE)),
                Acceptance(closes_after=closes),
            ),
            Phase(Trigger.NEXT, After(Setting("b", seconds(20), HERE)), OPEN),
        )
    )
    container = Timeline(plan(replace(app(), process=short), grace=60)).container("app")
    assert container.accepts_until().at == container.exit.at == seconds(22)


@pytest.mark.parametrize(
    ("begin", "end", "count"),
    [(0, 5, 0), (0, 5.5, 1), (0, 7, 2), (5, 7, 2), (5.5, 7, 1), (6, 9.5, 4), (9, 9, 0), (9, 3, 0)],
)
def test_how_many_checks_fall_into_a_window(begin: float, end: float, count: int) -> None:
    assert _ticks(seconds(5), seconds(1), seconds(begin), seconds(end)) == count


def test_a_sender_to_one_container_does_not_lengthen_the_sleep_of_another() -> None:
    first, second = app("one"), app("two")
    windows = (("one", 20.0), ("two", 5.0))
    senders = tuple(
        Sender(
            Setting("balancer", name, HERE),
            Setting("window", seconds(window), HERE),
            containers=frozenset((name,)),
        )
        for name, window in windows
    )
    of = replace(plan(first, second, grace=30), senders=senders)
    solution = solve(of, Targets.of(of))
    assert solution.value_of("preStop", "one") == seconds(20)
    assert solution.value_of("preStop", "two") == seconds(5)


def test_recommended_values_are_whole_seconds_that_just_do() -> None:
    of = plan(app(), grace=5)
    solution = solve(of, Targets(seconds(9.5), ZERO))
    (change,) = solution.changes
    assert change.value == seconds(15), "9.5 s and the margin of 5 s, rounded up"


def test_a_phase_that_begins_at_the_deletion_is_part_of_the_hook() -> None:
    """Test that the phase does not come after the hook, so the grace period need not hold both."""
    drain = Setting("drain", seconds(20), HERE)
    both = Process(
        (
            Phase(Trigger.DELETION, After(drain)),
            Phase(Trigger.SIGNAL, WhenFinished()),
        )
    )
    of = plan(replace(app(pre_stop=20), process=both), grace=25)
    solution = solve(of, Targets(seconds(2), seconds(5)))
    assert solution.value_of("grace") is None
