"""A setting is a value with its origin; nothing enters the model without one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from shutdownlint.shutdown.span import written

if TYPE_CHECKING:
    from shutdownlint.yamltext import Where

T_co = TypeVar("T_co", covariant=True)


class OriginKind(StrEnum):
    """Who decided a value."""

    EXPLICIT = "explicit"
    INHERITED = "inherited"
    DEFAULT = "default"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from.

    ``told`` is how a message names it ("the Kubernetes default", "mesh config"); ``where`` is its
    place, or for a default the nearest place where it could have been set.
    """

    kind: OriginKind
    told: str
    where: Where | None = None

    @property
    def written_down(self) -> bool:
        """Whether somebody wrote this value in the input."""
        return self.kind in (OriginKind.EXPLICIT, OriginKind.INHERITED)

    def __str__(self) -> str:
        if self.written_down and self.where is not None:
            place = self.where.place()
            at = f"{place.file}:{place.line}"
            return f"{self.told}, {at}" if self.kind is OriginKind.INHERITED else at
        return self.told


@dataclass(frozen=True, slots=True)
class Setting(Generic[T_co]):
    """A named value and its origin."""

    name: str
    value: T_co
    origin: Origin

    @property
    def shown(self) -> str:
        """The value as people write it."""
        value: object = self.value
        if isinstance(value, timedelta):
            return written(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)

    def __str__(self) -> str:
        return f"{self.name} {self.shown} ({self.origin})"
