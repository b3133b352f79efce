"""Changed files as a unified diff."""

from __future__ import annotations

import difflib
import re

from shutdownlint.outputs import is_command
from shutdownlint.reports.report import safe


class UnsafeDiffError(Exception):
    """A diff with a line that would act on a terminal or a CI system; a diff has no escapes."""


def unified_diff(name: str, old: bytes, new: bytes) -> str:
    """Return the diff of one file, as ``git apply`` and ``patch -p1`` take it.

    Raises ``UnsafeDiffError``.
    """
    before, after = (
        text.decode("utf-8", "replace").splitlines(keepends=True) for text in (old, new)
    )
    relative = name.removeprefix("./").lstrip("/")
    lines = []
    old_name, new_name = _quote(f"a/{relative}"), _quote(f"b/{relative}")
    for line in difflib.unified_diff(before, after, old_name, new_name):
        shown = line.rstrip("\r\n").replace("\t", " ")
        if safe(shown) != shown or is_command(shown):
            raise UnsafeDiffError(f"{name}: a line of its diff would act on the screen: use --fix")
        lines.append(line)
        if not line.endswith("\n"):
            lines.append("\n\\ No newline at end of file\n")
    return "".join(lines)


def _quote(name: str) -> str:
    """Return a file's name as git writes it in a diff: unusual characters quoted, byte by byte."""
    if not re.search(r'[\x00-\x1f"\\\x7f-\uffff]', name):
        return name
    data = name.encode(errors="surrogateescape")
    plain = (chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:03o}" for b in data)
    return f'"{"".join(plain)}"'
