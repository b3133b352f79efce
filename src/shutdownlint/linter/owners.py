"""What the configuration says about the teams that own findings; every run imports it."""

from __future__ import annotations

from msgspec import Struct


class Owners(Struct, frozen=True):
    """What the configuration says about owners: a label's name, and teams by files' patterns."""

    label: str = ""
    paths: tuple[tuple[str, str], ...] = ()
