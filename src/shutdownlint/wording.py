"""Small helpers for sentences that people read."""

from __future__ import annotations


def plural(count: int, noun: str) -> str:
    """A count with its noun: ``1 file``, ``2 files``, ``1,200 files``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
