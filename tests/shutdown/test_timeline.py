"""The timeline against what the real Envoy and kubelet were seen to do (facts, sections a to i)."""

from __future__ import annotations

import gc
from datetime import timedelta

import pytest

from shutdownlint.platforms.istio.process import ProxyMode
from shutdownlint.shutdown.analysis import Doubt, ShutdownAnalysis, Traffic
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.loss import LossKind
from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan
from shutdownlint.shutdown.request import EventKind, Request
from shutdownlint.shutdown.timeline import Timeline
from tests.shutdown.builders import app, between, plan, proxy

NATIVE = ProxyMode.NATIVE


def request(length: float, arrival: float = 0) -> Request:
    return Request(seconds(arrival), seconds(length))


def ask(of: PodPlan, length: float, arrival: float = 0) -> tuple[str, float]:
    (answer,) = ShutdownAnalysis(of).predict([request(length, arrival)])
    return answer.prediction.outcome.value, answer.prediction.at.total_seconds()


def idle(of: PodPlan, length: float, arrival: float) -> str:
    """With nothing else on the pod."""
    return Timeline(of, [request(length, arrival)]).predictions[0].outcome.value


def test_a_timeline_leaves_nothing_to_the_garbage_collector() -> None:
    """Runs pause the collector, so an object that refers to itself would stay to the end."""
    of = plan(app(), proxy=proxy())
    gc.collect()
    Timeline(of, [request(3), request(2, 1)])
    assert gc.collect() == 0


def signal_and_kill(of: PodPlan, name: str = "app") -> tuple[timedelta, timedelta]:
    container = Timeline(of).container(name)
    assert container.signal is not None
    assert container.kill is not None
    return container.signal.at, container.kill.at


def exit_of(of: PodPlan, name: str = "istio-proxy") -> timedelta:
    return Timeline(of).container(name).exit.at


@pytest.mark.parametrize(
    ("settings", "grace", "outcome", "at"),
    [
        (proxy(), 30, "cut", 5),  # a
        (proxy(termination=12), 30, "ok", 10),  # a2
        (proxy(exit_on_zero=True), 30, "ok", 10),  # b
        (proxy(exit_on_zero=True), 7, "cut", 7),  # c
        (proxy(termination=12), 7, "cut", 7),  # c2
        (proxy(NATIVE), 30, "ok", 10),
    ],
)
def test_a_long_request_in_flight(
    settings: ContainerPlan, grace: float, outcome: str, at: float
) -> None:
    of = plan(grace=grace, proxy=settings)
    assert ask(of, 10) == (outcome, at)


def test_d_app_sleep_alone() -> None:
    of = plan(app(pre_stop=15), proxy=proxy())
    assert ask(of, 3) == ("ok", 3)
    assert ask(of, 8) == ("cut", 5)
    assert ask(of, 0.2, 4.5) == ("ok", 4.7)
    assert ask(of, 0.2, 5) == ("refused", 5)
    assert ShutdownAnalysis(of).headroom.max_late == seconds(0)


def test_d_sleep_on_both() -> None:
    of = plan(app(pre_stop=15), grace=60, proxy=proxy(pre_stop=15))
    assert ask(of, 18) == ("ok", 18)
    assert ask(of, 22) == ("cut", 20)
    assert ask(of, 0.2, 14.9)[0] == "ok"


def test_d_exit_on_zero_depends_on_traffic() -> None:
    of = plan(app(pre_stop=15), proxy=proxy(exit_on_zero=True))
    # a request in flight keeps the proxy, whatever else is open
    assert ask(of, 12) == ("ok", 12)
    # a late one depends on what else is open when the agent checks
    (answer,) = ShutdownAnalysis(of).predict([request(0.2, 8)])
    assert (answer.prediction.outcome, answer.doubt) == ("unknown", Doubt.TRAFFIC)
    assert idle(of, 0.2, 8) == "refused"
    assert exit_of(of) == seconds(6)


def test_traffic_gives_a_probability() -> None:
    of = plan(app(pre_stop=15), proxy=proxy(exit_on_zero=True))
    late = [request(0.2, 8)]
    (some,) = ShutdownAnalysis(of).predict(late, Traffic(open_connections=1))
    # Checks at 6, 7 and 8 s, each survived with 1 - e^-1; one at the moment of arrival too.
    assert some.prediction.probability == pytest.approx((1 - 2.718281828**-1) ** 2, rel=1e-6)
    (none,) = ShutdownAnalysis(of).predict(late, Traffic(open_connections=0))
    assert (none.prediction.outcome, none.doubt) == ("refused", None)
    # Without traffic that is known there are no odds.
    (unknown,) = ShutdownAnalysis(of).predict(late)
    assert unknown.prediction.probability is None


def test_e_drain_duration_closes_the_listener_only() -> None:
    of = plan(app(pre_stop=16), proxy=proxy(termination=16, drain=5))
    assert ask(of, 12.8) == ("ok", 12.8)
    assert ask(of, 0.2, 4.9)[0] == "ok"
    assert ask(of, 0.2, 5) == ("refused", 5)
    # the drain begins at the proxy's own stop signal
    later = plan(app(pre_stop=16), proxy=proxy(pre_stop=4, termination=16, drain=5))
    assert ask(later, 0.2, 8.9)[0] == "ok"
    assert ask(later, 0.2, 9)[0] == "refused"


def test_g_each_setting_on_its_own_path_only() -> None:
    assert exit_of(plan(proxy=proxy(exit_on_zero=True, termination=25))) == seconds(6)
    assert exit_of(plan(proxy=proxy(minimum=25))) == seconds(5)


