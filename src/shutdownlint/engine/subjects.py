"""The subject of a rule (a pod, container, proxy or problem), and the values of its fields."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from shutdownlint.engine.loss_fields import LossView
from shutdownlint.engine.rule import HERE, SUCCESSOR
from shutdownlint.engine.solution_changes import solution_changes
from shutdownlint.engine.vocabulary import ORIGIN_SUFFIX
from shutdownlint.platforms.edit_target import EditTarget
from shutdownlint.platforms.fields import CaseView, SubjectKind, WorkloadView
from shutdownlint.platforms.locations import source_location
from shutdownlint.platforms.traffic import SERVES_ASSUMED, MeshProxyFacts
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import DurationRange, format_duration
from shutdownlint.shutdown.pod_plan import Role
from shutdownlint.shutdown.provenance import Origin, OriginKind
from shutdownlint.yaml_source.location import FixedLocation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from shutdownlint.engine.finding import Change
    from shutdownlint.engine.vocabulary import Vocabulary
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.fields import Field, Value
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.user_facts import UserFacts
    from shutdownlint.platforms.versions import Version
    from shutdownlint.platforms.workload_index import WorkloadEntry, WorkloadIndex
    from shutdownlint.shutdown.loss import Loss
    from shutdownlint.shutdown.pod_plan import Assumption, ContainerPlan
    from shutdownlint.shutdown.provenance import Setting
    from shutdownlint.yaml_source.location import SourceLocation


class CaseValues(dict[str, "Value | None"]):
    """The values of a subject's fields in one case, computed when they are needed."""

    def __init__(self, fields: Mapping[str, Field], view: Any) -> None:
        super().__init__()
        self._fields = fields
        self._view = view

    def __missing__(self, name: str) -> Value | None:
        """Return the value of a field, or of ``<field>From``; None if it has none."""
        value = self[name] = self._work_out(name)
        return value

    def setting(self, name: str) -> Setting[Any] | None:
        """Return the setting of a field that has one."""
        field = self._fields.get(name)
        if field is None or not field.setting:
            return None
        setting: Setting[Any] | None = field.get(self._view)
        return setting

    def _work_out(self, name: str) -> Value | None:
        field = self._fields.get(name)
        if field is None:
            setting = self.setting(name.removesuffix(ORIGIN_SUFFIX))
            return setting.origin.kind.value if setting is not None else ""
        found = field.get(self._view)
        if found is None:
            return field.default
        value = found.value if field.setting else found
        if isinstance(value, DurationRange):
            return value.low
        # Values are looked up in dictionaries.
        return tuple(value) if type(value) is list else value


class Subject:
    """Something that rules are evaluated for.

    ``cases`` are its values for every end of what is only bounded. ``mesh`` is that of a proxy.
    ``solution_changes`` gives what the pod has to be changed to for every request to be served;
    nothing where one of the changes cannot be made from here. ``home`` is where its pod is written,
    if that is not its location. ``loss`` is the one that it is.
    """

    def __init__(
        self,
        kind: SubjectKind,
        location: SourceLocation,
        fields: Mapping[str, Field],
        base: Any,
        cases: Sequence[CaseValues],
        *,
        workload: ObjectId | None = None,
        container: str | None = None,
        mesh: str = "",
        assumptions: tuple[Assumption, ...] = (),
        edit_targets: Mapping[str, EditTarget] | None = None,
        versions: Mapping[str, Version] | None = None,
        solution_changes: Callable[[], tuple[Change, ...]] = tuple,
        home: SourceLocation | None = None,
        loss: Loss | None = None,
    ) -> None:
        self.kind = kind
        self.location = location
        self.home = home or location
        self.cases = cases
        self.workload = workload
        self.container = container
        self.mesh = mesh
        self.assumptions = assumptions
        self.edit_targets = edit_targets or {}
        self.versions = versions or {}
        self.solution_changes = solution_changes
        self.loss = loss
        self._fields = fields
        self._view = base
        self._base = CaseValues(fields, base)

    def setting(self, name: str) -> Setting[Any] | None:
        """Return the setting of a field that has one, its bounds included."""
        return self._base.setting(name)

    def value_text(self, name: str) -> str:
        """Return a field's value as messages write it."""
        setting = self.setting(name)
        value = setting.value if setting is not None else self.cases[0][name]
        return "?" if value is None else format_value(value)

    def origin_text(self, name: str, file: str) -> str:
        """Describe the origin of a field's value, in a text about ``file``."""
        setting = self.setting(name)
        return setting.origin.describe(file) if setting is not None else "unknown"

    def assumptions_for(self, names: Iterable[str]) -> tuple[Assumption, ...]:
        """Return the assumptions that a rule mentioning these names depends on."""
        found = list(self.assumptions)
        for name in names:
            field = self._fields.get(name) or self._fields.get(name.removesuffix(ORIGIN_SUFFIX))
            if field is not None and field.assumes is not None:
                found += field.assumes(self._view)
        return tuple(dict.fromkeys(found))


