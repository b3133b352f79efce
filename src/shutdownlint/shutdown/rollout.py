"""How a workload's pods are replaced, and what their shutdown costs then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.shutdown.durations import ZERO, written

if TYPE_CHECKING:
    from datetime import timedelta


class Rollout(Struct, frozen=True):
    """A workload's way to replace its pods.

    ``replicas`` is None where the number of nodes or an autoscaler decides it; ``batch`` pods are
    replaced at a time; ``waits``: a new pod starts only once the old one is gone; ``together``:
    all old pods go before any new one starts. ``ready_after`` is minReadySeconds.
    """

    way: str
    replicas: int | None
    batch: int
    waits: bool
    ready_after: timedelta
    together: bool = False

    @property
    def steps(self) -> int | None:
        """How many pods (or batches) are waited for one after the other."""
        if self.together:
            return 1
        return None if self.replicas is None else -(-self.replicas // self.batch)

    def takes(self, shutdown: timedelta) -> timedelta | None:
        """The share of a rollout that is spent waiting, at worst; None where it is not known.

        ``shutdown`` is the longest that one pod's shutdown takes. What new pods need to become
        ready comes on top.
        """
        if self.steps is None:
            return None
        each = (shutdown if self.waits else ZERO) + self.ready_after
        return self.steps * each

    def told(self, shutdown: timedelta) -> str:
        """The same in words."""
        pods = "a pod for every node" if self.replicas is None else f"{self.replicas} pods"
        ready = f" + {written(self.ready_after)} minReadySeconds" if self.ready_after else ""
        if self.together:
            return (
                f"{self.way}: no pod serves while all {pods} end, up to {written(shutdown)}, and "
                "until new ones are ready"
            )
        if not self.waits:
            return (
                f"{self.way}: the rollout does not wait for old pods; each lives up to "
                f"{written(shutdown)} beside its replacement"
            )
        takes = self.takes(shutdown)
        one = f"up to {written(shutdown)}{ready}"
        if takes is None:
            return f"{self.way}: {self.batch} at a time, {one} each before its replacement starts"
        return (
            f"{self.way}: {pods}, {self.batch} at a time, {one} each before its replacement "
            f"starts: at most {written(takes)}, and the time new pods need to become ready"
        )