def test_h_native() -> None:
    of = plan(app(pre_stop=15), proxy=proxy(NATIVE, drain=2))
    assert ask(of, 20) == ("ok", 20)
    assert ask(of, 0.2, 14.9)[0] == "ok"
    # native does not replace a missing sleep: the sidecar answers for a closed listener
    predictions = Timeline(plan(proxy=proxy(NATIVE)), [request(8), request(0.2, 1)]).predictions
    assert [prediction.outcome.value for prediction in predictions] == ["ok", "503"]


def test_h_native_without_its_hook_ends_after_the_app() -> None:
    assert exit_of(plan(app(pre_stop=3), proxy=proxy(NATIVE, hook=False))) == seconds(8)
    of = plan(app(pre_stop=3), proxy=proxy(NATIVE, hook=False, exit_on_zero=True))
    assert exit_of(of) == seconds(9)


def test_h_app_ignores_its_signal() -> None:
    of = plan(app(behaviour="ignoring"), grace=12, proxy=proxy(NATIVE))
    assert ask(of, 20) == ("cut", 12)
    assert ask(of, 1, 11) == ("ok", 12)
    assert ask(of, 1, 12)[0] == "refused"


def test_h_hook_longer_than_the_grace_period() -> None:
    of = plan(app(pre_stop=30), grace=10, proxy=proxy(NATIVE))
    timeline = Timeline(of)
    assert timeline.container("istio-proxy").exit.at == seconds(10)
    assert signal_and_kill(of) == (seconds(10), seconds(12))
    assert ask(of, 20) == ("cut", 10)
    kinds = [event.kind for event in timeline.events if event.container == "app"]
    assert EventKind.HOOK_ABANDONED in kinds


@pytest.mark.parametrize(
    ("behaviour", "pre_stop", "length", "arrival", "expected"),
    [
        ("graceful", 0, 10, 0, ("ok", 10)),
        ("graceful", 0, 1, 1, ("503", 1)),
        ("graceful", 6, 1, 5, ("ok", 6)),
        ("abrupt", 0, 5, 0, ("cut", 0)),
        ("abrupt", 6, 5, 0, ("ok", 5)),
        ("abrupt", 6, 8, 0, ("cut", 6)),
        ("ignoring", 0, 20, 0, ("cut", 12)),
    ],
)
def test_i_app_behaviours(
    behaviour: str, pre_stop: float, length: float, arrival: float, expected: tuple[str, float]
) -> None:
    of = plan(app(pre_stop=pre_stop, behaviour=behaviour), grace=12, proxy=proxy(termination=30))
    assert ask(of, length, arrival) == expected


def test_i_an_app_that_drains_serves_late_requests() -> None:
    of = plan(app(drain=6), grace=12, proxy=proxy(termination=30))
    assert ask(of, 1, 5)[0] == "ok"
    assert ask(of, 1, 6)[0] == "503"


def test_without_a_proxy_late_requests_are_refused() -> None:
    of = plan(app(pre_stop=5))
    assert ask(of, 1, 4.9)[0] == "ok"
    assert ask(of, 1, 5)[0] == "refused"
    assert ask(of, 40) == ("cut", 30)


def test_hooks_of_one_pod_overlap() -> None:
    three = [app(name, pre_stop=30) for name in ("a", "b", "c")]
    of = plan(*three, grace=50)
    assert {signal_and_kill(of, name) for name in "abc"} == {(seconds(30), seconds(50))}


def test_whole_seconds_of_a_hook_are_counted() -> None:
    of = plan(app(pre_stop=1.5), grace=10)
    assert signal_and_kill(of)[1] == seconds(10.5)


def test_a_grace_period_of_zero_is_one_second() -> None:
    assert signal_and_kill(plan(app(pre_stop=5), grace=0)) == (seconds(1), seconds(3))


def test_headroom_is_what_the_sequential_path_leaves() -> None:
    headroom = ShutdownAnalysis(plan(app(pre_stop=10, drain=4), grace=40)).headroom
    assert headroom.max_in_flight == seconds(40)
    # The last request arrives just before 14 s.
    assert headroom.max_late is not None
    assert abs(headroom.max_late - seconds(26)) <= timedelta(microseconds=1)


def test_unknown_stays_unknown() -> None:
    of = plan(app(pre_stop=between(5, None)))
    assert ask(of, 10)[0] == "ok"
    assert ask(of, 1, 3)[0] == "ok"
    (answer,) = ShutdownAnalysis(of).predict([request(1, 8)])
    assert (answer.prediction.outcome, answer.doubt) == ("unknown", Doubt.DURATION)
    assert ask(of, 40)[0] == "cut"
    unread = plan(grace=between(0, None))
    assert ShutdownAnalysis(unread).headroom.max_in_flight is None


def test_a_timeline_needs_numbers() -> None:
    with pytest.raises(ValueError, match="known"):
        Timeline(plan(app(pre_stop=between(1, 2))))


def test_losses_name_their_window_and_cause() -> None:
    losses = ShutdownAnalysis(plan(app(pre_stop=15), proxy=proxy())).losses
    assert [(loss.kind, loss.begin, loss.end, loss.certain) for loss in losses] == [
        (LossKind.OWN_CALLS, seconds(5), seconds(30), True),
        (LossKind.LONG, seconds(5), seconds(30), True),
    ]
    assert not ShutdownAnalysis(plan(app(pre_stop=15), proxy=proxy(NATIVE))).losses
