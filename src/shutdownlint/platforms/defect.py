"""Something wrong in what is written, before any timing: the platform's reader tells it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shutdownlint.shutdown import Assumption
    from shutdownlint.yamltext.place import Where


@dataclass(frozen=True, slots=True)
class Defect:
    """``what`` is the name that rules ask for; ``words`` fill their messages."""

    what: str
    where: Where
    words: dict[str, str] = field(default_factory=dict)
    container: str | None = None
    assumptions: tuple[Assumption, ...] = ()
