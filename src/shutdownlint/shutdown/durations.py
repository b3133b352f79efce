"""Durations, known or only bounded."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from msgspec import Struct

ZERO: Final = timedelta(0)
#: Stands for "as long as you like" where a bound is open: a century, beyond any grace in use.
ENDLESS: Final = timedelta(days=36525)


def seconds(number: float) -> timedelta:
    """A duration of so many seconds."""
    return timedelta(seconds=number)


def written(duration: timedelta) -> str:
    """A duration as people write it in this field: ``30s``, ``1.5s``, ``2m``, ``1h30m``."""
    total = duration.total_seconds()
    if total < 0:
        return f"-{written(-duration)}"
    if total < 120 or total != int(total):
        return f"{total:g}s"
    whole = int(total)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    if hours and not rest:
        return f"{hours}h{minutes}m" if minutes else f"{hours}h"
    return f"{whole}s" if rest or hours else f"{minutes}m"


class Span(Struct, frozen=True):
    """A duration of which at least the bounds are known; ``high`` None is unbounded."""

    low: timedelta
    high: timedelta | None

    @classmethod
    def exactly(cls, duration: timedelta) -> Span:
        """A known duration."""
        return cls(duration, duration)

    @classmethod
    def at_least(cls, duration: timedelta) -> Span:
        """A duration that is no shorter; how long, nobody can tell from here."""
        return cls(duration, None)

    @property
    def known(self) -> bool:
        """Whether this is one number."""
        return self.low == self.high

    def __add__(self, other: Span) -> Span:
        high = None if self.high is None or other.high is None else self.high + other.high
        return Span(self.low + other.low, high)

    def together(self, other: Span) -> Span:
        """Both at once, until the later one ends."""
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return Span(max(self.low, other.low), high)

    def ends(self, limit: timedelta) -> tuple[timedelta, ...]:
        """The values worth trying: both bounds, an open one cut ``limit`` above the low one.

        And the whole seconds next to each, and just short of them, since the kubelet counts
        whole seconds.
        """
        high = self.low + limit if self.high is None else self.high
        if high == self.low:
            return (self.low,)
        second, instant = timedelta(seconds=1), timedelta(microseconds=1)
        # Whole seconds next to each bound, and just short of them.
        first, last = -(-self.low // second) * second, high // second * second
        near = (first, first + second - instant, last, last - instant, high - instant)
        return (self.low, *(min(max(value, self.low), high) for value in near), high)

    def __str__(self) -> str:
        if self.low >= ENDLESS and self.high is None:
            return "forever"
        if self.known:
            return written(self.low)
        if self.high is None:
            return f"at least {written(self.low)}" if self.low else "an unknown time"
        return f"{written(self.low)} to {written(self.high)}"
