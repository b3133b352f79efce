"""A setting is a value with its origin; nothing enters the model without one."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from shutdownlint.shutdown.durations import written

if TYPE_CHECKING:
    from shutdownlint.yaml_source.location import SourceLocation

T_co = TypeVar("T_co", covariant=True)


class OriginKind(StrEnum):
    """Who decided a value."""

    EXPLICIT = "explicit"
    INHERITED = "inherited"
    DEFAULT = "default"
    MEASURED = "measured"


class Origin(Struct, frozen=True):
    """Where a value comes from.

    ``told`` is how a message names it ("the Kubernetes default", "mesh config"). ``location`` is
    where it is written; for a default, the nearest entry where it could have been set.
    """

    kind: OriginKind
    told: str
    location: SourceLocation | None = None

    @property
    def written_down(self) -> bool:
        """Whether somebody wrote this value in the input."""
        return self.kind in (OriginKind.EXPLICIT, OriginKind.INHERITED)

    def told_in(self, file: str | None) -> str:
        """How a text about ``file`` names it: its line there, or the other file and line."""
        if not self.written_down or self.location is None:
            return self.told
        region = self.location.region()
        at = f"line {region.line}" if region.file == file else f"{region.file}:{region.line}"
        return f"{self.told}, {at}" if self.kind is OriginKind.INHERITED else at

    def __str__(self) -> str:
        return self.told_in(None)


class Setting(Struct, Generic[T_co], frozen=True):
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

    def told_in(self, file: str | None) -> str:
        """The setting with its origin, in a text about ``file``."""
        return f"{self.name} {self.shown} ({self.origin.told_in(file)})"

    def __str__(self) -> str:
        return self.told_in(None)


class Reason(Struct, frozen=True):
    """Why something happens when it does: words, and the settings that are filled into them.

    Written out only when somebody reads it, since a setting's place has to be looked up.
    """

    text: str = "{}"
    settings: tuple[Setting[object], ...] = ()

    @classmethod
    def of(cls, setting: Setting[object], text: str = "{}") -> Reason:
        """One setting is the reason."""
        return cls(text, (setting,))

    def told_in(self, file: str | None) -> str:
        """The reason, in a text about ``file``."""
        return self.text.format(*(setting.told_in(file) for setting in self.settings))

    def __str__(self) -> str:
        return self.told_in(None)
