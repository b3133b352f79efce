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
    """A rolling update; the fewest available pods, and when it was done.

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
    """A rolling update from the highest pod down to the partition, one pod after the other."""
    fewest, now = replicas, 0
    for number in range(replicas - 1, partition - 1, -1):
        fewest = min(fewest, replicas - 1)
        now += shutdown + ready_after[number % len(ready_after)]
    return fewest, now
