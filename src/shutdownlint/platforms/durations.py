"""Durations as Go programs read them."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from shutdownlint.numbers import clip_decimal, clip_whole, read_whole
from shutdownlint.patterns import lazy_pattern
from shutdownlint.shutdown.durations import seconds

_UNITS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_PART: Final = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h)"
_DURATION: Final = lazy_pattern(rf"([-+]?)((?:{_PART})+)")
_EACH: Final = lazy_pattern(r"([0-9]*+\.?[0-9]*+)(ns|us|µs|μs|ms|s|m|h)")
_LONGEST: Final = timedelta(days=36500)


def go_duration(text: str) -> timedelta:
    """Read what Go's ``time.ParseDuration`` reads: ``30s``, ``1m30s``, ``-5s``, ``0``.

    Raises ``ValueError`` with what is wrong. Source: Go time/format.go, ParseDuration.
    """
    if text in ("0", "+0", "-0"):
        return timedelta(0)
    number = read_whole(text[:-1], 8) if text[-1:] == "s" else None
    if number is not None:
        return seconds(number)  # nearly all are like this
    found = _DURATION.fullmatch(text)
    if found is None:
        if re.fullmatch(r"[-+]?[0-9.]+", text):
            raise ValueError(f"missing unit in duration {text!r}")
        raise ValueError(f"invalid duration {text!r}")
    most = 1e12 * _LONGEST.total_seconds()
    each = _EACH.findall(found.group(2))
    total = sum(clip_decimal(part, most) * _UNITS[unit] for part, unit in each)
    if total > _LONGEST.total_seconds():
        raise ValueError(f"duration {text!r} is too long")
    return seconds(-total if found.group(1) == "-" else total)


_SERVER_PART: Final = r"([0-9]{1,9})(us|ms|s|m|h|d)?"
_SERVER_DURATION: Final = lazy_pattern(rf"(?:{_SERVER_PART} ?){{1,6}}")
_SERVER_EACH: Final = lazy_pattern(_SERVER_PART)
_SERVER_UNITS: Final = {"us": 1e-6, "ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, None: 1}


def server_duration(text: str) -> timedelta | None:
    """Read a time of nginx: ``90s``, ``1m30s``, seconds without a unit; None for anything else."""
    text = text.strip()
    if len(text) > 60 or _SERVER_DURATION.fullmatch(text) is None:
        return None
    each = _SERVER_EACH.findall(text)
    length = sum(clip_whole(n, 10**9) * _SERVER_UNITS[unit or None] for n, unit in each)
    return seconds(min(length, _LONGEST.total_seconds()))
