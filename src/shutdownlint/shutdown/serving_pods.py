"""The number of serving pods of a workload while they are replaced, drained, scaled in, or lost.

A second model beside the timeline of one pod. It counts pods that are ready and not being deleted,
as the controllers do, whatever a pod that ends still serves. What it says of rollouts, drains and
scale-ins is compared with simulations of the controllers (``tests/shutdown/controllers.py``).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.shutdown.durations import ZERO

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The interval of the autoscaler's decisions (--horizontal-pod-autoscaler-sync-period of kube-
#: controller-manager, pkg/controller/podautoscaler/config/v1alpha1/defaults.go).
SCALING_INTERVAL: Final = timedelta(seconds=15)
#: The delay of ``kubectl drain`` before it retries what a budget refused
#: (staging/src/k8s.io/kubectl/pkg/drain/drain.go).
EVICTION_RETRY: Final = timedelta(seconds=5)
#: Decisions of an autoscaler that are followed: what goes on for longer is cut off there.
_MAX_DECISIONS: Final = 5000


class Replacement(Struct, frozen=True):
    """The replacement of the pods of a workload.

    ``surge`` pods may be there besides the replicas, ``unavailable`` may be missing. ``ordered``:
    a new pod starts only once the old one is gone, as in a StatefulSet. ``all_at_once``: all old
    pods go before a new one starts. ``kept`` pods are not replaced (a partition).
    """

    replicas: int
    surge: int = 0
    unavailable: int = 0
    ordered: bool = False
    all_at_once: bool = False
    kept: int = 0

    @property
    def replaced(self) -> int:
        """The number of pods that are replaced."""
        return max(self.replicas - self.kept, 0)

    @property
    def missing(self) -> int:
        """The number of pods that may be missing at a time.

        Where neither a surge nor a missing pod is allowed, as percentages round, one may be missing
        (kubernetes pkg/controller/deployment/util/deployment_util.go, ResolveFenceposts).
        """
        if not self.replaced:
            return 0
        if self.all_at_once:
            return self.replicas
        stuck = self.surge == 0 and self.unavailable == 0
        return min(1 if self.ordered or stuck else self.unavailable, self.replaced)

    @property
    def least_serving(self) -> int:
        """The fewest pods that serve during a rollout."""
        return self.replicas - self.missing

    @property
    def batch(self) -> int:
        """The number of pods that are replaced at a time."""
        if self.all_at_once:
            return max(self.replaced, 1)
        return 1 if self.ordered else max(self.surge + self.missing, 1)

    def longest_rollout(self, shutdown: timedelta, ready_after: timedelta) -> timedelta:
        """Return the longest time of a rollout, if each pod is ready ``ready_after`` its start.

        ``shutdown`` is the longest that one pod's shutdown takes: it is waited for only where a new
        pod starts after the old one is gone.
        """
        each = ready_after + (shutdown if self.ordered or self.all_at_once else ZERO)
        return -(-self.replaced // self.batch) * each

    def serving(
        self, shutdown: timedelta, ready_after: timedelta
    ) -> Iterator[tuple[timedelta, int]]:
        """Yield how many pods serve from when on, if each step takes as long as it may."""
        longest = self.longest_rollout(shutdown, ready_after)
        full, left = divmod(self.replaced, self.batch)
        if full:
            yield ZERO, self.replicas - self.missing
        if left and (not full or left < self.missing):
            each = longest / (full + 1)
            yield each * full, self.replicas - min(self.missing, left)
        yield longest, self.replicas


class Drain(Struct, frozen=True):
    """The drain of a workload's pods from a node.

    ``on_node`` of the ``replicas`` may be on it. ``allowed`` may be missing at a time; None: no
    budget limits them. ``ordered``: a new pod starts only once the old one is gone.
    """

    replicas: int
    on_node: int
    allowed: int | None = None
    ordered: bool = False

    @property
    def blocked(self) -> bool:
        """Whether no pod may go, so that the drain never ends."""
        return self.allowed == 0 and self.on_node > 0

    @property
    def missing(self) -> int:
        """The number of pods that are missing at a time."""
        return self.on_node if self.allowed is None else min(self.on_node, self.allowed)

    @property
    def least_serving(self) -> int:
        """The fewest pods that serve meanwhile."""
        return self.replicas - self.missing

    def longest(self, shutdown: timedelta, ready_after: timedelta) -> timedelta | None:
        """Return the longest time of the drain, if each new pod is ready ``ready_after`` its start.

        None where it is blocked. The last pods have to end, the others to be replaced.
        """
        if not self.on_node:
            return ZERO
        if self.blocked:
            return None
        waits = -(-self.on_node // self.missing) - 1
        each = ready_after + EVICTION_RETRY + (shutdown if self.ordered else ZERO)
        return waits * each + shutdown


class ScalingPolicy(Struct, frozen=True):
    """The number of pods that an autoscaler may remove in each period: a number, or percent."""

    value: int
    period: timedelta
    percent: bool = False

    def least_left(self, at_begin: int) -> int:
        """Return how many pods are left of those that were there when the period started."""
        return at_begin * (100 - self.value) // 100 if self.percent else at_begin - self.value


class ScaleIn(Struct, frozen=True):
    """The removal of pods by an autoscaler: at most from ``most`` to ``least``.

    The policy that removes the most counts, with ``careful`` the one that removes the fewest.
    Without policies it removes none. ``ordered``: a pod goes only once the one before has gone.
    """

    most: int
    least: int
    policies: tuple[ScalingPolicy, ...] = (ScalingPolicy(100, SCALING_INTERVAL, percent=True),)
    careful: bool = False
    ordered: bool = False

    def steps(self) -> Iterator[tuple[timedelta, int]]:
        """Yield when it removes how many pods, if the load ends at once.

        As ``calculateScaleDownLimitWithBehaviors`` in pkg/controller/podautoscaler/horizontal.go.
        """
        removed: list[tuple[timedelta, int]] = []
        current, now = self.most, ZERO
        choose = max if self.careful else min
        for _ in range(_MAX_DECISIONS):
            if current <= self.least or not self.policies:
                return
            limits = []
            for policy in self.policies:
                recent = sum(n for at, n in removed if now - at < policy.period)
                limits.append(policy.least_left(current + recent))
            target = max(choose(limits), self.least)
            if target < current:
                yield now, current - target
                removed.append((now, current - target))
                longest = max(policy.period for policy in self.policies)
                removed = [each for each in removed if now - each[0] < longest]
                current = target
            now += SCALING_INTERVAL

    def most_within(self, window: timedelta) -> int:
        """Return the most pods that it removes within so long a time."""
        recent: list[tuple[timedelta, int]] = []
        most = 0
        for at, number in self.steps():
            recent = [each for each in recent if at - each[0] < window]
            recent.append((at, number))
            most = max(most, sum(n for _, n in recent))
        return most


def most_in_one_domain(replicas: int, domains: int, skew: int) -> int:
    """Return the most pods that are in one node or zone, where a spread allows so much difference.

    ``domains`` is how many there are; the others have ``skew`` fewer pods, but not less than none.
    """
    if domains < 2:
        return replicas
    even = (replicas + (domains - 1) * skew) // domains
    return min(replicas, max(even, min(skew, replicas)))
