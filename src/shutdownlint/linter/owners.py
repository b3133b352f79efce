"""The configuration of the teams that own findings; every run imports it."""

from __future__ import annotations

from msgspec import Struct


class Owners(Struct, frozen=True):
    """The configuration of owners: a label's name, and teams by file patterns."""

    label: str = ""
    paths: tuple[tuple[str, str], ...] = ()
