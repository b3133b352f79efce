"""A file's bytes into the texts of its documents.

``---`` at column 0 always ends a document in libyaml, so the split needs no parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.patterns import lazy_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKER_REST: Final = lazy_pattern(rb"[ \t]*(?:#[\x20-\x7e\t]*)?(?:\r\n|\n|\Z)")


class Chunk(Struct, frozen=True):
    """The text of one document (or of several that ``...`` separates).

    ``index`` counts the chunks of a file; ``start`` is where it begins in the file, in bytes.
    """

    data: bytes
    first_line: int
    index: int
    start: int = 0


def split(data: bytes) -> Iterator[Chunk]:
    """Yield the documents of a file; a file that is not ASCII-compatible text stays whole."""
    start, line, index = 0, 1, 0
    for marker in () if b"\0" in data else _markers(data):
        if marker > start:
            yield Chunk(data[start:marker], line, index, start)
            index += 1
            line += data.count(b"\n", start, marker)
        rest = _MARKER_REST.match(data, marker + 3)
        start = rest.end() if rest else marker
        line += data.count(b"\n", marker, start)
    if start < len(data):
        yield Chunk(data[start:], line, index, start)


def _markers(data: bytes) -> Iterator[int]:
    """Yield the starts of lines that are ``---`` followed by a blank or the line's end."""
    marker = 0 if data.startswith(b"---") else data.find(b"\n---") + 1
    more = marker > 0 or data.startswith(b"---")
    while more:
        if data[marker + 3 : marker + 4] in (b"", b" ", b"\t", b"\r", b"\n"):
            yield marker
        marker = data.find(b"\n---", marker + 3) + 1
        more = marker > 0
