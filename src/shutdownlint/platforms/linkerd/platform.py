"""Linkerd as a platform."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.platforms.captured_ports import skipped_ports
from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.platforms.fields import (
    CaseView,
    Field,
    Fields,
    FieldType,
    SubjectKind,
    from_container_facts,
)
from shutdownlint.platforms.linkerd import facts, problems
from shutdownlint.platforms.linkerd.annotations import (
    Annotations,
    native_annotation_problems,
    unknown_annotations,
    value_problems,
)
from shutdownlint.platforms.linkerd.control_plane import LinkerdMesh
from shutdownlint.platforms.linkerd.process import (
    GRACE_FIELD,
    WAIT_FIELD,
    ProxySettings,
    proxy_knobs,
    proxy_process,
)
from shutdownlint.platforms.linkerd.proxy_plan import (
    PlannedProxy,
    contradicts_user,
    find_written_proxy,
    is_injected,
    membership_assumptions,
    plan_injected,
    plan_written,
)
from shutdownlint.platforms.locations import source_location
from shutdownlint.platforms.mesh_proxy import add_mesh_proxy
from shutdownlint.platforms.mesh_signs import without_assumed_mesh
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.pod_annotations import misplaced_annotations
from shutdownlint.platforms.pod_draft import ContainerDraft
from shutdownlint.platforms.versions import version_text
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.provenance import OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shutdownlint.platforms.alternatives import Alternative
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.pod_draft import PodDraft
    from shutdownlint.platforms.versions import Version
    from shutdownlint.shutdown.durations import DurationRange


class LinkerdProxyFacts(Struct, frozen=True):
    """The facts that Linkerd's rules use. ``unused_wait`` is a wait that a native proxy skips."""

    settings: ProxySettings
    version: Version | None = None
    unused_wait: Setting[DurationRange] | None = None


def _fact(get: Callable[[LinkerdProxyFacts], Any]) -> Callable[[CaseView], Any]:
    return from_container_facts(LinkerdProxyFacts, get)


def _wait(view: CaseView) -> Any:
    found: LinkerdProxyFacts | None = view.container_facts(LinkerdProxyFacts)
    return None if found is None else view.container.hook.duration


_D, _S = FieldType.DURATION, FieldType.STRING
_FIELDS: Final[Fields] = {
    SubjectKind.PROXY: (
        Field(
            WAIT_FIELD,
            _D,
            "proxy-wait-before-exit-seconds: how long a classic proxy waits for its stop signal",
            _wait,
            setting=True,
        ),
        Field(
            GRACE_FIELD,
            _D,
            "shutdown-grace-period: how long the proxy lets its requests finish",
            _fact(lambda found: found.settings.grace),
            setting=True,
        ),
        Field(
            "unusedWait",
            _D,
            "a proxy-wait-before-exit-seconds that a native proxy does not obey; else absent",
            _fact(lambda found: found.unused_wait),
            setting=True,
        ),
        Field(
            "linkerdVersion",
            _S,
            "the Linkerd release of the proxy, empty where it is not known",
            _fact(lambda found: version_text(found.version)),
        ),
    ),
}


