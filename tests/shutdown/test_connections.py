"""Connections that no request shows: idle ones, kept ones, those of the app's own calls."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shutdownlint.shutdown.analysis import Doubt, ShutdownAnalysis, Traffic
from shutdownlint.shutdown.durations import ZERO, DurationRange, seconds
from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan, Role
from shutdownlint.shutdown.process import Direction, Hook, Phase, Process, Trigger, WhenIdle
from shutdownlint.shutdown.provenance import Setting
from shutdownlint.shutdown.request import Outcome, Request
from tests.shutdown.builders import HERE, app, between, plan

#: The proxy looks for open connections from 2 s on, each second.
FIRST_CHECK = 2.0


def waiting_proxy(
    timeout: float | None = None, released: DurationRange | None = None
) -> ContainerPlan:
    delay = Setting("delay", seconds(FIRST_CHECK - 1), HERE)
    ending = WhenIdle(
        seconds(1),
        delay,
        idle_released=released,
        idle_timeout=None if timeout is None else seconds(timeout),
    )
    hook = Hook(Setting("preStop", between(0), HERE))
    return ContainerPlan("proxy", hook, Process((Phase(Trigger.SIGNAL, ending),)), Role.PROXY)


def pod(sleep: float = 30, timeout: float | None = None) -> PodPlan:
    return plan(app(pre_stop=sleep), grace=60, proxy=waiting_proxy(timeout))


def ask(
    of: PodPlan, request: Request, *others: Request, **traffic: int
) -> tuple[Outcome, Doubt | None]:
    asked = Traffic(open_connections=0, **traffic)
    found = ShutdownAnalysis(of).predict((request, *others), asked)[0]
    return found.prediction.outcome, found.doubt


def late(at: float, *, reused: bool = False) -> Request:
    return Request(seconds(at), seconds(1), reused=reused)


def call(at: float, lasts: float) -> Request:
    return Request(seconds(at), seconds(lasts), Direction.OUTBOUND)


@pytest.mark.parametrize("kind", ["pool", "idle_tcp"])
def test_connections_that_end_with_the_app_hold_a_proxy_until_then(kind: str) -> None:
    of = pod(sleep=10)
    assert ask(of, late(8))[0] is Outcome.REFUSED
    assert ask(of, late(8), **{kind: 1}) == (Outcome.OK, None)
    # The app ends at 10 s, and the proxy at its next check.
    assert ask(of, late(12), **{kind: 1})[0] is Outcome.REFUSED


def test_an_idle_pool_of_an_app_that_ignores_its_signal_holds_the_proxy_to_the_end() -> None:
    of = pod(sleep=0)
    stubborn = replace(of.containers[0], process=Process())
    held = replace(of, containers=(stubborn, *of.containers[1:]))
    assert ask(held, late(50), pool=1)[0] is Outcome.OK
    assert ask(held, late(50))[0] is Outcome.REFUSED


def test_a_timeout_closes_idle_connections_at_the_latest_so_long_after_the_deletion() -> None:
    of = pod(timeout=9)
    # They may have been idle for any time before.
    assert ask(of, late(1), idle=1) == (Outcome.OK, None)
    assert ask(of, late(5), idle=1) == (Outcome.UNKNOWN, Doubt.TRAFFIC)
    assert ask(of, late(11), idle=1)[0] is Outcome.REFUSED


def test_a_timeout_closes_the_idle_pool_and_leaves_connections_without_http() -> None:
    of = pod(timeout=9)
    assert ask(of, late(11), pool=1)[0] is Outcome.REFUSED
    assert ask(of, late(11), idle_tcp=1)[0] is Outcome.OK


def test_a_timeout_and_an_early_drain_close_at_the_earlier_of_both() -> None:
    of = plan(app(pre_stop=30), grace=60, proxy=waiting_proxy(20, between(4, 6)))
    assert ask(of, late(8), idle=1)[0] is Outcome.REFUSED


def test_a_kept_connection_holds_the_proxy_until_its_request() -> None:
    of = pod()
    assert ask(of, late(8, reused=True)) == (Outcome.OK, None)
    # Its request is the last one: the proxy drains, so the client closes the connection.
    assert ask(of, late(12), late(8, reused=True))[0] is Outcome.REFUSED
    assert ask(of, late(7), late(8, reused=True))[0] is Outcome.OK


def test_a_kept_connection_that_a_timeout_may_have_closed_is_in_doubt() -> None:
    of = pod(timeout=6)
    assert ask(of, late(4, reused=True)) == (Outcome.UNKNOWN, Doubt.TRAFFIC)
    # Even where both ends serve it, it may meet the moment in which the proxy closes it.
    assert ask(of, late(1, reused=True)) == (Outcome.UNKNOWN, Doubt.LAST_USE)
    # Closed for certain: the client opens a new one, and the proxy is gone.
    assert ask(of, late(9, reused=True))[0] is Outcome.REFUSED


def test_a_kept_connection_stays_open_after_a_request_that_is_answered_before_the_drain() -> None:
    proxy = waiting_proxy()
    slow = replace(proxy, hook=Hook(Setting("preStop", between(6), HERE)))
    of = plan(app(pre_stop=30), grace=60, proxy=slow)
    assert ask(of, late(12), late(3, reused=True))[0] is Outcome.OK
    assert ask(of, late(12), late(7, reused=True))[0] is Outcome.REFUSED


def test_whether_an_app_waits_for_its_own_calls_is_a_doubt() -> None:
    of = plan(app(), grace=60)
    assert ask(of, call(0, 5)) == (Outcome.UNKNOWN, Doubt.OWN_CALLS)
    # A request holds the app for both.
    assert ask(of, call(0, 5), Request(ZERO, seconds(6))) == (Outcome.OK, None)


@pytest.mark.parametrize(("waits", "outcome"), [(True, Outcome.OK), (False, Outcome.CUT)])
def test_what_the_user_says_of_own_calls_settles_it(waits: bool, outcome: Outcome) -> None:
    of = plan(app(), grace=60)
    first = replace(of.containers[0], waits_for_calls=waits)
    known = replace(of, containers=(first, *of.containers[1:]))
    assert ask(known, call(0, 5)) == (outcome, None)


def test_an_app_that_does_not_wait_makes_no_later_calls() -> None:
    of = plan(app(), grace=60)
    first = replace(of.containers[0], waits_for_calls=False)
    known = replace(of, containers=(first, *of.containers[1:]))
    assert ask(known, call(4, 1), Request(ZERO, seconds(3)))[0] is Outcome.REFUSED
    assert ask(known, call(2, 0.5), Request(ZERO, seconds(3)))[0] is Outcome.OK


def test_connections_without_http_hold_a_gateway_to_the_end() -> None:
    """No app of its pod closes them."""
    edge = replace(waiting_proxy(timeout=9), role=Role.EDGE)
    of = plan(grace=60, proxy=edge)
    assert ask(of, late(50))[0] is Outcome.REFUSED
    assert ask(of, late(50), idle_tcp=1)[0] is Outcome.OK
