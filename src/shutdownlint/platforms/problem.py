"""Something wrong in what is written, before any timing: the platform's reader tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from shutdownlint.shutdown import Assumption
    from shutdownlint.yaml_source.location import SourceLocation


class ConfigProblem(Struct, frozen=True):
    """``what`` is the name that rules ask for; ``words`` fill their messages."""

    what: str
    location: SourceLocation
    words: dict[str, str] = field(default_factory=dict)
    container: str | None = None
    assumptions: tuple[Assumption, ...] = ()