def format_value(value: object) -> str:
    """Return a value as messages write it."""
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(value) or "none"
    return str(value)


def pod_subjects(pod: PlannedPod, vocabulary: Vocabulary, facts: UserFacts) -> Iterator[Subject]:
    """Yield the pod, its containers, its proxies and its losses. A pod without a plan has none."""
    analysis = pod.analysis
    if pod.plan is None or analysis is None:
        return
    # The usual pod has nothing that is only bounded: its only case is the plan itself.
    analyses = [analysis if case is pod.plan else ShutdownAnalysis(case) for case in analysis.cases]
    builder = _PodSubjects(pod, vocabulary, facts, analysis, analyses)
    yield builder.subject(SubjectKind.POD)
    for container in pod.plan.containers:
        if container.role in (Role.APP, Role.HELPER):
            yield builder.subject(SubjectKind.CONTAINER, container)
    for proxy in pod.plan.proxies:
        if proxy.role is Role.EDGE or pod.plan.regular:
            yield builder.subject(SubjectKind.PROXY, proxy)
    for first, *others in losses_by_setting(analysis.losses):
        yield builder.loss_subject(first, others)


class _PodSubjects:
    def __init__(
        self,
        pod: PlannedPod,
        vocabulary: Vocabulary,
        facts: UserFacts,
        base: ShutdownAnalysis,
        analyses: Sequence[ShutdownAnalysis],
    ) -> None:
        self.pod = pod
        self.vocabulary = vocabulary
        self.base = base
        self.analyses = analyses
        self.versions = {**known_versions(facts, pod.id.namespace), **pod.versions}

    def subject(self, kind: SubjectKind, container: ContainerPlan | None = None) -> Subject:
        """Return the pod's subject of that kind."""
        pod, fields = self.pod, self.vocabulary.fields(kind)
        name = container.name if container is not None else None
        base = CaseView(pod, self.base, container)
        cases = []
        for analysis in self.analyses:
            own = analysis.plan.container(name) if name is not None else None
            cases.append(CaseValues(fields, CaseView(pod, analysis, own)))
        mesh = pod.container_facts[name].get(MeshProxyFacts) if name is not None else None
        proxy = kind is SubjectKind.PROXY
        return Subject(
            kind,
            pod.ref,
            fields,
            base,
            cases,
            workload=pod.id,
            container=name,
            mesh=mesh.mesh if mesh is not None else "",
            assumptions=container.assumptions if proxy and container is not None else (),
            edit_targets=pod.edit_targets.get(name, {}),
            versions=self.versions,
            solution_changes=self.solution_changes,
        )

    def loss_subject(self, loss: Loss, others: Sequence[Loss] = ()) -> Subject:
        """One of the pod's losses, at the place that decides it and ``others``."""
        pod, fields = self.pod, self.vocabulary.fields(SubjectKind.LOSS)
        view = LossView(pod, self.base, loss, tuple(others))
        process = view.process
        assumptions: list[Assumption] = []
        if process is not None and process.role in (Role.PROXY, Role.EDGE):
            assumptions += process.assumptions
        if view.app is not None and view.app.serves_assumed:
            assumptions.append(SERVES_ASSUMED)
        name = loss.process if process is not None else None
        return Subject(
            SubjectKind.LOSS,
            _place_of(loss, process) or pod.ref,
            fields,
            view,
            [CaseValues(fields, view)],
            workload=pod.id,
            container=name,
            assumptions=tuple(assumptions),
            edit_targets=pod.edit_targets.get(name, {}),
            versions=self.versions,
            solution_changes=lambda: self.solution_changes() if self.base.is_solved(loss) else (),
            home=pod.ref,
            loss=loss,
        )

    def solution_changes(self) -> tuple[Change, ...]:
        """Return the smallest set of changes with which the pod serves every request."""
        found = solution_changes(self.pod, self.analyses[0].solution)
        return found if all(change.target is not None for change in found) else ()


