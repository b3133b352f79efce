"""Where something stands in a file."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from msgspec import Struct

Route = tuple[str | int, ...]


class Part(Enum):
    """Which part of an entry a place means."""

    KEY = "key"
    VALUE = "value"


class Place(Struct, frozen=True, order=True):
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


class Where(Protocol):
    """Something that can tell where it stands, when asked."""

    @property
    def source(self) -> str | None:
        """The template that a Helm rendering names for it."""

    @property
    def parent(self) -> Where:
        """The entry it stands in."""

    def place(self) -> Place:
        """Its place in a file."""


class At(Struct, frozen=True):
    """A place that is known already."""

    known: Place
    source: str | None = None

    @property
    def parent(self) -> At:
        """Unknown: the place itself."""
        return self

    def place(self) -> Place:
        """The place."""
        return self.known
