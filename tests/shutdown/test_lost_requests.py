"""The number of requests lost at a pod's end, compared with predictions of single requests."""

from __future__ import annotations

import random

import pytest

from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.lost_requests import count_lost
from shutdownlint.shutdown.request import Outcome, Request
from tests.helpers import plan_of, served, user_facts

SHARES = ((seconds(1), 0.5), (seconds(4), 0.9), (seconds(12), 0.99), (seconds(40), 0.999))


def _analysis(sleep: int, grace: int, propagation: int) -> ShutdownAnalysis:
    text = served(sleep=sleep).replace(
        "      containers:", f"      terminationGracePeriodSeconds: {grace}\n      containers:"
    )
    return ShutdownAnalysis(plan_of(text, user_facts(propagation=f"{propagation}s")))


def _drawn(rng: random.Random) -> float:
    """Return a duration of the distribution that has as few long requests as the shares allow."""
    at, below = rng.random(), 0.0
    for duration, share in SHARES:
        if at < share:
            return below
        below = duration.total_seconds()
    return below


@pytest.mark.parametrize(
    ("sleep", "grace", "propagation"), [(0, 30, 5), (5, 10, 5), (5, 30, 10), (10, 30, 5), (2, 4, 8)]
)
def test_the_count_is_that_of_single_requests(sleep: int, grace: int, propagation: int) -> None:
    """Test requests that arrive evenly for a long time before, and while something sends them."""
    analysis = _analysis(sleep, grace, propagation)
    rng = random.Random(5)
    rate, before = 40, 60
    lost = 0
    for _ in range(rate * (before + propagation)):
        arrival = rng.uniform(-before, propagation)
        left = _drawn(rng) + min(arrival, 0.0)
        if left <= 0 and arrival < 0:
            continue  # it was done before
        request = Request(seconds(max(arrival, 0.0)), seconds(max(left, 0.0)))
        (answer,) = analysis.predict([request])
        lost += answer.prediction.outcome is not Outcome.OK
    counted = count_lost(analysis, rate, SHARES)
    assert counted.least <= counted.most
    assert abs(lost - counted.most) <= 3 * max(counted.most, 4) ** 0.5 + 1


def test_nothing_is_lost_where_all_is_served() -> None:
    counted = count_lost(_analysis(10, 120, 5), 100, SHARES)
    assert (counted.least, counted.most) == (0, 0)
    assert count_lost(_analysis(0, 30, 0), 0, SHARES).most == 0