def losses_by_setting(losses: Iterable[Loss]) -> Iterable[list[Loss]]:
    """Return the losses that one setting of a process decides together, the surest first."""
    found: dict[tuple[str, str, Origin], list[Loss]] = {}
    for loss in losses:
        # The name of what is only bounded goes on with the bound that is taken.
        name = loss.setting.name.partition(": ")[0]
        found.setdefault((loss.process, name, loss.setting.origin), []).append(loss)
    return [sorted(same, key=lambda loss: loss.weight.rank) for same in found.values()]


def _place_of(loss: Loss, process: ContainerPlan | None) -> SourceLocation | None:
    """Return where the deciding setting is written; for a default, a place for many pods at once.

    None where no file shows such a place.
    """
    setting = loss.setting
    if process is not None and setting.origin.kind is OriginKind.DEFAULT:
        for knob in process.knobs:
            if knob.setting is setting and knob.shared is not None:
                return source_location(knob.shared) or source_location(setting)
    return source_location(setting)


def problem_subject(
    problem: Problem, vocabulary: Vocabulary, facts: UserFacts, workload: ObjectId | None = None
) -> Subject:
    """Return a problem."""
    fields = vocabulary.fields(SubjectKind.PROBLEM, problem.kind())
    namespace = workload.namespace if workload is not None else None
    versions = known_versions(facts, namespace)
    if problem.version is not None:
        versions[problem.platform] = problem.version
    place = problem.successor
    successor = {SUCCESSOR: EditTarget(place)} if place is not None else {}
    return Subject(
        SubjectKind.PROBLEM,
        problem.location,
        fields,
        problem,
        [CaseValues(fields, problem)],
        workload=workload,
        container=problem.container,
        assumptions=problem.assumptions,
        edit_targets={
            HERE: EditTarget(problem.location, problem.value_format),
            **successor,
        },
        versions=versions,
    )


def workload_subjects(
    entries: Iterable[WorkloadEntry],
    index: WorkloadIndex,
    context: AnalysisContext,
    vocabulary: Vocabulary,
) -> Iterator[Subject]:
    """Yield the workloads of these entries, once all of the index are known."""
    fields = vocabulary.fields(SubjectKind.WORKLOAD)
    for entry in entries:
        if not entry.complete:
            continue
        view = WorkloadView(entry, index, context)
        yield Subject(
            SubjectKind.WORKLOAD,
            FixedLocation(entry.region),
            fields,
            view,
            [CaseValues(fields, view)],
            workload=entry.id,
            versions=known_versions(context.user_facts, entry.id.namespace),
        )


def known_versions(facts: UserFacts, namespace: str | None) -> dict[str, Version]:
    """Return the versions that the user says, by platform."""
    names = {*facts.versions, *(fact.mesh for fact in facts.meshes)}
    found = {name: facts.version_of(name, namespace) for name in names}
    return {name: version for name, version in found.items() if version is not None}
