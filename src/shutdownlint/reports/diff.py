"""Changed files as a unified diff."""

from __future__ import annotations

import difflib


def unified(name: str, old: bytes, new: bytes) -> str:
    """The diff of one file, as ``git apply`` and ``patch -p1`` take it."""
    before, after = (
        text.decode("utf-8", "replace").splitlines(keepends=True) for text in (old, new)
    )
    shown = name.removeprefix("./").lstrip("/")
    lines = []
    for line in difflib.unified_diff(before, after, f"a/{shown}", f"b/{shown}"):
        lines.append(line)
        if not line.endswith("\n"):
            lines.append("\n\\ No newline at end of file\n")
    return "".join(lines)
