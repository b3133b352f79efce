"""What must hold for every plan."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shutdownlint.shutdown import (
    Behaviour,
    Outcome,
    Plan,
    ProxyMode,
    ProxyPlan,
    Request,
    Setting,
    Shutdown,
    Span,
    Timeline,
    seconds,
)
from tests.shutdown.builders import HERE, app, plan, proxy

NUMBERS = st.integers(0, 90)
HALVES = st.integers(0, 120).map(lambda n: n / 2)


@st.composite
def proxies(draw: st.DrawFn) -> ProxyPlan:
    mode = draw(st.sampled_from(ProxyMode))
    return proxy(
        mode,
        pre_stop=draw(NUMBERS),
        exit_on_zero=draw(st.booleans()),
        minimum=draw(HALVES),
        termination=draw(HALVES),
        drain=draw(st.integers(1, 90)),
        hook=mode is ProxyMode.NATIVE and draw(st.booleans()),
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    containers = [
        app(
            f"c{number}",
            pre_stop=draw(HALVES),
            drain=draw(NUMBERS),
            behaviour=draw(st.sampled_from(Behaviour)),
        )
        for number in range(draw(st.integers(1, 3)))
    ]
    sidecar = draw(st.none() | proxies())
    return plan(*containers, grace=draw(NUMBERS), proxy=sidecar)


REQUESTS = st.builds(Request, HALVES.map(seconds), HALVES.map(seconds))


@settings(max_examples=1500, deadline=None)
@given(plans(), st.integers(1, 60), REQUESTS)
def test_more_grace_never_loses_more(of: Plan, more: int, request: Request) -> None:
    longer = replace(
        of, grace=Setting("grace", Span.exactly(of.grace.value.low + seconds(more)), HERE)
    )
    before = Timeline(of, [request]).answers[0].outcome
    after = Timeline(longer, [request]).answers[0].outcome
    assert not (before is Outcome.OK and after is not Outcome.OK)


@settings(max_examples=1500, deadline=None)
@given(plans(), REQUESTS, HALVES)
def test_a_longer_request_never_fares_better(of: Plan, request: Request, more: float) -> None:
    longer = Request(request.arrives, request.lasts + seconds(more))
    if Timeline(of, [longer]).answers[0].outcome is Outcome.OK:
        assert Timeline(of, [request]).answers[0].outcome is Outcome.OK


@settings(max_examples=500, deadline=None)
@given(plans(), REQUESTS)
def test_every_failure_and_event_says_why(of: Plan, request: Request) -> None:
    shutdown = Shutdown(of)
    for answer in shutdown.ask([request]):
        assert answer.outcome is Outcome.OK or str(answer.by)
    for event in shutdown.quiet.events():
        assert event.what
        assert str(event.because)
    times = [event.at for event in shutdown.quiet.events()]
    assert times == sorted(times)


@settings(max_examples=500, deadline=None)
@given(plans())
def test_headroom_is_exactly_what_is_served(of: Plan) -> None:
    room = Shutdown(of).headroom.in_flight
    assert room is not None

    def fares(lasts: timedelta) -> list[Outcome]:
        """Whichever container it is meant for."""
        request = Request(seconds(0), lasts)
        return [Timeline(p, [request]).answers[0].outcome for p in Shutdown(of).pinned]

    assert set(fares(room)) == {Outcome.OK}
    assert set(fares(room + seconds(0.001))) != {Outcome.OK}


@settings(max_examples=300, deadline=None)
@given(plans(), HALVES, st.none() | HALVES, REQUESTS)
def test_a_certain_answer_holds_for_every_value_of_what_is_bounded(
    of: Plan, low: float, width: float | None, request: Request
) -> None:
    bounds = Span(seconds(low), None if width is None else seconds(low + width))
    first = replace(of.containers[0], pre_stop=Setting("preStop", bounds, HERE))
    vague = replace(of, containers=(first, *of.containers[1:]))
    (answer,) = Shutdown(vague).ask([request])
    if answer.outcome is Outcome.UNKNOWN:
        return
    for part in (0, 0.25, 0.5, 0.75, 1):
        value = seconds(low + part * (200 if width is None else width))
        exact = replace(first, pre_stop=Setting("preStop", Span.exactly(value), HERE))
        (one,) = Shutdown(replace(of, containers=(exact, *of.containers[1:]))).ask([request])
        assert (one.outcome is Outcome.OK) is (answer.outcome is Outcome.OK)
