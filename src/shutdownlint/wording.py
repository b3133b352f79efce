"""Small helpers for sentences that people read."""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from shutdownlint import limits

if TYPE_CHECKING:
    from collections.abc import Iterable

#: How alike names are that people mix up: "fail_on" and "fail-on" are, "SL999" and "SL491" not.
_ALIKE: Final = 0.7


def plural(count: int, noun: str, several: str = "") -> str:
    """A count with its noun: ``1 file``, ``2 files``, ``1,200 files``."""
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence on a name that is not known: ``; did you mean X?``, or nothing."""
    # Comparing takes time in proportion to both lengths and to the number of names.
    short = (each for each in known if len(each) <= limits.MAX_COMPARED_NAME)
    by_lower = {each.lower(): each for each in islice(short, limits.MAX_COMPARED_NAMES)}
    if len(name) > limits.MAX_COMPARED_NAME:
        return ""
    found = close_name(name.lower(), tuple(by_lower), _ALIKE)
    return f"; did you mean {by_lower[found]}?" if found is not None else ""


@lru_cache(maxsize=4096)
def close_name(name: str, known: tuple[str, ...], cutoff: float) -> str | None:
    """The known name that is nearly this one; input has the same names over and over."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for names that are not known

    # Names of very different lengths cannot be; comparing lengths is a hundred times quicker.
    alike = [k for k in known if 2 * min(len(k), len(name)) >= cutoff * (len(k) + len(name))]
    return next(iter(get_close_matches(name, alike, 1, cutoff)), None) if alike else None
