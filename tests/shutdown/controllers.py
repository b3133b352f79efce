"""The controllers of Deployments and StatefulSets, simulated step by step.

Written from the documentation and the sources (pkg/controller/deployment/rolling.go,
pkg/controller/deployment/util/deployment_util.go, pkg/controller/statefulset/stateful_set_control.go).
Nothing is shared with the model.
"""

from __future__ import annotations

import heapq


def resolve(surge: int, unavailable: int) -> tuple[int, int]:
    """ResolveFenceposts: where both are nothing, one pod may be unavailable."""
    return (surge, unavailable) if surge or unavailable else (0, 1)


def roll_deployment(
    replicas: int, surge: int, unavailable: int, ready_after: list[int]
) -> tuple[int, int]:
    """Return a rolling update; the fewest available pods, and when it was done.

    ``ready_after`` is how long each new pod needs until it is available, in the order of their
    creation. Pods that terminate count neither as pods nor as available.
    """
    surge, unavailable = resolve(surge, unavailable)
    least_available = replicas - unavailable
    old, new, new_available, now = replicas, 0, 0, 0
    fewest, created = replicas, 0
    waiting: list[int] = []
    while True:
        changed = True
        while changed:
            changed = False
            # reconcileNewReplicaSet
            missing = min(replicas + surge - (old + new), replicas - new)
            if missing > 0:
                for _ in range(missing):
                    heapq.heappush(waiting, now + ready_after[created % len(ready_after)])
                    created += 1
                new, changed = new + missing, True
            # reconcileOldReplicaSets, scaleDownOldReplicaSetsForRollingUpdate
            most = old + new - least_available - (new - new_available)
            down = min(old, most, old + new_available - least_available)
            if down > 0:
                old, changed = old - down, True
            fewest = min(fewest, old + new_available)
        if old == 0 and new_available == replicas:
            return fewest, now
        now = heapq.heappop(waiting)
        new_available += 1
        while waiting and waiting[0] == now:
            heapq.heappop(waiting)
            new_available += 1


def roll_stateful_set(
    replicas: int, partition: int, shutdown: int, ready_after: list[int]
) -> tuple[int, int]:
    """Return a rolling update from the highest pod down to the partition, one pod after the other."""
    fewest, now = replicas, 0
    for number in range(replicas - 1, partition - 1, -1):
        fewest = min(fewest, replicas - 1)
        now += shutdown + ready_after[number % len(ready_after)]
    return fewest, now


def drain_node(
    replicas: int, on_node: int, allowed: int | None, ordered: bool, shutdown: int, ready: int
) -> tuple[int, int | None]:
    """``kubectl drain`` second by second; the fewest healthy pods, and when the node was empty.

    It asks for each eviction again five seconds after a refusal. The eviction API counts pods that
    are healthy and not being deleted (pkg/registry/core/pod/storage/eviction.go); a controller
    replaces a pod once it terminates, that of a StatefulSet once it is gone.
    """
    healthy, fewest = replicas, replicas
    ask_at = dict.fromkeys(range(on_node), 0)
    gone_at: dict[int, int] = {}
    healthy_again: list[int] = []
    for now in range(100_000):
        healthy += sum(at == now for at in healthy_again)
        for pod in sorted(ask_at):
            if ask_at[pod] != now:
                continue
            if allowed is not None and healthy - 1 < replicas - allowed:
                ask_at[pod] = now + 5
                continue
            del ask_at[pod]
            healthy -= 1
            gone_at[pod] = now + shutdown
            healthy_again.append(now + ready + (shutdown if ordered else 0))
        fewest = min(fewest, healthy)
        if not ask_at and all(at <= now for at in gone_at.values()):
            return fewest, max(gone_at.values(), default=0)
        if allowed == 0 and on_node:
            return fewest, None
    raise AssertionError("the drain does not end")


def scale_in(
    most: int, least: int, policies: list[tuple[str, int, int]], select: str, seconds: int
) -> list[int]:
    """Return how many pods there are in each second, by the autoscaler's rules for scaling down.

    Written from calculateScaleDownLimitWithBehaviors and getReplicasChangePerPeriod in
    pkg/controller/podautoscaler/horizontal.go. A policy is its type, value and period.
    """
    current, events, found = most, list[tuple[int, int]](), list[int]()
    for now in range(seconds):
        if now % 15 == 0 and select != "Disabled" and policies:
            proposed = []
            for kind, value, period in policies:
                start = current
                for at, change in events:
                    if at > now - period:
                        start += change
                proposed.append(start - value if kind == "Pods" else int(start * (1 - value / 100)))
            limit = max(proposed) if select == "Min" else min(proposed)
            wanted = max(limit, least)
            if wanted < current:
                events.append((now, current - wanted))
                current = wanted
        found.append(current)
    return found


def worst_placement(replicas: int, domains: int, skew: int) -> int:
    """Return the most pods in one domain, of all orders in which a scheduler may place them.

    A pod may go where its domain then has at most ``skew`` more pods than the emptiest one.
    """
    reached = {(0,) * domains}
    for _ in range(replicas):
        reached = {
            tuple(sorted((*counts[:n], counts[n] + 1, *counts[n + 1 :])))
            for counts in reached
            for n in range(domains)
            if counts[n] + 1 - min(counts) <= skew
        }
    return max(max(counts) for counts in reached)
