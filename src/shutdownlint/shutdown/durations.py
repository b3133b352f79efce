"""Durations: exact ones, and ranges of which only the bounds are known."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

ZERO: Final = timedelta(0)
#: Means "without an end": a century, longer than any grace period in use.
UNBOUNDED: Final = timedelta(days=36525)
_MOST_SECONDS: Final = UNBOUNDED.total_seconds()
#: The longest time of requests if nothing states it.
ORDINARY_REQUEST: Final = timedelta(seconds=10)
#: The share of the requests that takes p99 at most.
P99_SHARE: Final = 0.99
_SECOND: Final = timedelta(seconds=1)
#: The tolerance for rounding when shares are added up.
_ROUNDING: Final = 1e-9
_INSTANT: Final = timedelta(microseconds=1)


def seconds(number: float) -> timedelta:
    """Return a duration of that many seconds, ``UNBOUNDED`` at the most, in either direction."""
    return timedelta(seconds=max(-_MOST_SECONDS, min(number, _MOST_SECONDS)))


def whole_seconds(duration: timedelta) -> timedelta:
    """Return the duration without its fraction of a second."""
    return duration // _SECOND * _SECOND


def ceil_seconds(duration: timedelta) -> timedelta:
    """Return the duration rounded up to whole seconds."""
    return -(-duration // _SECOND) * _SECOND


def position_of_share(shares: Sequence[tuple[timedelta, float]], share: float) -> int:
    """Return the place of the first duration that so large a share does not exceed.

    ``shares`` are cumulative, and their durations ascend. Their number, where none is long enough.
    """
    places = (n for n, (_, reached) in enumerate(shares) if reached >= share - _ROUNDING)
    return next(places, len(shares))


def format_duration(duration: timedelta) -> str:
    """Return a duration as people write it in this field: ``30s``, ``1.5s``, ``2m``, ``1h30m``."""
    total = duration.total_seconds()
    if total < 0:
        return f"-{format_duration(-duration)}"
    if total < 120 or total != int(total):
        return f"{total:g}s"
    whole = int(total)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours and not rest:
        return f"{hours}h{minutes}m" if minutes else f"{hours}h"
    return f"{whole}s" if rest or hours else f"{minutes}m"


class DurationRange(Struct, frozen=True):
    """A duration between two bounds; ``high`` is None without an upper bound."""

    low: timedelta
    high: timedelta | None

    @classmethod
    def exact(cls, duration: timedelta) -> DurationRange:
        """Return a duration that is known."""
        return cls(duration, duration)

    @classmethod
    def at_least(cls, duration: timedelta) -> DurationRange:
        """Return a duration without an upper bound."""
        return cls(duration, None)

    @property
    def known(self) -> bool:
        """Whether this is one number."""
        return self.low == self.high

    def __add__(self, other: DurationRange) -> DurationRange:
        high = None if self.high is None or other.high is None else self.high + other.high
        return DurationRange(self.low + other.low, high)

    def parallel(self, other: DurationRange) -> DurationRange:
        """Return the time until both have ended, if they begin together."""
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return DurationRange(max(self.low, other.low), high)

    def corner_values(self, limit: timedelta) -> tuple[timedelta, ...]:
        """Return the values to try: both bounds (an open one is cut ``limit`` above the low one).

        Also the whole seconds next to each bound, and the values just short of them, since the
        kubelet counts whole seconds.
        """
        high = self.low + limit if self.high is None else self.high
        if high == self.low:
            return (self.low,)
        first, last = ceil_seconds(self.low), whole_seconds(high)
        near = (first, first + _SECOND - _INSTANT, last, last - _INSTANT, high - _INSTANT)
        return (self.low, *(min(max(value, self.low), high) for value in near), high)

    def __str__(self) -> str:
        if self.low >= UNBOUNDED and self.high is None:
            return "forever"
        if self.known:
            return format_duration(self.low)
        if self.high is None:
            return f"at least {format_duration(self.low)}" if self.low else "an unknown time"
        return f"{format_duration(self.low)} to {format_duration(self.high)}"
