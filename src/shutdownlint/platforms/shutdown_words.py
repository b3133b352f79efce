"""The words of policies that are about the shutdown of pods."""

from __future__ import annotations

from typing import Any

from shutdownlint.platforms.registry import SHUTDOWN_WORDS


def find_shutdown_words(data: Any) -> tuple[str, ...]:
    """Return the words about shutdown in a part of a policy."""
    text = str(data)
    found = [word for each in SHUTDOWN_WORDS if (word := each.decode()) in text]
    return tuple(word for word in found if word != "lifecycle" or "preStop" not in found)
