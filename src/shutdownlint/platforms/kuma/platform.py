"""Kuma (and Kong Mesh) as a platform: its sidecar, by labels and annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.platforms.captured_ports import skipped_ports
from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.platforms.fields import (
    Field,
    Fields,
    FieldType,
    SubjectKind,
    from_container_facts,
)
from shutdownlint.platforms.kuma import facts
from shutdownlint.platforms.mesh_proxy import add_mesh_proxy, sidecar_mode, sidecar_of
from shutdownlint.platforms.mesh_signs import assume_member, find_sign, without_assumed_mesh
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.pod_annotations import (
    AnnotationIgnored,
    PodAnnotations,
    misplaced_annotations,
)
from shutdownlint.platforms.user_facts import NO_MESH
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.pod_plan import Assumption, Effect, Knob
from shutdownlint.shutdown.process import After, Phase, Process, Trigger
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting, with_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.platforms.alternatives import Alternative
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft

_DRAIN_FIELD: Final = "kumaDrain"
_ENABLED: Final = ("enabled", "true")


class KumaProxyFacts(Struct, frozen=True):
    """The facts that Kuma's rules use."""

    drain: Setting[timedelta]


_FIELDS: Final[Fields] = {
    SubjectKind.PROXY: (
        Field(
            _DRAIN_FIELD,
            FieldType.DURATION,
            "kuma.io/sidecar-drain-time: how long a classic proxy goes on after its stop signal",
            from_container_facts(KumaProxyFacts, lambda found: found.drain),
            setting=True,
        ),
    ),
}


class Plugin(Platform):
    """Kuma."""

    name = facts.MESH
    fields = _FIELDS
    supported_versions = facts.SUPPORTED_VERSIONS.value
    version_changes = facts.VERSION_CHANGES

    def owns(self, container: ContainerDraft, _draft: PodDraft) -> bool:
        """Return the proxy that is written in the pod."""
        return container.name == facts.PROXY_CONTAINER

    def contribute(self, draft: PodDraft) -> None:
        """Add the proxy that the pod has or gets."""
        workload = draft.workload
        draft.problems += misplaced_annotations(workload, (facts.DRAIN_ANNOTATION,))
        if facts.INJECT in workload.template.metadata.annotations:
            location = (workload.annotations / facts.INJECT).key
            draft.problems.append(
                AnnotationIgnored(
                    location=location, key=facts.INJECT, reason="it is read as a label only"
                )
            )
        read = PodAnnotations(workload, draft.problems, "Kuma")
        written = draft.container(facts.PROXY_CONTAINER)
        assumptions: list[Assumption] = []
        if written is None and not self._is_injected(draft, assumptions):
            return
        version = draft.context.version_of(facts.MESH, workload.namespace)
        if version is not None:
            draft.versions[facts.MESH] = version
        if written is not None:
            native = written.native_sidecar
        else:
            native = version is not None and version >= facts.NATIVE_BY_DEFAULT_SINCE.value
            if version is None:
                text = "Kuma's version is not known: its proxy is assumed to be a classic sidecar"
                remedy = "set --mesh kuma=VERSION"
                assumptions.append(Assumption(text, remedy, about_versions=(facts.MESH,)))
        drain = read.duration("drain time", facts.DRAIN_ANNOTATION, facts.DRAIN_TIME.value)
        life = with_value(drain, ZERO) if native else drain
        location = workload.annotations / facts.DRAIN_ANNOTATION
        proxy = sidecar_of(draft, facts.PROXY_CONTAINER, location, native=native)
        proxy.process = Process((Phase(Trigger.SIGNAL, After(life)),))
        proxy.assumptions += (*assumptions, *read.assumptions)
        if not native:
            proxy.knobs.append(Knob(_DRAIN_FIELD, Effect.LIFE, drain))
            proxy.editable(_DRAIN_FIELD, location, ValueFormat.DURATION)
        proxy.note(KumaProxyFacts(drain))
        kind = OriginKind.ASSUMED if assumptions else OriginKind.EXPLICIT
        origin = Origin(kind, facts.INJECT, location)
        mode = sidecar_mode(facts.PROXY_CONTAINER, origin, native=native)
        captured = skipped_ports(workload.template.metadata.annotations, facts.SKIPPED_PORTS)
        add_mesh_proxy(draft, proxy, facts.MESH, mode, captured=captured)

    def _is_injected(self, draft: PodDraft, assumptions: list[Assumption]) -> bool:
        workload = draft.workload
        declared = draft.context.declared_mesh(workload.namespace)
        own = workload.template.metadata.labels.get(facts.INJECT)
        if declared == NO_MESH or workload.template.spec.hostNetwork is True or workload.created:
            return False
        if own is not None:
            if has_placeholder(own):
                text = f"{facts.INJECT} is a placeholder: the pod is taken without Kuma's proxy"
                draft.assumptions.append(Assumption(text, "render the manifest"))
            return own in _ENABLED
        labels = draft.context.namespace_labels(workload)
        if labels is not None and facts.INJECT in labels:
            return labels[facts.INJECT] in _ENABLED
        if declared is not None or labels is not None:
            return declared == facts.MESH
        sign = find_sign(facts.MESH, workload, draft.context)
        if sign is not None:
            assumptions.append(assume_member(sign, workload))
        return sign is not None

    def alternatives(self, pod: PlannedPod, context: AnalysisContext) -> Iterator[Alternative]:
        """In no mesh, where only other objects suggest that a pod is in this one."""
        return without_assumed_mesh(facts.MESH, pod, context)
