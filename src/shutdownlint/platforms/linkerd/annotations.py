"""Linkerd's annotations: a pod's own, then those that it inherits from its namespace."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.manifests.resources import Namespace
from shutdownlint.numbers import clip_whole
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.platforms.linkerd import facts, problems
from shutdownlint.platforms.pod_annotations import AnnotationIgnored, read_bool, read_seconds
from shutdownlint.shutdown.durations import ZERO, format_duration, seconds
from shutdownlint.wording import close_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.versions import Version

#: linkerd2-proxy linkerd/app/src/env/types.rs:45-62.
_PROXY_DURATION: Final = lazy_pattern(r"\s*(\d+)(ms|s|m|h|d)?\s*")
_UNITS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_MAX_NUMBER: Final = 10**9
_SECOND: Final = timedelta(seconds=1)


class Annotation(Struct, frozen=True):
    """An annotation's text, where it is written, and whether on the namespace."""

    key: str
    text: str
    location: NodeRef
    inherited: bool = False


class Annotations:
    """The annotations that the injector looks at for one workload's pods."""

    def __init__(
        self, workload: Workload, context: AnalysisContext, version: Version | None
    ) -> None:
        self._own = workload.template.metadata.annotations
        self._ref = workload.annotations
        self._version = version
        namespaces = context.in_namespace_of(Namespace, workload) if workload.namespace else ()
        #: Whether the namespace is among the files.
        self.namespace_known = bool(namespaces)
        self._namespace = namespaces[0] if len(namespaces) == 1 else None

    def get(self, key: str) -> Annotation | None:
        """Return the annotation that counts for a key."""
        if key in self._own:
            return Annotation(key, self._own[key], self._ref / key)
        if self._namespace is None or not self._is_inherited(key):
            return None
        text = self._namespace.model.metadata.annotations.get(key)
        if text is None:
            return None
        location = self._namespace.ref / "metadata" / "annotations" / key
        return Annotation(key, text, location, inherited=True)

    def on_namespace(self, key: str) -> str | None:
        """Return the namespace's own annotation."""
        if self._namespace is None:
            return None
        return self._namespace.model.metadata.annotations.get(key)

    def _is_inherited(self, key: str) -> bool:
        if key == facts.NATIVE_BETA:
            return self._version is not None and self._version in facts.BETA_INHERITED_IN.value
        return key in facts.INHERITED.value


def read_proxy_duration(text: str) -> timedelta:
    """Return a duration as the proxy reads it: one number and unit. Raises ``ValueError``."""
    found = _PROXY_DURATION.fullmatch(text)
    number = clip_whole(found[1], _MAX_NUMBER) if found is not None else 0
    if found is None or (found[2] is None and number != 0):
        raise ValueError("is not one number with one unit, such as 30s")
    return seconds(min(number * _UNITS[found[2] or "s"], 10**9))


def value_problems(annotations: Annotations) -> Iterator[problems.LinkerdProblem]:
    """Values of a pod's own annotations that the injector ignores."""
    grace = format_duration(facts.SHUTDOWN_GRACE_PERIOD.value)
    checks = (
        (facts.GRACE_ANNOTATION, go_duration, f"the default of {grace}"),
        (facts.WAIT_ANNOTATION, read_seconds, "the default, no wait"),
        *((key, read_bool, "the default of the release") for key in facts.NATIVE_ANNOTATIONS),
    )
    for key, read, default in checks:
        found = annotations.get(key)
        if found is None or found.inherited or has_placeholder(found.text):
            continue
        try:
            read(found.text)
        except ValueError as error:
            reason = str(error)
            yield problems.LinkerdAnnotationValue(
                location=found.location,
                key=key,
                value=found.text,
                reason=_reason(found.text, reason),
                default=default,
                instead=_corrected(key, found.text),
                value_format=ValueFormat.STRING,
            )
    inject = annotations.get(facts.INJECT)
    if inject is None or inject.inherited or has_placeholder(inject.text):
        return
    if inject.text not in ("", *facts.INJECT_VALUES.value):
        yield problems.LinkerdInjectValue(
            location=inject.location, key=facts.INJECT, value=inject.text
        )


def _reason(text: str, reason: str) -> str:
    """Return the reason without the value, which the message has already."""
    if reason.startswith("missing unit"):
        return "has no unit"
    if reason.startswith(("invalid duration", "duration")):
        return "is not a duration such as 30s"
    return reason.replace(repr(text), "it")


def _corrected(key: str, text: str) -> str:
    """Return the value with or without its unit, as the annotation is read."""
    if key == facts.GRACE_ANNOTATION:
        return f"{text}s" if text.isascii() and text.isdigit() else ""
    if key == facts.WAIT_ANNOTATION:
        with suppress(ValueError):
            value = go_duration(text)
            return str(value // _SECOND) if value >= ZERO and not value % _SECOND else ""
    return ""


def unknown_annotations(workload: Workload) -> Iterator[AnnotationIgnored]:
    """Names that are close to one that the injector reads."""
    for key in workload.template.metadata.annotations:
        prefix, _, name = key.rpartition("/")
        if f"{prefix}/" not in (*facts.PREFIXES, "config.beta.linkerd.io/"):
            continue
        if key in (facts.INJECT, *facts.TIMING_ANNOTATIONS):
            continue
        instead = _meant(name)
        if instead is not None:
            yield AnnotationIgnored(
                location=(workload.annotations / key).key,
                key=key,
                reason=f"Linkerd reads {instead}",
                instead=instead,
            )


def _meant(name: str) -> str | None:
    known = {key.rpartition("/")[2]: key for key in reversed(facts.TIMING_ANNOTATIONS)}
    close = close_name(name, tuple(known), 0.85)
    return known[close] if close is not None else None


def native_annotation_problems(
    annotations: Annotations, version: Version | None
) -> Iterator[AnnotationIgnored]:
    """Spellings of the native-sidecar annotation that a known release does not read."""
    if version is None:
        return
    read = [k for k in facts.NATIVE_ANNOTATIONS if version >= facts.NATIVE_SPELLED_SINCE[k].value]
    instead = read[0] if read and not any(map(annotations.get, read)) else ""
    for key in facts.NATIVE_ANNOTATIONS:
        found = annotations.get(key)
        since = facts.NATIVE_SPELLED_SINCE[key].value
        if found is not None and not found.inherited and version < since:
            yield AnnotationIgnored(
                location=found.location.key,
                key=key,
                reason=f"this spelling is read since Linkerd {since.major}.{since.minor}",
                instead=instead,
                version=version,
            )
