"""The number of requests lost each time a pod stops, from the number it gets per second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.shutdown.loss import Loss, LossKind
from shutdownlint.shutdown.provenance import OriginKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from shutdownlint.shutdown.analysis import ShutdownAnalysis


class LostRequests(Struct, frozen=True):
    """Bounds of the number of requests that are lost when one pod stops.

    ``least`` counts what is certain. Between the durations that were measured as few requests as
    possible are long, and beyond the last one none.
    """

    least: float
    most: float
    #: The time that new requests are sent to the pod.
    window: timedelta


def count_lost(
    analysis: ShutdownAnalysis, per_second: float, shares: Sequence[tuple[timedelta, float]]
) -> LostRequests:
    """Count the requests that a pod loses that gets so many requests a second.

    ``shares`` are the shares of the requests that take at most each duration, ascending.
    """
    window = analysis.plan.propagation
    certain = possible = 0.0
    refused_from = window
    for loss in analysis.losses:
        if loss.kind is LossKind.LATE:
            refused_from = min(refused_from, loss.begin)
            lost = max(min(loss.end, window) - loss.begin, ZERO).total_seconds()
            possible += lost
            certain += lost if _is_measured(loss) else 0.0
    headroom = analysis.headroom
    cut = 0.0
    if headroom.max_in_flight is not None:
        # Of the requests that are running, those that still take longer.
        cut += _time_above(headroom.max_in_flight, shares)
    # Where the last moment is refused, those that arrive before are cut as those in flight are.
    limit = headroom.late_at + headroom.max_late if headroom.max_late else headroom.max_in_flight
    if limit is not None and headroom.max_late is not None:
        cut += _time_above(max(limit - refused_from, ZERO), shares) - _time_above(limit, shares)
    possible += cut
    in_flight = (x for x in analysis.losses if x.kind in (LossKind.CUT, LossKind.LONG))
    certain += cut if all(loss.certain for loss in in_flight) else 0.0
    return LostRequests(per_second * certain, per_second * possible, window)


def _is_measured(loss: Loss) -> bool:
    """Whether new requests are sent for certain: a default says how long they may be."""
    sender = loss.sender
    return loss.certain and sender is not None and sender.window.origin.kind is OriginKind.MEASURED


def _time_above(limit: timedelta, shares: Sequence[tuple[timedelta, float]]) -> float:
    """Return the mean number of seconds that a request takes above a limit, at the least."""
    total, below = 0.0, ZERO
    for duration, share in shares:
        # Up to this duration at least so many take longer.
        total += max(duration - max(below, limit), ZERO) / seconds(1) * (1 - share)
        below = duration
    return total
