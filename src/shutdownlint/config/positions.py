"""Lines of the keys of a TOML file, for messages: the standard parser gives none."""

from __future__ import annotations

from collections import Counter
from typing import Final

from shutdownlint import limits
from shutdownlint.patterns import lazy_pattern

_HEADER: Final = lazy_pattern(r"\s*(\[\[?)([^\]#]+)\]")
_KEY: Final = lazy_pattern(
    r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*="""
)
_PART: Final = lazy_pattern(r"""[\w-]+|"[^"]*"|'[^']*'""")

KeyPath = tuple[str | int, ...]


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the line of each table and key, by its path; entries of an array have their number.

    Text inside a string of several lines can look like a key; it only adds paths that are
    not asked for.
    """
    found: dict[KeyPath, int] = {}
    counts: Counter[KeyPath] = Counter()
    table: KeyPath = ()
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header is not None:
            table = _parts(header[2][: limits.MAX_PATTERN_LENGTH])
            if header[1] == "[[":
                counts[table] += 1
            # A table below an array belongs to its last entry.
            table = _numbered(table, counts)
            found.setdefault(table, number)
            continue
        key = _KEY.match(line)
        if key is not None:
            found.setdefault((*table, *_parts(key[1])), number)
    return found


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int | None:
    """Return the line of a key, else of what it is in; None where that is the file."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return None


def _parts(text: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in _PART.findall(text))


def _numbered(table: KeyPath, counts: Counter[KeyPath]) -> KeyPath:
    path: KeyPath = ()
    plain: KeyPath = ()
    for part in table:
        path, plain = (*path, part), (*plain, part)
        if counts[plain]:
            path = (*path, counts[plain] - 1)
    return path
