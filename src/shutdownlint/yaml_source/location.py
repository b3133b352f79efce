"""Where something stands in a file."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from msgspec import Struct

KeyPath = tuple[str | int, ...]


class EntryPart(Enum):
    """Which part of an entry a place means."""

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

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class SourceLocation(Protocol):
    """Something that can tell where it stands, when asked."""

    @property
    def source(self) -> str | None:
        """The template that a Helm rendering names for it."""

    @property
    def parent(self) -> SourceLocation:
        """The entry it stands in."""

    def region(self) -> Region:
        """Its place in a file."""


class FixedLocation(Struct, frozen=True):
    """A place that is known already."""

    known: Region
    source: str | None = None

    @property
    def parent(self) -> FixedLocation:
        """Unknown: the place itself."""
        return self

    def region(self) -> Region:
        """The place."""
        return self.known
