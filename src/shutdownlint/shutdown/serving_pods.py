"""How many pods of a workload serve while they are replaced.

A second model beside the timeline of one pod. It counts pods that are ready and not being deleted,
as the controllers do, whatever a pod that ends still serves. What it says of rollouts is compared
with a simulation of the controllers (``tests/shutdown/controllers.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.shutdown.durations import ZERO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta


class Replacement(Struct, frozen=True):
    """How the pods of a workload are replaced.

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
        """How many pods are replaced."""
        return max(self.replicas - self.kept, 0)

    @property
    def missing(self) -> int:
        """How many pods may be missing at a time.

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
        """How many pods are replaced at a time."""
        if self.all_at_once:
            return max(self.replaced, 1)
        return 1 if self.ordered else max(self.surge + self.missing, 1)

    def longest_rollout(self, shutdown: timedelta, ready_after: timedelta) -> timedelta:
        """How long a rollout takes at worst, where each pod is ready ``ready_after`` its start.

        ``shutdown`` is the longest that one pod's shutdown takes: it is waited for only where a new
        pod starts after the old one is gone.
        """
        each = ready_after + (shutdown if self.ordered or self.all_at_once else ZERO)
        return -(-self.replaced // self.batch) * each

    def serving(
        self, shutdown: timedelta, ready_after: timedelta
    ) -> Iterator[tuple[timedelta, int]]:
        """How many pods serve from when on, if each step takes as long as it may."""
        longest = self.longest_rollout(shutdown, ready_after)
        full, left = divmod(self.replaced, self.batch)
        if full:
            yield ZERO, self.replicas - self.missing
        if left and (not full or left < self.missing):
            each = longest / (full + 1)
            yield each * full, self.replicas - min(self.missing, left)
        yield longest, self.replicas
