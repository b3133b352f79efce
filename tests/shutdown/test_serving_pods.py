"""How many pods serve, against a simulation of the controllers."""

from __future__ import annotations

from random import Random

import pytest

from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.shutdown.serving_pods import Replacement
from tests.shutdown.controllers import roll_deployment, roll_stateful_set

RUNS = 10_000


def test_rolling_updates_of_deployments() -> None:
    rng = Random(1)
    for _ in range(RUNS):
        replicas = rng.randint(1, 40)
        surge, unavailable = rng.randint(0, 12), rng.randint(0, replicas)
        ready = [rng.randint(1, 60) for _ in range(rng.randint(1, 50))]
        fewest, took = roll_deployment(replicas, surge, unavailable, ready)
        model = Replacement(replicas, surge, unavailable)
        assert model.least_serving == fewest, (replicas, surge, unavailable)
        assert seconds(took) <= model.longest_rollout(seconds(600), seconds(max(ready)))


def test_the_time_of_a_rollout_is_reached_where_all_pods_are_equally_slow() -> None:
    rng = Random(2)
    for _ in range(1000):
        replicas, surge = rng.randint(1, 30), rng.randint(0, 8)
        unavailable, ready = rng.randint(0, replicas), rng.randint(1, 60)
        _, took = roll_deployment(replicas, surge, unavailable, [ready])
        model = Replacement(replicas, surge, unavailable)
        assert seconds(took) == model.longest_rollout(seconds(600), seconds(ready))


def test_rolling_updates_of_stateful_sets() -> None:
    rng = Random(3)
    for _ in range(RUNS):
        replicas, partition = rng.randint(0, 20), rng.randint(0, 25)
        shutdown, ready = rng.randint(0, 60), [rng.randint(1, 60)]
        fewest, took = roll_stateful_set(replicas, partition, shutdown, ready)
        model = Replacement(replicas, ordered=True, kept=partition)
        assert model.least_serving == fewest
        assert seconds(took) == model.longest_rollout(seconds(shutdown), seconds(ready[0]))


@pytest.mark.parametrize(
    ("model", "least"),
    [
        (Replacement(3, all_at_once=True), 0),
        (Replacement(0, all_at_once=True), 0),
        (Replacement(4, surge=1), 4),
        (Replacement(4, unavailable=4), 0),
        (Replacement(1), 0),
    ],
)
def test_the_fewest_pods(model: Replacement, least: int) -> None:
    assert model.least_serving == least
    steps = list(model.serving(seconds(10), seconds(5)))
    assert min(count for _, count in steps) == least
    assert steps[-1] == (model.longest_rollout(seconds(10), seconds(5)), model.replicas)
    assert steps[0][0] == ZERO


def test_the_steps_of_a_rollout() -> None:
    steps = Replacement(5, unavailable=2, ordered=False).serving(seconds(30), seconds(10))
    assert list(steps) == [(ZERO, 3), (seconds(20), 4), (seconds(30), 5)]
    steps = Replacement(10**6, ordered=True).serving(seconds(1), ZERO)
    assert list(steps) == [(ZERO, 10**6 - 1), (seconds(10**6), 10**6)]