class Plugin(Platform):
    """Linkerd."""

    name = facts.MESH
    fields = _FIELDS
    problems = problems.PROBLEMS
    supported_versions = facts.SUPPORTED_VERSIONS.value
    version_changes = facts.VERSION_CHANGES

    def owns(self, container: ContainerDraft, _draft: PodDraft) -> bool:
        """Return the proxy that is written in the pod."""
        return container.name == facts.PROXY_CONTAINER

    def alternatives(self, pod: PlannedPod, context: AnalysisContext) -> Iterator[Alternative]:
        """In no mesh, where only other objects suggest that a pod is in this one."""
        return without_assumed_mesh(facts.MESH, pod, context)

    def contribute(self, draft: PodDraft) -> None:
        """Add the proxy that the pod has or gets."""
        workload, mesh = draft.workload, draft.context.state(LinkerdMesh)
        version = mesh.version_for(workload.namespace)
        annotations = Annotations(workload, draft.context, version)
        keys = (facts.INJECT, *facts.TIMING_ANNOTATIONS)
        draft.problems += misplaced_annotations(workload, keys)
        draft.problems += unknown_annotations(workload)
        draft.problems += value_problems(annotations)
        draft.problems += native_annotation_problems(annotations, version)
        if version is not None:
            draft.versions[facts.MESH] = version
        written = find_written_proxy(draft)
        if written is not None:
            planned, found = plan_written(draft, written, mesh)
            draft.problems += found
            self._add(draft, planned, written)
        elif not contradicts_user(workload, mesh) and is_injected(workload, mesh, annotations):
            planned = plan_injected(workload, mesh, annotations)
            planned.assumptions = [
                *membership_assumptions(workload, mesh, annotations),
                *planned.assumptions,
            ]
            refused = _refused_wait(planned)
            if refused is not None:
                draft.problems.append(refused)
                text = "Linkerd's injector refuses this pod: it is taken here without its proxy"
                draft.assumptions.append(Assumption(text))
                return
            if planned.unresolved:
                text = "the proxy's settings are placeholders: the pod is taken without it"
                draft.assumptions.append(Assumption(text))
                return
            container = ContainerDraft(
                facts.PROXY_CONTAINER, planned.settings.wait, native_sidecar=planned.settings.native
            )
            self._add(draft, planned, container)

    def _add(
        self,
        draft: PodDraft,
        planned: PlannedProxy,
        container: ContainerDraft,
    ) -> None:
        settings = planned.settings
        container.process = proxy_process(settings)
        knobs = proxy_knobs(settings)
        if planned.version is None:
            # A native proxy, which newer releases add, does not obey the wait.
            how = f"before Linkerd {facts.NATIVE_BY_DEFAULT_SINCE.value}"
            knobs = tuple(
                replace(each, how=how) if each.field == WAIT_FIELD else each for each in knobs
            )
        container.knobs += knobs
        container.assumptions = tuple(planned.assumptions)
        if planned.version is not None:
            draft.versions[facts.MESH] = planned.version
        unused = planned.unused_wait
        container.note(LinkerdProxyFacts(settings, planned.version, unused))
        self._note_edit_targets(draft, container, settings)
        annotations = draft.workload.template.metadata.annotations
        captured = skipped_ports(annotations, facts.SKIPPED_PORTS)
        add_mesh_proxy(draft, container, facts.MESH, settings.mode, captured=captured)

    def _note_edit_targets(
        self, draft: PodDraft, container: ContainerDraft, settings: ProxySettings
    ) -> None:
        """Note where an injected proxy's settings are written: in annotations of the pod."""
        if container.spec is not None:
            if settings.grace.origin.kind is OriginKind.EXPLICIT:
                container.editable(
                    GRACE_FIELD, source_location(settings.grace), ValueFormat.DURATION
                )
            return
        annotations = draft.workload.annotations
        grace = annotations / facts.GRACE_ANNOTATION
        container.editable(GRACE_FIELD, grace, ValueFormat.DURATION)
        wait = annotations / facts.WAIT_ANNOTATION
        container.editable(WAIT_FIELD, wait, ValueFormat.SECONDS_TEXT)
        unused = container.facts[LinkerdProxyFacts].unused_wait
        if unused is not None and unused.origin.kind is OriginKind.EXPLICIT:
            container.editable("unusedWait", wait)


def _refused_wait(planned: PlannedProxy) -> problems.LinkerdWaitRefused | None:
    """Return the wait for which the injector of that version refuses the pod."""
    version, wait = planned.version, planned.unused_wait
    if wait is None or version is None or version not in facts.NATIVE_WAIT_REFUSED_IN.value:
        return None
    location = source_location(wait)
    assert location is not None
    value = str(round(wait.value.low.total_seconds()))
    return problems.LinkerdWaitRefused(
        location=location, key=facts.WAIT_ANNOTATION, value=value, version=version
    )
