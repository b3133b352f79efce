"""The timeline against what the real Envoy and kubelet were seen to do (facts, sections a to i)."""

from __future__ import annotations

import pytest

from shutdownlint.shutdown import (
    Answer,
    Behaviour,
    Plan,
    ProxyMode,
    Request,
    Shutdown,
    Timeline,
    seconds,
)
from tests.shutdown.builders import app, plan, proxy, span

NATIVE = ProxyMode.NATIVE


def ask(of: Plan, lasts: float, arrives: float = 0) -> tuple[str, float]:
    (answer,) = Shutdown(of).ask([Request(seconds(arrives), seconds(lasts))])
    return answer.outcome.value, answer.at.total_seconds()


def quiet(of: Plan, lasts: float, arrives: float) -> str:
    """With nothing else on the pod."""
    answer: Answer = Timeline(of, [Request(seconds(arrives), seconds(lasts))]).answers[0]
    return answer.outcome.value


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
def test_a_long_request_in_flight(settings: object, grace: float, outcome: str, at: float) -> None:
    of = plan(grace=grace, proxy=settings)  # type: ignore[arg-type]
    assert ask(of, 10) == (outcome, at)


def test_d_app_sleep_alone() -> None:
    of = plan(app(pre_stop=15), proxy=proxy())
    assert ask(of, 3) == ("ok", 3)
    assert ask(of, 8) == ("cut", 5)
    assert ask(of, 0.2, 4.5) == ("ok", 4.7)
    assert ask(of, 0.2, 5) == ("refused", 5)
    assert Shutdown(of).headroom.late == seconds(0)


def test_d_sleep_on_both() -> None:
    of = plan(app(pre_stop=15), grace=60, proxy=proxy(pre_stop=15))
    assert ask(of, 18) == ("ok", 18)
    assert ask(of, 22) == ("cut", 20)
    assert ask(of, 0.2, 14.9)[0] == "ok"


def test_d_exit_on_zero_is_a_sampling() -> None:
    of = plan(app(pre_stop=15), proxy=proxy(exit_on_zero=True))
    # a request in flight keeps the proxy, whatever else is open
    assert ask(of, 12) == ("ok", 12)
    # a late one depends on what else is open when the agent looks
    assert ask(of, 0.2, 8)[0] == "unknown"
    assert quiet(of, 0.2, 8) == "refused"
    assert Timeline(of).proxy_ends is not None
    assert Timeline(of).proxy_ends.at == seconds(6)  # type: ignore[union-attr]


def test_e_drain_duration_closes_the_listener_only() -> None:
    of = plan(app(pre_stop=16), proxy=proxy(termination=16, drain=5))
    assert ask(of, 12.8) == ("ok", 12.8)
    assert ask(of, 0.2, 4.9)[0] == "ok"
    assert ask(of, 0.2, 5) == ("refused", 5)
    # the clock starts at the proxy's own stop signal
    later = plan(app(pre_stop=16), proxy=proxy(pre_stop=4, termination=16, drain=5))
    assert ask(later, 0.2, 8.9)[0] == "ok"
    assert ask(later, 0.2, 9)[0] == "refused"


def test_g_each_setting_on_its_own_path_only() -> None:
    eoz = Timeline(plan(proxy=proxy(exit_on_zero=True, termination=25)))
    off = Timeline(plan(proxy=proxy(minimum=25)))
    assert eoz.proxy_ends is not None
    assert off.proxy_ends is not None
    assert (eoz.proxy_ends.at, off.proxy_ends.at) == (seconds(6), seconds(5))


def test_h_native() -> None:
    of = plan(app(pre_stop=15), proxy=proxy(NATIVE, drain=2))
    assert ask(of, 20) == ("ok", 20)
    assert ask(of, 0.2, 14.9)[0] == "ok"
    # native does not cure a missing sleep: the sidecar answers for a closed listener
    requests = [Request(seconds(0), seconds(8)), Request(seconds(1), seconds(0.2))]
    answers = Timeline(plan(proxy=proxy(NATIVE)), requests).answers
    assert [answer.outcome.value for answer in answers] == ["ok", "503"]


