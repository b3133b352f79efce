"""Dapr as a platform: its sidecar, which the app calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.platforms.dapr import facts
from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.platforms.fields import (
    Field,
    Fields,
    FieldType,
    SubjectKind,
    from_pod_facts,
)
from shutdownlint.platforms.mesh_proxy import put_container, sidecar_of
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.pod_annotations import (
    PodAnnotations,
    misplaced_annotations,
)
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.pod_plan import Assumption, Effect, Knob, Role
from shutdownlint.shutdown.process import (
    CLOSED,
    OPEN,
    After,
    Phase,
    Process,
    Trigger,
    WhenFinished,
)

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft
    from shutdownlint.shutdown.provenance import Setting

_BLOCK_FIELD: Final = "daprBlock"


class DaprFacts(Struct, frozen=True):
    """The facts for Dapr's rules. ``classic``: its sidecar gets its stop signal with the app."""

    block: Setting[timedelta]
    classic: bool


_FIELDS: Final[Fields] = {
    SubjectKind.CONTAINER: (
        Field(
            _BLOCK_FIELD,
            FieldType.DURATION,
            "dapr.io/block-shutdown-duration: how long Dapr's APIs go on after the stop signal; "
            "absent without a classic sidecar of Dapr",
            from_pod_facts(DaprFacts, lambda found: found.block if found.classic else None),
            setting=True,
        ),
    ),
}


class Plugin(Platform):
    """Dapr."""

    name = facts.NAME
    fields = _FIELDS

    def owns(self, container: ContainerDraft, _draft: PodDraft) -> bool:
        """Return the sidecar that is written in the pod."""
        return container.name == facts.SIDECAR_CONTAINER

    def contribute(self, draft: PodDraft) -> None:
        """Add the sidecar that the pod has or gets."""
        workload = draft.workload
        draft.problems += misplaced_annotations(workload, facts.ANNOTATIONS)
        read = PodAnnotations(workload, draft.problems, "Dapr")
        written = draft.container(facts.SIDECAR_CONTAINER)
        asked = read.is_one_of(facts.ENABLED, facts.TRUTHY) and not workload.created
        if written is None and not asked:
            draft.assumptions += read.assumptions
            return
        block = read.duration(
            "block-shutdown-duration", facts.BLOCK_ANNOTATION, facts.BLOCK_SHUTDOWN.value
        )
        graceful = read.seconds(
            "graceful-shutdown-seconds", facts.GRACEFUL_ANNOTATION, facts.GRACEFUL_SHUTDOWN.value
        )
        native = (
            written.native_sidecar
            if written is not None
            else read.is_one_of(facts.NATIVE_ANNOTATION, facts.TRUTHY)
        )
        location = workload.annotations / facts.BLOCK_ANNOTATION
        sidecar = sidecar_of(draft, facts.SIDECAR_CONTAINER, location, native=native)
        sidecar.assumptions += read.assumptions
        sidecar.settled = True
        sidecar.role = Role.PROXY
        # A limit of zero means none.
        limit = graceful if graceful.value > ZERO else None
        sidecar.process = Process(
            (
                Phase(Trigger.SIGNAL, After(block), OPEN, OPEN),
                Phase(Trigger.NEXT, WhenFinished(limit), CLOSED, CLOSED),
            )
        )
        sidecar.knobs.append(Knob(_BLOCK_FIELD, Effect.KEEPS_ACCEPTING, block))
        sidecar.editable(_BLOCK_FIELD, location, ValueFormat.DURATION)
        draft.edit_targets[_BLOCK_FIELD] = sidecar.edit_targets[_BLOCK_FIELD]
        draft.note(DaprFacts(block, not native))
        put_container(draft, sidecar)
        draft.needed.append(sidecar.name)
        text = "requests are taken to need Dapr's sidecar: they fail where its APIs are closed"
        draft.assumptions.append(Assumption(text, "set dapr.io/block-shutdown-duration"))
