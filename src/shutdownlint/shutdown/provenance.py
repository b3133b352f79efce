"""Settings with their origin, and the causes of events."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from shutdownlint.shutdown.durations import format_duration

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class OriginLocation(Protocol):
    """The place where a value is written. The model never looks inside; it only prints it."""

    def describe(self, file: str | None) -> str:
        """Describe it in a text about ``file``: ``line 12`` there, ``other.yaml:12`` elsewhere."""


class OriginKind(StrEnum):
    """Who decided a value."""

    EXPLICIT = "explicit"
    INHERITED = "inherited"
    DEFAULT = "default"
    MEASURED = "measured"
    ASSUMED = "assumed"


class Origin(Struct, frozen=True):
    """The origin of a value.

    ``label`` is how messages name it ("the Kubernetes default", "mesh config"). ``location`` is
    where it is written; for a default, the nearest entry where it could have been written.
    """

    kind: OriginKind
    label: str
    location: OriginLocation | None = None

    @property
    def written(self) -> bool:
        """Whether somebody wrote this value in the input."""
        return self.kind in (OriginKind.EXPLICIT, OriginKind.INHERITED)

    def describe(self, file: str | None) -> str:
        """Describe it in a text about ``file``: its line, the other file and line, or its label."""
        if not self.written or self.location is None:
            return self.label
        at = self.location.describe(file)
        return f"{self.label}, {at}" if self.kind is OriginKind.INHERITED else at

    def __str__(self) -> str:
        return self.describe(None)


class Setting(Struct, Generic[T_co], frozen=True):
    """A named value and its origin. ``name`` is what people call it in their files."""

    name: str
    value: T_co
    origin: Origin

    @property
    def value_text(self) -> str:
        """The value as people write it."""
        value: object = self.value
        if isinstance(value, timedelta):
            return format_duration(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        return str(value)

    def describe(self, file: str | None) -> str:
        """Return the setting with its origin, in a text about ``file``."""
        return f"{self.name} {self.value_text} ({self.origin.describe(file)})"

    def __str__(self) -> str:
        return self.describe(None)


def with_value(setting: Setting[object], value: T) -> Setting[T]:
    """Return the same setting with another value."""
    return Setting(setting.name, value, setting.origin)


class CauseKind(StrEnum):
    """Why something happens when it does; the texts are in ``CAUSE_TEXTS``."""

    SETTING = "setting"
    POD_DELETED = "pod-deleted"
    STOPPED_WITH_POD = "stopped-with-pod"
    CONTAINERS_ENDED = "containers-ended"
    HOOK_ABANDONED = "hook-abandoned"
    HOOK_STARTS_DRAIN = "hook-starts-drain"
    HOOK_SIGNALS = "hook-signals"
    REQUESTS_FINISHED = "requests-finished"
    NO_OPEN_CONNECTION = "no-open-connection"
    WRAPPER_KILLS = "wrapper-kills"
    WRAPPER_ENDS = "wrapper-ends"
    NO_CONTAINER = "no-container"
    NEEDED_PROCESS = "needed-process"
    SERVED = "served"


#: The texts of causes; ``{}`` are the settings, ``{name}`` the process or container.
CAUSE_TEXTS: dict[CauseKind, str] = {
    CauseKind.SETTING: "{}",
    CauseKind.POD_DELETED: "the pod is deleted",
    CauseKind.STOPPED_WITH_POD: "it is stopped with the pod",
    CauseKind.CONTAINERS_ENDED: "a native sidecar is stopped after the app's containers",
    CauseKind.HOOK_ABANDONED: "{}: the preStop hook is abandoned",
    CauseKind.HOOK_STARTS_DRAIN: "its preStop hook starts the drain",
    CauseKind.HOOK_SIGNALS: "{}: the preStop hook sends a signal",
    CauseKind.REQUESTS_FINISHED: "its requests are finished",
    CauseKind.NO_OPEN_CONNECTION: "{}: no open connection after {}",
    CauseKind.WRAPPER_KILLS: "{name} kills it after {}",
    CauseKind.WRAPPER_ENDS: "{name} ends, and the container with it",
    CauseKind.NO_CONTAINER: "the pod has no app container",
    CauseKind.NEEDED_PROCESS: "calls through {name} fail: {}",
    CauseKind.SERVED: "",
}


class Cause(Struct, frozen=True):
    """Why something happens when it does: a kind, and the settings that decide it.

    It becomes text only when somebody reads it, since a setting's line has to be looked up.
    """

    kind: CauseKind = CauseKind.SETTING
    settings: tuple[Setting[object], ...] = ()
    name: str = ""

    @classmethod
    def of(cls, setting: Setting[object]) -> Cause:
        """One setting is the cause."""
        return cls(CauseKind.SETTING, (setting,))

    def describe(self, file: str | None) -> str:
        """Return the cause in a text about ``file``."""
        texts = [setting.describe(file) for setting in self.settings]
        template = CAUSE_TEXTS[self.kind]
        # A process without a setting to name is described by the rest of the text.
        texts += [""] * (template.count("{}") - len(texts))
        return template.format(*texts, name=self.name).rstrip(" :")

    def __str__(self) -> str:
        return self.describe(None)