def test_h_native_without_its_hook_ends_after_the_app() -> None:
    of = plan(app(pre_stop=3), proxy=proxy(NATIVE, hook=False))
    ends = Timeline(of).proxy_ends
    assert ends is not None
    assert ends.at == seconds(8)
    eoz = Timeline(plan(app(pre_stop=3), proxy=proxy(NATIVE, hook=False, exit_on_zero=True)))
    assert eoz.proxy_ends is not None
    assert eoz.proxy_ends.at == seconds(9)


def test_h_app_ignores_its_signal() -> None:
    of = plan(app(behaviour=Behaviour.IGNORING), grace=12, proxy=proxy(NATIVE))
    assert ask(of, 20) == ("cut", 12)
    assert ask(of, 1, 11) == ("ok", 12)
    assert ask(of, 1, 12)[0] == "refused"


def test_h_hook_longer_than_the_grace_period() -> None:
    of = plan(app(pre_stop=30), grace=10, proxy=proxy(NATIVE))
    timeline = Timeline(of)
    assert timeline.proxy_ends is not None
    assert timeline.app is not None
    assert timeline.proxy_ends.at == seconds(10)
    assert (timeline.app.signal.at, timeline.app.dies.at) == (seconds(10), seconds(12))
    assert ask(of, 20) == ("cut", 10)


@pytest.mark.parametrize(
    ("behaviour", "pre_stop", "lasts", "arrives", "expected"),
    [
        (Behaviour.GRACEFUL, 0, 10, 0, ("ok", 10)),
        (Behaviour.GRACEFUL, 0, 1, 1, ("503", 1)),
        (Behaviour.GRACEFUL, 6, 1, 5, ("ok", 6)),
        (Behaviour.ABRUPT, 0, 5, 0, ("cut", 0)),
        (Behaviour.ABRUPT, 6, 5, 0, ("ok", 5)),
        (Behaviour.ABRUPT, 6, 8, 0, ("cut", 6)),
        (Behaviour.IGNORING, 0, 20, 0, ("cut", 12)),
    ],
)
def test_i_app_behaviours(
    behaviour: Behaviour, pre_stop: float, lasts: float, arrives: float, expected: tuple[str, float]
) -> None:
    of = plan(app(pre_stop=pre_stop, behaviour=behaviour), grace=12, proxy=proxy(termination=30))
    assert ask(of, lasts, arrives) == expected


def test_i_an_app_that_lingers_serves_late_requests() -> None:
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
    timeline = Timeline(plan(*three, grace=50))
    assert {life.signal.at for life in timeline.lives} == {seconds(30)}
    assert {life.dies.at for life in timeline.lives} == {seconds(50)}


def test_whole_seconds_of_a_hook_are_counted() -> None:
    timeline = Timeline(plan(app(pre_stop=1.5), grace=10))
    assert timeline.lives[0].dies.at == seconds(10.5)


def test_a_grace_period_of_zero_is_one_second() -> None:
    timeline = Timeline(plan(app(pre_stop=5), grace=0))
    assert (timeline.lives[0].signal.at, timeline.lives[0].dies.at) == (seconds(1), seconds(3))


def test_headroom_is_what_the_sequential_path_leaves() -> None:
    headroom = Shutdown(plan(app(pre_stop=10, drain=4), grace=40)).headroom
    assert (headroom.in_flight, headroom.late) == (seconds(40), seconds(26))


def test_unknown_stays_unknown() -> None:
    of = plan(app(pre_stop=span(5, None)))
    assert ask(of, 10)[0] == "ok"
    assert ask(of, 1, 3)[0] == "ok"
    assert ask(of, 1, 8)[0] == "unknown"
    assert ask(of, 40)[0] == "cut"
    unread = plan(grace=span(0, None))
    assert Shutdown(unread).headroom.in_flight is None


def test_a_timeline_needs_numbers() -> None:
    with pytest.raises(ValueError, match="known"):
        Timeline(plan(app(pre_stop=span(1, 2))))


def test_losses_name_their_window_and_cause() -> None:
    losses = Shutdown(plan(app(pre_stop=15), proxy=proxy())).losses
    assert [(loss.kind, loss.begins, loss.ends) for loss in losses] == [
        ("requests in flight are cut", seconds(5), seconds(30)),
        ("new requests are refused", seconds(5), seconds(15)),
        ("the app's own outbound calls fail", seconds(5), seconds(30)),
    ]
    assert not Shutdown(plan(app(pre_stop=15), proxy=proxy(NATIVE))).losses
