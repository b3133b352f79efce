"""A fix of a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.yaml_source.location import SourceLocation


class Change(Struct, frozen=True):
    """One change of a fix: ``action`` is set, remove, rename or quote; ``field`` a setting's name.

    ``location`` is the place of the value, whether it exists or not; ``value`` what it becomes.
    """

    action: str
    field: str
    location: SourceLocation | None
    value: timedelta | bool | int | str | None = None


class Fix(Struct, frozen=True):
    """What to write instead: in words, and as the changes that a program can make."""

    words: str
    changes: tuple[Change, ...] = ()
    safe: bool = False
