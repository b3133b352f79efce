"""Settings that an injector reads from a pod's annotations, with their defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.numbers import read_whole
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.problem import Problem
from shutdownlint.shutdown.durations import ZERO, format_duration, seconds
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator
    from datetime import timedelta

    from shutdownlint.manifests.workloads import Workload

_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


class AnnotationIgnored(Problem, frozen=True, kw_only=True):
    """An annotation that no injector takes, because of its name or its value.

    ``instead`` is the name that is meant, empty where that is not certain.
    """

    key: str
    reason: str
    instead: str = ""


class AnnotationMisplaced(Problem, frozen=True, kw_only=True):
    """An annotation of pods on the workload's own metadata, where nothing reads it."""

    key: str
    object_kind: str


PROBLEMS: Final = (AnnotationIgnored, AnnotationMisplaced)


class PodAnnotations:
    """The annotations of one workload's pods, read as ``platform`` reads them.

    Values that it cannot read are added to ``problems``, and the default applies. Where a value is
    a placeholder, the default is an assumption.
    """

    def __init__(self, workload: Workload, problems: list[Problem], title: str) -> None:
        self._texts = workload.template.metadata.annotations
        self._ref = workload.annotations
        self._problems = problems
        self._title = title
        self._assumed: list[Assumption] = []

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """One for each value read so far that is a placeholder."""
        return tuple(self._assumed)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return a value that is true or false."""
        found = self._read(key, read_bool, "true" if default else "false")
        return default if found is None else bool(found)

    def is_one_of(self, key: str, words: Container[str]) -> bool:
        """Whether the value is one of these words, in any case."""
        return bool(self._read(key, lambda text: text.strip().lower() in words, "false"))

    def seconds(self, name: str, key: str, default: timedelta) -> Setting[timedelta]:
        """Return a whole number of seconds."""
        return self._setting(name, key, default, read_seconds)

    def duration(self, name: str, key: str, default: timedelta) -> Setting[timedelta]:
        """Return a duration as Go reads it."""
        return self._setting(name, key, default, _read_duration)

    def _setting(
        self, name: str, key: str, default: timedelta, read: Callable[[str], timedelta]
    ) -> Setting[timedelta]:
        found = self._read(key, read, format_duration(default))
        location = self._ref / key
        if found is None:
            label = f"{self._title}'s default"
            return Setting(name, default, Origin(OriginKind.DEFAULT, label, location))
        return Setting(name, found, Origin(OriginKind.EXPLICIT, key, location))

    def _read(self, key: str, read: Callable[[str], Any], default: str) -> Any:
        text = self._texts.get(key)
        if text is None:
            return None
        if has_placeholder(text):
            text = f"{key} is a placeholder: {default} is assumed"
            self._assumed.append(Assumption(text, "render the manifest"))
            return None
        try:
            return read(text)
        except ValueError as error:
            reason = f"{str(error).replace(repr(text), 'it')}: the default applies"
            location = self._ref / key
            self._problems.append(
                AnnotationIgnored(location=location, key=key, reason=f"it {reason}")
            )
            return None


def misplaced_annotations(workload: Workload, keys: Iterable[str]) -> Iterator[AnnotationMisplaced]:
    """Annotations of pods that are on the workload itself and not on its pods."""
    if workload.ref.key_path == workload.object_ref.key_path:
        return
    own, wanted = workload.template.metadata.annotations, set(keys)
    here = workload.object_ref / "metadata" / "annotations"
    for key in workload.owner.annotations:
        if key in wanted and key not in own:
            yield AnnotationMisplaced(
                location=(here / key).key, key=key, object_kind=workload.id.kind
            )


def read_bool(text: str) -> bool:
    """Return a boolean as Go's strconv.ParseBool reads it. Raises ``ValueError``."""
    if text not in _BOOLS:
        raise ValueError("is neither 'true' nor 'false'")
    return _BOOLS[text]


def read_seconds(text: str) -> timedelta:
    """Return a whole number of seconds. Raises ``ValueError``."""
    number = read_whole(text)
    if number is None:
        raise ValueError("is not a whole number of seconds")
    return seconds(number)


def _read_duration(text: str) -> timedelta:
    try:
        value = go_duration(text)
    except ValueError:
        raise ValueError(f"is not a duration such as {format_duration(seconds(30))}") from None
    return max(value, ZERO)
