"""A fix of a finding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fix:
    """What to write instead, told in words to the person who reads the finding."""

    words: str
