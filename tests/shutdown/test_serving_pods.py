"""The number of serving pods, compared with a simulation of the controllers."""

from __future__ import annotations

from random import Random

import pytest

from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.shutdown.serving_pods import (
    Drain,
    Replacement,
    ScaleIn,
    ScalingPolicy,
    most_in_one_domain,
)
from tests.shutdown.controllers import (
    drain_node,
    roll_deployment,
    roll_stateful_set,
    scale_in,
    worst_placement,
)

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


def test_drains() -> None:
    rng = Random(4)
    for _ in range(RUNS // 10):
        replicas = rng.randint(1, 12)
        on_node, allowed = rng.randint(0, replicas), rng.choice([None, *range(replicas + 1)])
        ordered, shutdown, ready = rng.random() < 0.3, rng.randint(0, 60), rng.randint(1, 40)
        fewest, took = drain_node(replicas, on_node, allowed, ordered, shutdown, ready)
        model = Drain(replicas, on_node, allowed, ordered)
        assert model.blocked == (took is None)
        assert model.least_serving == fewest
        longest = model.longest(seconds(shutdown), seconds(ready))
        assert (longest is None) == (took is None)
        if longest is not None and took is not None:
            # The model takes every wait for a whole interval of the questions.
            assert seconds(took) <= longest <= seconds(took + 5 * on_node)


def test_scale_ins() -> None:
    rng = Random(5)
    for _ in range(RUNS // 10):
        most = rng.randint(1, 60)
        least = rng.randint(0, most)
        policies = [
            (rng.choice(["Pods", "Percent"]), rng.choice([1, 4, 10, 50, 100]), rng.randint(1, 120))
            for _ in range(rng.randint(1, 3))
        ]
        careful = rng.random() < 0.3
        length = rng.randint(60, 400)
        counts = scale_in(most, least, policies, "Min" if careful else "Max", length)
        model = ScaleIn(
            most,
            least,
            tuple(ScalingPolicy(v, seconds(p), percent=k == "Percent") for k, v, p in policies),
            careful,
        )
        removed = {at: number for at, number in model.steps() if at < seconds(length)}
        seen, current = {}, most
        for second, count in enumerate(counts):
            if count < current:
                seen[seconds(second)] = current - count
            current = count
        assert removed == seen, policies
        window = rng.randint(1, length)
        every = [sum(n for at, n in seen.items() if b <= at < b + seconds(window)) for b in seen]
        assert model.most_within(seconds(window)) >= max(every, default=0)


def test_an_autoscaler_that_may_not_scale_down_removes_nothing() -> None:
    assert ScaleIn(10, 1, ()).most_within(seconds(600)) == 0
    assert ScaleIn(10, 1).most_within(seconds(1)) == 9
    assert ScaleIn(10, 1, (ScalingPolicy(2, seconds(60)),)).most_within(seconds(60)) == 2
    assert ScaleIn(10, 1, (ScalingPolicy(2, seconds(60)),)).most_within(seconds(61)) == 4
    # A policy that never reaches the minimum is cut off.
    assert len(list(ScaleIn(10**6, 0, (ScalingPolicy(1, seconds(15)),)).steps())) == 5000


def test_the_most_pods_in_one_zone() -> None:
    for replicas in range(12):
        for domains in range(1, 6):
            for skew in range(1, 5):
                worst = worst_placement(replicas, domains, skew)
                assert most_in_one_domain(replicas, domains, skew) == worst
