"""Variables of Istio's proxy whose name is nearly that of a drain setting."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.istio import facts
from shutdownlint.wording import close_name

_NAMES: Final = (facts.EXIT_ON_ZERO_ENV, facts.MINIMUM_DRAIN_ENV)
#: Shorter words are no abbreviation of another one.
_SHORTEST: Final = 3


def intended_name(name: str) -> str | None:
    """Return the drain variable that is probably meant; None for it, and for every other name.

    Names are compared word by word: ``MIN_DRAIN_DURATION`` has an abbreviation,
    ``EXIT_ON_ZERO_CONNECTIONS`` lacks a word.
    """
    if name in _NAMES or name == facts.STALE_DRAIN_ENV:
        return None
    words = [word for word in name.upper().replace("-", "_").split("_") if word]
    for known in _NAMES:
        theirs = known.split("_")
        if len(words) >= 2 and _is_same(words[0], theirs[0]) and _all_in(words, theirs):
            return known
    return close_name(name.upper(), tuple(_NAMES), 0.88)


def _all_in(words: list[str], known: list[str]) -> bool:
    """Whether every word is one of the known ones, in their order."""
    position = 0
    for word in words:
        while position < len(known) and not _is_same(word, known[position]):
            position += 1
        if position == len(known):
            return False
        position += 1
    return True


def _is_same(word: str, known: str) -> bool:
    """Whether a word is another one, its beginning, or nearly the same."""
    if word == known or (len(word) >= _SHORTEST and known.startswith(word)):
        return True
    return len(word) > _SHORTEST and close_name(word, (known,), 0.8) is not None
