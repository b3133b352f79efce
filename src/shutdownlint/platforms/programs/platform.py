"""Programs as a platform: servers and frameworks with a shutdown of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.platforms.fields import (
    CaseView,
    Field,
    Fields,
    FieldType,
    SubjectKind,
    from_container_facts,
)
from shutdownlint.platforms.kubernetes.containers import ContainerFacts
from shutdownlint.platforms.kubernetes.platform import set_behaviour
from shutdownlint.platforms.locations import source_location
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.programs.detect import ProgramFacts, detect_program
from shutdownlint.platforms.programs.problems import PROBLEMS
from shutdownlint.shutdown.pod_plan import Effect, Knob
from shutdownlint.shutdown.process import graceful
from shutdownlint.shutdown.provenance import OriginKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft

_D = FieldType.DURATION


def _fact(get: Callable[[ProgramFacts], Any]) -> Callable[[CaseView], Any]:
    return from_container_facts(ProgramFacts, get)


def _default(get: Callable[[Any], Any]) -> Callable[[CaseView], Any]:
    return _fact(lambda found: None if found.defaults is None else get(found.defaults))


_FIELDS: Final[Fields] = {
    SubjectKind.CONTAINER: (
        Field(
            "finishWithin",
            _D,
            "how long its program lets its own shutdown take; absent unless written",
            _fact(lambda found: found.finish_within),
            setting=True,
        ),
        Field(
            "finishSetting",
            FieldType.STRING,
            "where finishWithin is written: the flag, variable or property with its value",
            _fact(lambda found: found.finish_setting or None),
        ),
        Field(
            "program",
            FieldType.STRING,
            "the program that finishWithin belongs to",
            _fact(lambda found: found.finish_within and found.finish_within.origin.label),
        ),
        Field(
            "framework",
            FieldType.STRING,
            "a program that the container shows without its limit, or empty",
            _default(lambda defaults: defaults.name),
            setting=True,
            default="",
        ),
        Field(
            "defaultFinish",
            _D,
            "its default limit, which may be changed where it is not visible; absent without one",
            _default(lambda defaults: defaults.default),
            setting=True,
        ),
        Field(
            "unbounded",
            FieldType.BOOL,
            "whether it waits without a limit by default",
            _default(lambda defaults: defaults.unbounded),
            default=False,
        ),
        Field(
            "frameworkDelay",
            _D,
            "how long it goes on before its shutdown; absent unless written",
            _default(lambda defaults: defaults.delay),
            setting=True,
        ),
    )
}


class Plugin(Platform):
    """Servers and frameworks."""

    name = "programs"
    fields = _FIELDS
    problems = PROBLEMS

    def contribute(self, draft: PodDraft) -> None:
        """What each of the app's containers does at its stop signal, where the files show it."""
        for container in draft.containers:
            regular = container.owner is None and not container.native_sidecar
            if regular and container.spec is not None:
                self._plan(container, draft)

    def _plan(self, container: ContainerDraft, draft: PodDraft) -> None:
        assert container.spec is not None
        assert container.ref is not None
        found = detect_program(container.spec, container.ref, draft.workload, draft.context)
        container.note(found)
        draft.problems += found.problems
        written: ContainerFacts = container.facts[ContainerFacts]
        assumed = written.behaviour.origin.kind is OriginKind.DEFAULT
        if found.behaviour is not None and assumed and not container.settled:
            set_behaviour(container, found.behaviour)
            written = container.facts[ContainerFacts]
            location = source_location(found.behaviour)
            if found.behaviour.origin.written:
                container.editable("behaviour", location)
        if found.drain is not None and written.drain.origin.kind is OriginKind.DEFAULT:
            written = replace(written, drain=found.drain)
            container.note(written)
            if written.behaviour.value == "graceful":
                container.process = graceful(found.drain, None)
        if found.finish_within is not None:
            limit = found.finish_within
            container.knobs.append(Knob("finishWithin", Effect.FINISH_LIMIT, limit))
            if limit.origin.written:
                container.editable("finishWithin", source_location(limit), ValueFormat.PLAIN)
            if written.behaviour.value == "graceful":
                container.process = graceful(written.drain, limit)
