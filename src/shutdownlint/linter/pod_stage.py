"""The stage of a run that plans the workloads, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from shutdownlint.engine.cache import RuleLoader
from shutdownlint.engine.finding import Severity
from shutdownlint.engine.subjects import pod_subjects, problem_subject
from shutdownlint.manifests.object_index import ObjectIndex
from shutdownlint.manifests.reader import internal_error
from shutdownlint.manifests.workloads import as_it_runs, incomplete_reason
from shutdownlint.platforms.context import AnalysisContext
from shutdownlint.platforms.planner import plan_pod
from shutdownlint.platforms.registry import mesh_names, platform_title
from shutdownlint.platforms.traffic import meshes_of
from shutdownlint.shutdown.pod_plan import Confidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.engine.evaluator import RuleEvaluator
    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.linter.lint_run import LintOptions
    from shutdownlint.manifests.loader import Loader
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.platform import Platform
    from shutdownlint.platforms.user_facts import UserFacts


_USES_VALUES: Final = "the chart uses these values as their names say (check it with --render)"


def make_context(loader: Loader, options: LintOptions) -> AnalysisContext:
    """Create the context for planning pods from what was read and what the user states."""
    index = loader.index if loader.index is not None else ObjectIndex()
    index.namespaces.default = options.facts.namespace
    return AnalysisContext(index, options.facts, loader.mesh_evidence)


class PodStage:
    """Plans the workloads of a loader. ``loader.stats`` counts what could not be planned."""

    def __init__(
        self,
        loader: Loader,
        context: AnalysisContext,
        platforms: Sequence[Platform],
        *,
        debug: bool = False,
    ) -> None:
        self.loader = loader
        self.context = context
        self.platforms = platforms
        self.debug = debug
        #: The systems whose versions a plan assumes.
        self.assumed_versions: dict[str, None] = {}

    def planned_pods(self, *, extra: bool = True) -> Iterator[PlannedPod]:
        """Every workload's pods, one after the other; ``extra`` are those of other objects."""
        for workload in self._workloads(extra=extra):
            if not self.loader.reports(workload.ref.document.file):
                continue
            pod = self._plan(workload)
            if pod is not None:
                yield pod

    def _workloads(self, *, extra: bool) -> Iterator[Workload]:
        index = self.context.index
        for workload in self.loader.workloads():
            workload.incomplete = incomplete_reason(workload)
            written, file = workload.namespace, workload.ref.document.file
            workload.assigned_namespace = index.namespaces.of(written, file)
            if not workload.id.namespace and workload.assigned_namespace:
                workload.id = replace(workload.id, namespace=workload.assigned_namespace)
            live = as_it_runs(workload, index.live)
            if live is not None:
                yield live
        if extra and self.loader.has_own_objects:
            for platform in self.platforms:
                for workload in platform.extra_workloads(self.context):
                    workload.derived = True
                    yield workload

    def _plan(self, workload: Workload) -> PlannedPod | None:
        stats = self.loader.stats
        try:
            pod = plan_pod(workload, self.context, self.platforms)
        except Exception as error:
            if self.debug:
                raise
            stats.unreadable.append(internal_error(workload.ref.region(), error))
            return None
        if workload.described_by is not None:
            stats.skipped[workload.described_by] += 1
        if pod.skipped is not None:
            stats.skipped[pod.skipped] += 1
        if pod.plan is not None:
            for proxy in pod.plan.proxies:
                for assumption in proxy.assumptions:
                    if assumption.about_versions:
                        self.assumed_versions[assumption.about_versions[0]] = None
        return pod

    def is_mesh_open(self, pod: PlannedPod) -> bool:
        """Whether a pod is planned without a mesh, though its namespace may be in one."""
        if pod.plan is None or pod.plan.runs_to_completion or pod.plan.edge is not None:
            return False
        if pod.workload.created or pod.workload.described_by is not None:
            return False
        if meshes_of(pod) or self.context.user_facts.mesh_of(pod.workload.namespace) is not None:
            return False
        return self.context.namespace_labels(pod.workload) is None


def load_rejecting_rules(platforms: Iterable[str]) -> list[Rule]:
    """Return the bundled rules about what Kubernetes rejects; no selection changes what is true."""
    return [rule for rule in RuleLoader().load_bundled(platforms) if rule.rejects]


def version_warnings(assumed: Iterable[str]) -> list[str]:
    """Return the warnings about versions that a run had to assume."""
    meshes = mesh_names()
    return [
        f"{platform_title(name)}'s version is not known; classic sidecars are assumed "
        f"(set --mesh {name}=VERSION)"
        for name in assumed
        if name in meshes
    ]


def evaluate_pod(pod: PlannedPod, evaluator: RuleEvaluator, facts: UserFacts) -> Iterator[Finding]:
    """Yield the findings on a pod: its problems, its containers, proxies and the pod itself."""
    values = pod.workload.described_by is not None
    found = _evaluate(pod, evaluator, facts, values_only=values)
    yield from map(_of_values, found) if values else found


def _evaluate(
    pod: PlannedPod, evaluator: RuleEvaluator, facts: UserFacts, *, values_only: bool
) -> Iterator[Finding]:
    for problem in pod.problems:
        subject = problem_subject(problem, evaluator.vocabulary, facts, pod.id)
        yield from evaluator.evaluate(subject, problem.kind(), values_only=values_only)
    for subject in pod_subjects(pod, evaluator.vocabulary, facts):
        yield from evaluator.evaluate(subject, values_only=values_only)


def _of_values(finding: Finding) -> Finding:
    """Return a finding on values: it holds if the chart uses them as their names say."""
    severity = Severity.WARNING if finding.severity is Severity.ERROR else finding.severity
    return replace(
        finding,
        severity=severity,
        confidence=Confidence.MEDIUM,
        workload=None,
        container=None,
        assumptions=(*finding.assumptions, _USES_VALUES),
    )
