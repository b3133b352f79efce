"""Locations: a file with lines and columns, and the interface of things that have one."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from msgspec import Struct

KeyPath = tuple[str | int, ...]


class EntryPart(Enum):
    """The part of an entry that a region shows."""

    KEY = "key"
    VALUE = "value"


class Region(Struct, frozen=True, order=True):
    """A region of a file: lines and columns count from 1, columns in Unicode code points.

    ``end_column`` is the column after the last character, as SARIF and editors count it.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def describe(self, file: str | None) -> str:
        """Describe it in a text about ``file``: ``line 12`` there, ``other.yaml:12`` elsewhere."""
        return f"line {self.line}" if self.file == file else f"{self.file}:{self.line}"

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class SourceLocation(Protocol):
    """Something that has a region."""

    @property
    def template(self) -> str | None:
        """The template that a Helm rendering names for it."""

    @property
    def parent(self) -> SourceLocation:
        """The entry that contains it."""

    def region(self) -> Region:
        """Its region of a file."""

    def describe(self, file: str | None) -> str:
        """Its region in a text about ``file``."""


class FixedLocation(Struct, frozen=True):
    """A location whose region is known already."""

    known: Region
    template: str | None = None

    @property
    def parent(self) -> FixedLocation:
        """The location itself: what contains it is not known."""
        return self

    def region(self) -> Region:
        """Return the region."""
        return self.known

    def describe(self, file: str | None) -> str:
        """Return the region in a text about ``file``."""
        return self.known.describe(file)
