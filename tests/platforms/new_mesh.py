"""A mesh that is only a package: no rule file names it or one of its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.platforms.mesh_proxy import add_mesh_proxy, sidecar_mode, sidecar_of
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.pod_annotations import (
    AnnotationIgnored,
    PodAnnotations,
    misplaced_annotations,
)
from shutdownlint.platforms.registry import PlatformEntry
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.pod_plan import Effect, Knob
from shutdownlint.shutdown.process import After, Phase, Process, Trigger
from shutdownlint.shutdown.provenance import Origin, OriginKind

if TYPE_CHECKING:
    from shutdownlint.platforms.pod_draft import PodDraft

INJECT: Final = "mesh.example/inject"
LIFE: Final = "mesh.example/drain-seconds"
OLD: Final = "mesh.example/drain"
ENTRY: Final = PlatformEntry(
    "example", "Example", __name__, "made for a test", words=(b"mesh.example",), mesh=True
)


class Plugin(Platform):
    """A sidecar that ends three seconds after its stop signal, unless an annotation says when."""

    name = "example"

    def contribute(self, draft: PodDraft) -> None:
        """Add the proxy to pods that ask for it."""
        workload = draft.workload
        draft.problems += misplaced_annotations(workload, (INJECT, LIFE))
        if OLD in workload.template.metadata.annotations:
            key = (workload.annotations / OLD).key
            draft.problems.append(AnnotationIgnored(location=key, key=OLD, reason="it is old"))
        read = PodAnnotations(workload, draft.problems, "Example")
        if not read.flag(INJECT):
            return
        life = read.seconds("drain", LIFE, seconds(3))
        location = workload.annotations / INJECT
        proxy = sidecar_of(draft, "example-proxy", location, native=False)
        proxy.process = Process((Phase(Trigger.SIGNAL, After(life)),))
        proxy.knobs.append(Knob("exampleLife", Effect.LIFE, life))
        proxy.editable("exampleLife", workload.annotations / LIFE, ValueFormat.SECONDS_TEXT)
        origin = Origin(OriginKind.EXPLICIT, INJECT, location)
        add_mesh_proxy(draft, proxy, self.name, sidecar_mode("example-proxy", origin, native=False))
