"""Systems as processes: what the facts say of each, as data, and the answers expected of it.

Every case is a pod written with the model's own words, without any platform's code, and what
must become of requests to it. Times are seconds after the pod's deletion.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import UNBOUNDED, ZERO, DurationRange, seconds
from shutdownlint.shutdown.loss import LossKind, LossMeans
from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan, Role, Sender
from shutdownlint.shutdown.process import (
    CLOSED,
    KEPT_ONLY,
    OPEN,
    Acceptance,
    After,
    Ending,
    Hook,
    Never,
    Phase,
    Process,
    Reaction,
    Trigger,
    WhenFinished,
    WhenGone,
    WhenIdle,
    Wrapper,
    abrupt,
    graceful,
    ignoring,
)
from shutdownlint.shutdown.process import Direction as To
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting
from shutdownlint.shutdown.request import ClientSees, Outcome, Prediction, Request
from shutdownlint.shutdown.timeline import Timeline

HERE = Origin(OriginKind.EXPLICIT, "here")


def duration(name: str, number: float) -> Setting[timedelta]:
    return Setting(name, seconds(number), HERE)


def after(number: float, name: str = "time") -> After:
    return After(duration(name, number))


def hook(number: float = 0, ending: Ending | None = None) -> Hook:
    value = DurationRange.exact(seconds(number)) if ending is None else DurationRange(ZERO, None)
    return Hook(Setting("preStop", value, HERE), ending)


def app(
    name: str = "app", sleep: float = 0, process: Process | None = None, **more: Any
) -> ContainerPlan:
    return ContainerPlan(name, hook(sleep), process or graceful(), serves=True, **more)


def pod(*containers: ContainerPlan, grace: float = 30, **more: Any) -> PodPlan:
    value = DurationRange.exact(seconds(grace))
    return PodPlan(Setting("terminationGracePeriodSeconds", value, HERE), containers, **more)


def in_front(*containers: ContainerPlan, grace: float = 30) -> PodPlan:
    """Return a pod whose last container is a proxy on both paths."""
    name = containers[-1].name
    return pod(*containers, grace=grace, front=(name,), back=(name,))


def request(
    length: float, arrival: float = 0, to: To = To.INBOUND, *, kept: bool = False
) -> Request:
    return Request(seconds(arrival), seconds(length), to, kept)


def ask(plan: PodPlan, *requests: Request) -> list[tuple[str, float]]:
    """Outcome and time of each request, asked one by one."""
    found = []
    for each in requests:
        (answer,) = Timeline(plan, (each,)).predictions
        found.append((answer.outcome.value, round(answer.at.total_seconds(), 2)))
    return found


def predict(plan: PodPlan, each: Request) -> Prediction:
    (answer,) = Timeline(plan, (each,)).predictions
    return answer


def ends(plan: PodPlan, name: str, *requests: Request, busy: tuple[str, ...] = ()) -> float:
    timeline = Timeline(plan, requests, busy=frozenset(busy))
    return timeline.container(name).exit.at.total_seconds()


LATE_CALL = request(1, 6, To.OUTBOUND)


# Istio (istio.md 1 and 9, envoy-experiments.md)


def istio(ending: Ending, drain: float = 45, sleep: float = 0) -> ContainerPlan:
    inbound = Acceptance(closes_after=duration("drainDuration", drain))
    process = Process((Phase(Trigger.SIGNAL, ending, inbound, OPEN),))
    return ContainerPlan("istio-proxy", hook(sleep), process, Role.PROXY)


def exit_on_zero(minimum: float = 5) -> WhenIdle:
    return WhenIdle(seconds(1), duration("MINIMUM_DRAIN_DURATION", minimum))


def native() -> ContainerPlan:
    phases = (
        Phase(Trigger.DELETION, Never()),
        Phase(Trigger.SIGNAL, after(0), CLOSED, CLOSED),
    )
    return ContainerPlan("istio-proxy", hook(), Process(phases), Role.PROXY, native_sidecar=True)


def test_istio_classic_ends_5_seconds_after_its_signal_whatever_the_app_sleeps() -> None:
    plan = in_front(app(sleep=15), istio(after(5)))
    assert ask(plan, request(3), request(8), request(0.2, 5.5)) == [
        ("ok", 3),
        ("cut", 5),
        ("refused", 5.5),
    ]
    assert ask(plan, LATE_CALL) == [("refused", 6)]
    assert (ends(plan, "istio-proxy"), ends(plan, "app")) == (5, 15)


def test_istio_classic_refuses_inbound_after_its_drain_while_outbound_goes_on() -> None:
    plan = in_front(app(sleep=16), istio(after(16), drain=5))
    assert ask(plan, request(1, 4.9), request(1, 5), request(13)) == [
        ("ok", 5.9),
        ("refused", 5),
        ("ok", 13),
    ]
    assert ask(plan, LATE_CALL, request(1, 6, kept=True)) == [("ok", 7), ("ok", 7)]


def test_istio_with_exit_on_zero_leaves_at_the_first_check_that_finds_nothing_open() -> None:
    plan = in_front(app(sleep=15), istio(exit_on_zero()))
    assert ask(plan, request(10), request(0.2, 8)) == [("ok", 10), ("refused", 8)]
    assert ends(plan, "istio-proxy") == 6
    assert ends(plan, "istio-proxy", request(9.7)) == 10
    assert ask(in_front(app(), istio(exit_on_zero()), grace=7), request(10)) == [("cut", 7)]


def test_istio_native_serves_until_the_app_has_ended() -> None:
    plan = in_front(app(sleep=15), native())
    assert ask(plan, request(20), request(0.2, 14.9), request(0.2, 15)) == [
        ("ok", 20),
        ("ok", 15.1),
        # The app has ended at 15, and its proxy with it.
        ("refused", 15),
    ]
    assert ends(plan, "istio-proxy", request(19.7)) == 19.7
    busy = Timeline(plan, (request(19.7), request(0.2, 16))).predictions[1]
    assert (busy.outcome, busy.client_sees, busy.status) == (
        Outcome.UNAVAILABLE,
        ClientSees.STATUS,
        503,
    )
    assert ask(in_front(app(sleep=30), native(), grace=10), request(20)) == [("cut", 10)]


# Linkerd 2.18 (others.md 1)


def linkerd(wait: float = 0, limit: float = 120, *, is_native: bool = False) -> ContainerPlan:
    finishes = WhenFinished(duration("shutdown-grace-period", limit))
    process = Process((Phase(Trigger.SIGNAL, finishes, CLOSED, CLOSED),))
    return ContainerPlan("linkerd-proxy", hook(wait), process, Role.PROXY, native_sidecar=is_native)


def test_linkerd_stops_accepting_at_its_signal_and_finishes_within_its_limit() -> None:
    dies_first = in_front(app(sleep=15), linkerd())
    assert ask(dies_first, request(8), request(1, 3), LATE_CALL) == [
        ("ok", 8),
        ("refused", 3),
        ("refused", 6),
    ]
    waits = in_front(app(sleep=20), linkerd(wait=25, limit=30), grace=60)
    assert ask(waits, request(30), request(1, 19.9), request(1, 24, To.OUTBOUND)) == [
        ("ok", 30),
        ("ok", 20.9),
        ("refused", 24),  # the app has ended at 20
    ]
    assert ask(in_front(app(), linkerd(limit=3)), request(8)) == [("cut", 3)]


def test_linkerd_as_a_native_sidecar_stops_after_the_app() -> None:
    plan = in_front(app(sleep=15), linkerd(is_native=True))
    assert ask(plan, request(20), request(1, 14.5)) == [("ok", 20), ("ok", 15.5)]


# Consul (others.md 2)


def test_consul_lives_a_fixed_time_and_is_killed_when_that_equals_the_grace() -> None:
    def consul(time: float) -> ContainerPlan:
        process = Process((Phase(Trigger.SIGNAL, after(time)),))
        return ContainerPlan("consul-dataplane", hook(), process, Role.PROXY)

    plan = in_front(app(sleep=10), consul(35), grace=45)
    assert ask(plan, request(30), request(1, 9.9)) == [("ok", 30), ("ok", 10.9)]
    assert ends(plan, "consul-dataplane") == 35
    equal = in_front(app(), consul(30), grace=30)
    assert ends(equal, "consul-dataplane") == 30
    assert ask(in_front(app(sleep=10), consul(5), grace=45), request(8)) == [("cut", 5)]


# Dapr (others.md 4)


def test_dapr_blocks_its_shutdown_and_then_finishes_within_its_limit() -> None:
    limit = WhenFinished(duration("graceful-shutdown-seconds", 10))
    phases = (
        Phase(Trigger.SIGNAL, after(30, "block-shutdown-duration")),
        Phase(Trigger.NEXT, limit, CLOSED, CLOSED),
    )
    daprd = ContainerPlan("daprd", hook(), Process(phases), Role.PROXY)
    plan = pod(app(sleep=20), daprd, grace=45, back=("daprd",))
    calls = [request(2, 25, To.OUTBOUND), request(8, 19, To.OUTBOUND), request(15, 19, To.OUTBOUND)]
    # An app that is idle ends at 20, and makes no call at 25.
    assert ask(plan, *calls) == [("refused", 25), ("ok", 27), ("ok", 34)]
    assert ends(plan, "daprd") == 30
    long_call = request(60, 19, To.OUTBOUND)
    assert ask(plan, long_call) == [("cut", 40)]


# ingress-nginx (others.md 7)


def ingress_nginx(shutdown_grace: float, worker: float, grace: float) -> PodPlan:
    phases = (
        Phase(Trigger.DELETION, after(shutdown_grace, "--shutdown-grace-period")),
        Phase(Trigger.NEXT, WhenFinished(duration("worker-shutdown-timeout", worker)), CLOSED),
        Phase(Trigger.NEXT, after(10, "--post-shutdown-grace-period"), CLOSED, cuts=True),
    )
    wait = hook(ending=WhenGone(("controller",)))
    return pod(ContainerPlan("controller", wait, Process(phases), Role.EDGE), grace=grace)


def test_ingress_nginx_waits_serves_drains_and_waits_again() -> None:
    plan = ingress_nginx(15, 240, 300)
    assert ask(plan, request(100), request(250), request(300)) == [
        ("ok", 100),
        ("ok", 250),
        ("cut", 255),
    ]
    assert ask(plan, request(5, 14), request(5, 15)) == [("ok", 19), ("refused", 15)]
    assert ends(plan, "controller") == 25
    assert ends(plan, "controller", request(100)) == 110
    # 0 + 240 + 10 do not fit into 60: the hook is abandoned and SIGKILL comes 2 s later.
    assert ask(ingress_nginx(0, 240, 60), request(100)) == [("cut", 62)]


# Contour (others.md 7)


def contour(grace: float = 300, check_delay: float = 0) -> PodPlan:
    idle = WhenIdle(seconds(5), duration("--check-delay", check_delay), immediately=True)
    envoy = ContainerPlan("envoy", hook(ending=idle), abrupt(), Role.EDGE)
    manager = ContainerPlan(
        "shutdown-manager", hook(ending=WhenGone(("envoy",))), abrupt(), Role.HELPER
    )
    return pod(envoy, manager, grace=grace)


def test_contour_waits_in_its_hook_until_no_connection_is_open_without_a_limit() -> None:
    plan = contour()
    # The checks come at 0, 5, 10, …; the first that finds nothing ends the hook.
    assert ask(plan, request(100), request(1, 3)) == [("ok", 100), ("refused", 3)]
    assert ends(plan, "envoy", request(101)) == 105
    assert ask(contour(check_delay=30), request(1, 29), request(1, 40)) == [
        ("ok", 30),
        ("refused", 40),
    ]
    assert ask(contour(grace=30), request(100)) == [("cut", 30)]


# Programs (programs.md)


def test_uwsgi_cuts_what_it_has_and_serves_on() -> None:
    process = Process((Phase(Trigger.SIGNAL, Never(), cuts=True),))
    plan = pod(app(sleep=5, process=process))
    assert ask(plan, request(3), request(8), request(3, 6)) == [
        ("ok", 3),
        ("cut", 5),
        ("ok", 9),
    ]
    assert ends(plan, "app") == 30


def test_a_program_that_gives_up_early_may_live_on() -> None:
    # Quarkus without a timeout: cut at once, and the process stays until its handlers end.
    process = Process((Phase(Trigger.SIGNAL, WhenFinished(), CLOSED, cuts=True),))
    plan = pod(app(process=process))
    assert ask(plan, request(8)) == [("cut", 0)]
    assert ends(plan, "app", busy=("app",)) == 30
    timeline = Timeline(plan, (request(8),), busy=frozenset(("app",))).container("app")
    assert (timeline.gave_up.at, timeline.exit.at) == (ZERO, seconds(30))


def test_pm2_kills_the_app_after_its_own_timeout() -> None:
    pm2 = Wrapper("pm2-runtime", delay=seconds(0.35), kills_after=duration("kill_timeout", 1.6))
    plan = pod(app(wrappers=(pm2,)))
    assert ask(plan, request(1), request(8)) == [("ok", 1), ("cut", 1.95)]


@pytest.mark.parametrize(
    ("wrappers", "expected"),
    [
        ((Wrapper("tini"),), ("ok", 8)),
        ((Wrapper("sh", forwards=False),), ("ok", 8)),
        ((Wrapper("npm", forwards=False, exits_after=seconds(0.75)),), ("cut", 0.75)),
        ((Wrapper("tini"), Wrapper("sh", forwards=False, exits_after=ZERO)), ("cut", 0)),
        ((Wrapper("su", kills_after=duration("limit", 2)),), ("cut", 2)),
        ((Wrapper("sh", forwards=False), Wrapper("su", exits_after=ZERO)), ("ok", 8)),
    ],
)
def test_wrappers_compose(wrappers: tuple[Wrapper, ...], expected: tuple[str, float]) -> None:
    assert ask(pod(app(wrappers=wrappers)), request(8)) == [expected]


def test_a_wrapper_that_swallows_the_signal_makes_the_app_serve_until_sigkill() -> None:
    plan = pod(app(wrappers=(Wrapper("sh", forwards=False),)))
    assert ask(plan, request(5, 20), request(40)) == [("ok", 25), ("cut", 30)]


@pytest.mark.parametrize(
    ("acceptance", "new", "kept"),
    [
        (CLOSED, ("refused", 1), ("refused", 1)),
        (KEPT_ONLY, ("refused", 1), ("ok", 2)),
        (Acceptance(Reaction.HANGS, Reaction.SERVES), ("refused", 1), ("ok", 2)),
        (Acceptance(Reaction.ERROR, Reaction.ERROR), ("503", 1), ("503", 1)),
    ],
)
def test_late_requests_on_new_and_on_kept_connections(
    acceptance: Acceptance, new: tuple[str, float], kept: tuple[str, float]
) -> None:
    busy = request(20)
    plan = pod(app(process=graceful(acceptance=acceptance)))
    for each, expected in ((request(1, 1), new), (request(1, 1, kept=True), kept)):
        answer = Timeline(plan, (busy, each)).predictions[1]
        assert (answer.outcome.value, answer.at.total_seconds()) == expected
    hanging = Acceptance(Reaction.HANGS, Reaction.HANGS)
    answer = predict(pod(app(process=graceful(acceptance=hanging))), request(1, 1))
    assert answer.client_sees is ClientSees.REFUSED  # an idle app has ended by then
    answer = Timeline(
        pod(app(process=graceful(acceptance=hanging))), (busy, request(1, 1))
    ).predictions[1]
    assert answer.client_sees is ClientSees.HANGS


def test_an_error_other_than_503_keeps_its_status() -> None:
    answers_500 = Acceptance(Reaction.ERROR, Reaction.ERROR, status=500)
    plan = pod(app(process=graceful(acceptance=answers_500)))
    answer = Timeline(plan, (request(20), request(1, 1))).predictions[1]
    assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, 500)


# Helpers (others.md 6)


def cloud_sql_proxy(minimum: float = 0) -> ContainerPlan:
    phases = [Phase(Trigger.NEXT, after(0), CLOSED, CLOSED)]
    phases.insert(0, Phase(Trigger.SIGNAL, after(minimum, "--min-sigterm-delay")))
    return ContainerPlan("cloud-sql-proxy", hook(), Process(tuple(phases)), Role.HELPER)


def test_a_request_is_not_served_whose_database_proxy_is_gone() -> None:
    plan = pod(app(sleep=15), cloud_sql_proxy(), needed=("cloud-sql-proxy",))
    assert ask(plan, request(8), request(1, 5)) == [("cut", 0), ("cut", 5)]
    assert "cloud-sql-proxy" in str(predict(plan, request(8)).cause)
    delayed = pod(app(sleep=15), cloud_sql_proxy(30), needed=("cloud-sql-proxy",), grace=45)
    assert ask(delayed, request(25), request(40), request(1, 14)) == [
        ("ok", 25),
        ("cut", 30),
        ("ok", 15),
    ]


def test_a_helper_as_a_native_sidecar_outlives_the_app() -> None:
    helper = ContainerPlan("cloud-sql-proxy", hook(), abrupt(), Role.HELPER, native_sidecar=True)
    plan = pod(app(sleep=15), helper, needed=("cloud-sql-proxy",), grace=45)
    assert ask(plan, request(25)) == [("ok", 25)]
    assert ends(plan, "cloud-sql-proxy", request(25)) == 25


def test_native_sidecars_stop_one_by_one_in_reverse_order() -> None:
    def sidecar(name: str, time: float) -> ContainerPlan:
        process = Process((Phase(Trigger.SIGNAL, after(time)),))
        return ContainerPlan(name, hook(), process, Role.HELPER, native_sidecar=True)

    plan = pod(app(sleep=5), sidecar("first", 3), sidecar("second", 4), grace=60)
    assert (ends(plan, "second"), ends(plan, "first")) == (9, 12)
    # The wait is taken off the grace period, and 2 s are left at the end.
    late = pod(app(sleep=5), sidecar("first", 30), sidecar("second", 30), grace=20)
    assert (ends(late, "second"), ends(late, "first")) == (20, 22)


def test_the_hook_of_a_native_sidecar_runs_at_deletion() -> None:
    process = Process((Phase(Trigger.SIGNAL, after(0)),))
    sidecar = ContainerPlan("first", hook(8), process, Role.HELPER, native_sidecar=True)
    assert ends(pod(app(sleep=5), sidecar), "first") == 8


# LeaderWorkerSet (inference.md 3)


def test_a_worker_that_ends_first_takes_the_model_away_under_the_leader() -> None:
    drains = graceful(limit=duration("--shutdown-timeout", 100))
    leader = app("leader", sleep=15, process=drains)
    own = Setting("grace", DurationRange.exact(seconds(30)), HERE)
    worker = ContainerPlan("worker", hook(), drains, Role.MEMBER, pod="worker", grace=own)
    plan = pod(leader, worker, grace=130)
    assert ask(plan, request(20), request(60)) == [("ok", 20), ("cut", 30)]
    assert ask(plan, request(5, 1)) == [("503", 1)]
    equal = ContainerPlan("worker", hook(15), drains, Role.MEMBER, pod="worker")
    assert ask(pod(leader, equal, grace=130), request(60), request(5, 14)) == [
        ("ok", 60),
        ("ok", 19),
    ]


# The kubelet (kubernetes.md 1)


def test_a_hook_as_long_as_the_grace_leaves_two_seconds() -> None:
    plan = pod(app(sleep=10), grace=10)
    assert ask(plan, request(11), request(15), request(1, 9)) == [
        ("ok", 11),
        ("cut", 12),
        ("ok", 10),
    ]


def test_kubernetes_1_22_to_1_27_counted_the_grace_after_the_hook() -> None:
    before = pod(app(sleep=15), grace=20, grace_counts_hook=False)
    assert ask(before, request(34), request(36)) == [("ok", 34), ("cut", 35)]
    assert ask(pod(app(sleep=15), grace=20), request(34)) == [("cut", 20)]


def test_an_endless_request_shows_the_headroom_in_one_run() -> None:
    plan = in_front(app(sleep=15), istio(after(12)))
    answer = predict(plan, Request(ZERO, UNBOUNDED))
    assert (answer.outcome, answer.at) == (Outcome.CUT, seconds(12))


# A hook that makes its server drain


@pytest.mark.parametrize(("ending", "ends"), [(WhenFinished(), 0), (WhenGone(("app",)), 3)])
def test_what_has_finished_before_its_signal_ends(ending: Ending, ends: float) -> None:
    """``nginx -s quit`` in a hook that goes on: the process ends, and its signal finds none."""
    drained = Phase(Trigger.DELETION, ending, CLOSED)
    front = ContainerPlan("front", hook(10), Process((drained, *abrupt().phases)), Role.APP)
    timeline = Timeline(pod(app(), front), (Request(ZERO, seconds(3)),))
    assert timeline.container("front").exit.at == seconds(ends)


def test_an_app_that_never_gets_its_signal_serves_what_is_still_sent() -> None:
    """So the last request begins when nothing sends any more, not at the stop signal."""
    name = Setting("sender", "Service shop", HERE)
    sender = Sender(name, duration("window", 5))
    target = ContainerPlan("app", hook(), ignoring(), Role.APP, serves=True)
    plan = pod(target, senders=(sender,), gets_requests=True, p99=duration("p99", 28))
    (loss,) = ShutdownAnalysis(plan).losses
    assert (loss.kind, loss.begin, loss.arrival) == (LossKind.CUT, seconds(30), seconds(5))
    enough = replace(plan, p99=duration("p99", 24))
    assert ShutdownAnalysis(enough).losses == ()
    solution = ShutdownAnalysis(plan).solution
    assert [(change.field, change.container) for change in solution.changes] == [("grace", None)]
    assert solution.proven


def test_a_proxy_that_waits_for_longer_than_the_grace_period() -> None:
    waits = ContainerPlan("proxy", hook(40), graceful(), Role.PROXY)
    name = Setting("sender", "Service shop", HERE)
    sender = Sender(name, duration("window", 5))
    plan = in_front(app(sleep=5), waits)
    plan = replace(plan, senders=(sender,), gets_requests=True)
    found = [(loss.means, loss.process, loss.longer_than) for loss in ShutdownAnalysis(plan).losses]
    assert found == [(LossMeans.WRITTEN_LIMIT, "proxy", seconds(27))]
