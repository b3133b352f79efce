"""Kyverno's patterns for values: wildcards, comparisons, ranges, ``|`` and ``&``.

Source: kyverno pkg/engine/pattern/pattern.go, ext/wildcard. Numbers are compared as numbers. What
compares quantities and durations is not decided here.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from shutdownlint.numbers import read_whole
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.mutations import UnreadablePatchError

_COMPARISON: Final = lazy_pattern(r"(>=|<=|>|<)\s*(.*)")
_RANGE: Final = lazy_pattern(r"([0-9]{1,18})\s*(!?)-\s*([0-9]{1,18})")
_OTHER_RANGE: Final = lazy_pattern(r"[0-9.]++\w*+\s*+!?-\s*[0-9.]++\w*")
_MOST_PARTS: Final = 100


def holds_for(pattern: str, value: str) -> bool:
    """Whether a value is what a pattern says.

    Raises ``UnreadablePatchError`` where that is not certain.
    """
    parts = [part.split("&") for part in pattern.split("|")]
    if sum(map(len, parts)) > _MOST_PARTS:
        raise UnreadablePatchError
    # Each part is looked at, so that one which is not certain makes the whole uncertain.
    found = [[_holds(part.strip(), value.strip()) for part in together] for together in parts]
    return any(all(together) for together in found)


def _holds(pattern: str, value: str) -> bool:
    comparison = _COMPARISON.fullmatch(pattern)
    if comparison is not None:
        sign, bound = comparison.groups()
        number, limit = _number(value), _number(bound)
        holds = {
            ">": number > limit,
            ">=": number >= limit,
            "<": number < limit,
            "<=": number <= limit,
        }
        return holds[sign]
    within = _RANGE.fullmatch(pattern)
    if within is not None:
        first, outside, last = within.groups()
        return (_number(first) <= _number(value) <= _number(last)) is not bool(outside)
    if _OTHER_RANGE.fullmatch(pattern):
        raise UnreadablePatchError
    if pattern.startswith("!"):
        return not fnmatchcase(value, _plain(pattern[1:].strip()))
    return fnmatchcase(value, _plain(pattern))


def _number(text: str) -> int:
    number = read_whole(text.strip(), 18)
    if number is None:
        raise UnreadablePatchError
    return number


def _plain(pattern: str) -> str:
    return pattern.replace("[", "[[]")
