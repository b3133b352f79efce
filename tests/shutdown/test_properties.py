"""The properties that must hold for every plan."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from shutdownlint.platforms.istio.process import ProxyMode
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import DurationRange, seconds
from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan
from shutdownlint.shutdown.request import Outcome, Request
from shutdownlint.shutdown.timeline import Timeline
from tests.shutdown.builders import app, between, plan, proxy, with_grace, with_hook

NUMBERS = st.integers(0, 90)
HALF_SECONDS = st.integers(0, 120).map(lambda n: n / 2)
BEHAVIOURS = st.sampled_from(("graceful", "abrupt", "ignoring"))


@st.composite
def proxies(draw: st.DrawFn) -> ContainerPlan:
    mode = draw(st.sampled_from(ProxyMode))
    return proxy(
        mode,
        pre_stop=draw(NUMBERS),
        exit_on_zero=draw(st.booleans()),
        minimum=draw(HALF_SECONDS),
        termination=draw(HALF_SECONDS),
        drain=draw(st.integers(1, 90)),
        hook=mode is ProxyMode.NATIVE and draw(st.booleans()),
    )


@st.composite
def plans(draw: st.DrawFn) -> PodPlan:
    containers = [
        app(
            f"c{number}",
            pre_stop=draw(HALF_SECONDS),
            drain=draw(NUMBERS),
            behaviour=draw(BEHAVIOURS),
            limit=draw(st.none() | HALF_SECONDS),
        )
        for number in range(draw(st.integers(1, 3)))
    ]
    return plan(*containers, grace=draw(NUMBERS), proxy=draw(st.none() | proxies()))


REQUESTS = st.builds(
    lambda at, length: Request(seconds(at), seconds(length)), HALF_SECONDS, HALF_SECONDS
)


def outcome_of(plan: PodPlan, request: Request) -> Outcome:
    return Timeline(plan, [request]).predictions[0].outcome


@settings(max_examples=1500, deadline=None)
@given(plans(), st.integers(1, 60), REQUESTS)
def test_more_grace_never_loses_more(of: PodPlan, more: int, request: Request) -> None:
    longer = with_grace(of, DurationRange.exact(of.grace.value.low + seconds(more)))
    before, after = outcome_of(of, request), outcome_of(longer, request)
    assert not (before is Outcome.OK and after is not Outcome.OK)


@settings(max_examples=1500, deadline=None)
@given(plans(), REQUESTS, HALF_SECONDS)
def test_a_longer_request_never_fares_better(of: PodPlan, request: Request, more: float) -> None:
    longer = Request(request.arrival, request.duration + seconds(more))
    if outcome_of(of, longer) is Outcome.OK:
        assert outcome_of(of, request) is Outcome.OK


@settings(max_examples=500, deadline=None)
@given(plans(), REQUESTS)
def test_every_failure_and_event_has_a_cause(of: PodPlan, request: Request) -> None:
    analysis = ShutdownAnalysis(of)
    for answer in analysis.predict([request]):
        prediction = answer.prediction
        assert prediction.outcome is Outcome.OK or str(prediction.cause)
    events = analysis.idle_timeline.events
    assert all(str(event.cause) for event in events)
    times = [event.at for event in events]
    assert times == sorted(times)


@settings(max_examples=500, deadline=None)
@given(plans())
def test_headroom_is_exactly_what_is_served(of: PodPlan) -> None:
    analysis = ShutdownAnalysis(of)
    longest = analysis.headroom.max_in_flight
    assert longest is not None

    def outcomes(length: timedelta) -> set[Outcome]:
        """For whichever container it is meant."""
        return {outcome_of(case, Request(seconds(0), length)) for case in analysis.cases}

    assert outcomes(longest) == {Outcome.OK}
    assert outcomes(longest + seconds(0.001)) != {Outcome.OK}


@settings(max_examples=300, deadline=None)
@given(plans(), HALF_SECONDS, st.none() | HALF_SECONDS, REQUESTS)
def test_a_certain_answer_holds_for_every_value_of_what_is_bounded(
    of: PodPlan, low: float, width: float | None, request: Request
) -> None:
    name = of.containers[0].name
    unknown = with_hook(of, name, between(low, None if width is None else low + width))
    (answer,) = ShutdownAnalysis(unknown).predict([request])
    if answer.prediction.outcome is Outcome.UNKNOWN:
        return
    served = answer.prediction.outcome is Outcome.OK
    for part in (0, 0.25, 0.5, 0.75, 1):
        exact = with_hook(of, name, between(low + part * (200 if width is None else width)))
        (one,) = ShutdownAnalysis(exact).predict([request])
        assert (one.prediction.outcome is Outcome.OK) is served
