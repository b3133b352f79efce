"""The distribution of requests over durations, and its quantiles."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.shutdown.durations import ZERO, position_of_share

if TYPE_CHECKING:
    from collections.abc import Mapping

#: No request is longer: a bound above it is as good as none.
_LONGEST = timedelta(days=7)
#: Floats count exactly up to here.
_MOST_REQUESTS = 2.0**53


class Quantile(Struct, frozen=True):
    """The position of a quantile.

    ``upper`` is None where the measurement ends below it: it is at least ``lower``.
    """

    lower: timedelta
    upper: timedelta | None


class Histogram(Struct, frozen=True):
    """The number of requests, and the share of them that takes at most each duration.

    The bounds ascend and are finite; requests above the last one are known to exist only.
    """

    requests: float
    shares: tuple[tuple[timedelta, float], ...]

    def quantile(self, share: float) -> Quantile:
        """Between which bounds the duration is that this share of the requests does not exceed."""
        place = position_of_share(self.shares, share)
        bounds = [ZERO, *(bound for bound, _ in self.shares), None]
        return Quantile(bounds[place] or ZERO, bounds[place + 1])


def read_buckets(buckets: Mapping[float, float], unit: timedelta) -> Histogram | None:
    """Return the histogram of cumulative counts by upper bound; None where no request was counted.

    Raises ``ValueError`` where the bucket of all requests is missing, since the rest is then not
    known to be all.
    """
    if not buckets:
        return None
    if math.inf not in buckets:
        raise ValueError("its buckets have no +Inf")
    total = max((count for count in buckets.values() if not math.isnan(count)), default=0.0)
    if not total > 0:
        return None
    if total > _MOST_REQUESTS:
        raise ValueError("its counts are too large to be counts of requests")
    shares, highest = [], 0.0
    for bound in sorted(buckets):
        count = buckets[bound]
        if math.isinf(bound) or math.isnan(bound) or math.isnan(count):
            continue
        # Counts of buckets are extrapolated one by one, so that a higher one may have less.
        highest = max(highest, count / total)
        if 0 <= bound <= _LONGEST / unit:
            shares.append((bound * unit, min(highest, 1.0)))
    if not shares:
        raise ValueError("it has no bucket below +Inf that a request could be in")
    return Histogram(total, tuple(shares))


def from_quantiles(quantiles: Mapping[float, float], unit: timedelta) -> Histogram | None:
    """Return the histogram of a native one, of which only some quantiles are known."""
    known = sorted((q, v) for q, v in quantiles.items() if not math.isnan(v) and v >= 0)
    shares: list[tuple[timedelta, float]] = []
    longest = 0.0
    for share, value in known:
        longest = max(longest, value)  # quantiles ascend
        if longest <= _LONGEST / unit:
            shares.append((longest * unit, share))
    return Histogram(math.nan, tuple(shares)) if shares else None
