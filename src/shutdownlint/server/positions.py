"""Places of the linter and of editors: lines from 1 or 0, columns in code points or UTF-16."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.yaml_source.location import Region


def units(text: str) -> int:
    """Return the length of a text in UTF-16 code units, as editors count."""
    return len(text) + sum(ord(letter) > 0xFFFF for letter in text)


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends, split where editors and YAML both do."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def to_range(region: Region, lines: Sequence[str]) -> types.Range:
    """Return a region of the linter as a range of an editor, within the text."""
    start = _position(region.line, region.column, lines)
    end = _position(region.end_line, region.end_column, lines)
    return types.Range(start, max(start, end, key=_order))


def to_loose_range(region: Region) -> types.Range:
    """Return the range of a region in a file whose text is not known: columns as written."""
    start = types.Position(region.line - 1, region.column - 1)
    return types.Range(start, types.Position(region.end_line - 1, region.end_column - 1))


def _order(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def _position(line: int, column: int, lines: Sequence[str]) -> types.Position:
    number = min(max(line - 1, 0), max(len(lines) - 1, 0))
    text = lines[number] if lines else ""
    return types.Position(number, units(text[: max(column - 1, 0)]))


def text_edit(old: str, new: str) -> types.TextEdit:
    """Return the one edit that makes a text of another: what differs, whole lines of it."""
    before, after = old.split("\n"), new.split("\n")
    start = 0
    while start < min(len(before), len(after)) and before[start] == after[start]:
        start += 1
    end = 0
    most = min(len(before), len(after)) - start
    while end < most and before[-1 - end] == after[-1 - end]:
        end += 1
    last = len(before) - end
    text = "\n".join(after[start : len(after) - end])
    if last < len(before):  # up to the beginning of the first line that stays
        text += "\n" if len(after) - end > start else ""
        place = types.Range(types.Position(start, 0), types.Position(last, 0))
        return types.TextEdit(place, text)
    if start == len(before):  # only lines at the end are new
        column = units(before[-1])
        place = types.Range(types.Position(start - 1, column), types.Position(start - 1, column))
        return types.TextEdit(place, f"\n{text}")
    if len(after) - end == start and start:  # the last lines go, with the end of the one before
        begin = types.Position(start - 1, units(before[start - 1]))
    else:
        begin = types.Position(start, 0)
    finish = types.Position(len(before) - 1, units(before[-1]))
    return types.TextEdit(types.Range(begin, finish), text)
