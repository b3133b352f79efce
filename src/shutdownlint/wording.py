"""Small helpers for sentences that people read."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from shutdownlint import limits

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The similarity of names that people mix up: "fail_on" and "fail-on" are, "SL999" and "SL491" not.
_ALIKE: Final = 0.7


def plural(count: int, noun: str, several: str = "") -> str:
    """Return a count with its noun: ``1 file``, ``2 files``, ``1,200 files``."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def internal_error(error: Exception) -> str:
    """Return the words for a mistake of ours, which is to be reported."""
    return f"internal error ({type(error).__name__}: {error}); please report it"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence for an unknown name: ``; did you mean X?``, or nothing."""
    # Comparing takes time in proportion to both lengths and to the number of names.
    short = (each for each in known if len(each) <= limits.MAX_COMPARED_NAME)
    by_lower = {each.lower(): each for each in islice(short, limits.MAX_COMPARED_NAMES)}
    if len(name) > limits.MAX_COMPARED_NAME:
        return ""
    found = close_name(name.lower(), tuple(by_lower), _ALIKE)
    return f"; did you mean {by_lower[found]}?" if found is not None else ""


@lru_cache(maxsize=4096)
def close_name(name: str, known: tuple[str, ...], cutoff: float) -> str | None:
    """Return the known name that is nearly this one; input has the same names over and over."""
    # Names of very different lengths cannot be; comparing lengths is a hundred times quicker.
    alike = [k for k in known if 2 * min(len(k), len(name)) >= cutoff * (len(k) + len(name))]
    # So are their letters, and most names end here without the library.
    alike = [k for k in alike if 2 * _common(k, name) >= cutoff * (len(k) + len(name))]
    if not alike:
        return None
    from difflib import get_close_matches  # noqa: PLC0415 - only for names that are nearly known

    return next(iter(get_close_matches(name, alike, 1, cutoff)), None)


def _common(one: str, other: str) -> int:
    """Count the letters that two names have in common, at any position."""
    return sum(min(one.count(letter), other.count(letter)) for letter in set(one))
