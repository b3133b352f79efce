"""How a fact about a platform stands in the code: its value and where it was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Fact(Generic[T_co]):
    """A default, limit or version, with the source it was read in."""

    value: T_co
    source: str


@dataclass(frozen=True, slots=True)
class Dated:
    """What a setting means, release by release: versions (as a range is written) and meaning."""

    setting: str
    meanings: tuple[tuple[str, str], ...]
    source: str
