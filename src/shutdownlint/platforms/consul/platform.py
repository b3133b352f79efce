"""Consul as a platform: its sidecar, by the annotations of pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.platforms.captured_ports import skipped_ports
from shutdownlint.platforms.consul import facts
from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.platforms.fields import (
    Field,
    Fields,
    FieldType,
    SubjectKind,
    from_container_facts,
)
from shutdownlint.platforms.mesh_proxy import add_mesh_proxy, sidecar_mode, sidecar_of
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
    from datetime import timedelta

    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft

_GRACE_FIELD: Final = "consulGrace"


class ConsulProxyFacts(Struct, frozen=True):
    """The facts that Consul's rules use."""

    grace: Setting[timedelta]


_FIELDS: Final[Fields] = {
    SubjectKind.PROXY: (
        Field(
            _GRACE_FIELD,
            FieldType.DURATION,
            "sidecar-proxy-lifecycle-shutdown-grace-period-seconds: how long the proxy goes on "
            "after its stop signal",
            from_container_facts(ConsulProxyFacts, lambda found: found.grace),
            setting=True,
        ),
    ),
}


class Plugin(Platform):
    """Consul."""

    name = facts.MESH
    fields = _FIELDS
    supported_versions = facts.SUPPORTED_VERSIONS.value
    version_changes = (facts.LIFECYCLE_SINCE,)

    def owns(self, container: ContainerDraft, _draft: PodDraft) -> bool:
        """Return the proxy that is written in the pod."""
        return container.name == facts.PROXY_CONTAINER

    def contribute(self, draft: PodDraft) -> None:
        """Add the proxy that the pod has or gets."""
        workload = draft.workload
        problems = misplaced_annotations(workload, facts.ANNOTATIONS)
        draft.problems += problems
        draft.problems += _misspelled(workload)
        read = PodAnnotations(workload, draft.problems, "Consul")
        written = draft.container(facts.PROXY_CONTAINER)
        declared = draft.context.declared_mesh(workload.namespace)
        injected = read.flag(facts.INJECT, default=declared == facts.MESH)
        if written is None and (workload.created or not injected or declared == NO_MESH):
            draft.assumptions += read.assumptions
            return
        version = draft.context.version_of(facts.MESH, workload.namespace)
        if version is not None:
            draft.versions[facts.MESH] = version
        since = facts.LIFECYCLE_SINCE.value
        enabled = facts.LIFECYCLE_ENABLED.value and (version is None or version >= since)
        grace = read.seconds("shutdown grace", facts.GRACE_ANNOTATION, facts.SHUTDOWN_GRACE.value)
        assumptions: tuple[Assumption, ...] = ()
        serves_on = read.flag(facts.LIFECYCLE, default=enabled)
        if not serves_on:
            grace = with_value(grace, ZERO)
        elif version is None and facts.LIFECYCLE not in workload.template.metadata.annotations:
            text = (
                f"the version of Consul on Kubernetes is not known: {since} or later is assumed, "
                "whose sidecar serves on after its stop signal"
            )
            remedy = "set --mesh consul=VERSION"
            assumptions += (Assumption(text, remedy, about_versions=(facts.MESH,)),)
        native = (
            written.native_sidecar if written is not None else read.flag(facts.NATIVE_ANNOTATION)
        )
        location = workload.annotations / facts.INJECT
        origin = Origin(OriginKind.EXPLICIT, facts.INJECT, location)
        mode = sidecar_mode(facts.PROXY_CONTAINER, origin, native=native)
        proxy = sidecar_of(draft, facts.PROXY_CONTAINER, location, native=native)
        proxy.process = Process((Phase(Trigger.SIGNAL, After(grace)),))
        proxy.assumptions += (*assumptions, *read.assumptions)
        proxy.knobs.append(Knob(_GRACE_FIELD, Effect.LIFE, grace))
        proxy.note(ConsulProxyFacts(grace))
        target = workload.annotations / facts.GRACE_ANNOTATION
        proxy.editable(_GRACE_FIELD, target, ValueFormat.SECONDS_TEXT)
        captured = skipped_ports(workload.template.metadata.annotations, facts.SKIPPED_PORTS)
        add_mesh_proxy(draft, proxy, facts.MESH, mode, captured=captured)


def _misspelled(workload: Workload) -> list[AnnotationIgnored]:
    key = facts.DRAIN_MISSPELLED
    if key not in workload.template.metadata.annotations:
        return []
    reason = f"the name is {facts.DRAIN_ANNOTATION}"
    return [AnnotationIgnored(location=(workload.annotations / key).key, key=key, reason=reason)]
