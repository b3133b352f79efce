"""The stages of a run behind the reading of context: workloads one by one, then all together."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from shutdownlint.engine.evaluator import ExpressionCache, RuleEvaluator
from shutdownlint.engine.problems import RuleFailed, Unreadable
from shutdownlint.engine.subjects import pod_subjects, problem_subject, workload_subjects
from shutdownlint.engine.vocabulary import Vocabulary
from shutdownlint.linter.grouping import group_findings
from shutdownlint.linter.lint_run import LintResult, PlannedRun
from shutdownlint.linter.version_sweep import VersionSweep
from shutdownlint.manifests.object_index import ObjectIndex
from shutdownlint.manifests.reader import UnreadableInput
from shutdownlint.manifests.suppressions import read_annotations
from shutdownlint.manifests.workloads import incomplete_reason
from shutdownlint.platforms.alternatives import MESH_REMEDY
from shutdownlint.platforms.context import AnalysisContext
from shutdownlint.platforms.planned_pod import AlternativePod
from shutdownlint.platforms.planner import plan_pod
from shutdownlint.platforms.registry import PLATFORMS, mesh_names, platform_title
from shutdownlint.platforms.traffic import MeshProxyFacts
from shutdownlint.platforms.workload_index import WorkloadIndex
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.yaml_source.location import FixedLocation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.lint_run import LintOptions
    from shutdownlint.manifests.loader import Loader
    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.registry import PlatformSet
    from shutdownlint.platforms.user_facts import UserFacts
    from shutdownlint.yaml_source.location import Region

#: Of the cases that fit a pod, so many are tried.
MOST_ALTERNATIVES: Final = 16
_Order = tuple["Region", str, str, str]


class _Stages:
    """What planning and checking have in common."""

    def __init__(self, loader: Loader, platforms: PlatformSet, options: LintOptions) -> None:
        self.loader = loader
        self.options = options
        self.stats = loader.stats
        index = loader.index if loader.index is not None else ObjectIndex()
        index.namespaces.default = options.facts.namespace
        self.context = AnalysisContext(index, options.facts, loader.mesh_evidence)
        self.platforms = platforms.platforms
        self.version_assumptions: dict[str, None] = {}

    def planned_pods(self) -> Iterator[PlannedPod]:
        """Every workload's pods, one after the other."""
        for workload in self._workloads():
            if workload.ref.document.file in self.loader.context_files:
                continue
            pod = self._plan(workload)
            if pod is not None:
                yield pod

    def _workloads(self) -> Iterator[Workload]:
        patch_files = self.context.index.patch_files
        for workload in self.loader.workloads():
            workload.incomplete = incomplete_reason(workload, patch_files)
            written, file = workload.namespace, workload.ref.document.file
            workload.assigned_namespace = self.context.index.namespaces.of(written, file)
            yield workload
        for platform in self.platforms:
            yield from platform.extra_workloads(self.context)

    def _plan(self, workload: Workload) -> PlannedPod | None:
        try:
            pod = plan_pod(workload, self.context, self.platforms)
        except Exception as error:
            if self.options.debug:
                raise
            reason = f"internal error ({type(error).__name__}: {error}); please report it"
            self.stats.unreadable.append(UnreadableInput(workload.ref.region(), reason))
            return None
        if pod.skipped is not None:
            self.stats.skipped[pod.skipped] += 1
        if pod.plan is not None:
            for proxy in pod.plan.proxies:
                for assumption in proxy.assumptions:
                    if assumption.about_versions:
                        self.version_assumptions[assumption.about_versions[0]] = None
        return pod

    def is_mesh_open(self, pod: PlannedPod) -> bool:
        """Whether a pod is planned without a mesh, though its namespace may be in one."""
        if pod.plan is None or pod.plan.runs_to_completion or pod.plan.edge is not None:
            return False
        meshed = any(MeshProxyFacts in noted for noted in pod.container_facts.values())
        return not meshed and not self.context.is_namespace_known(pod.workload.namespace)

    def warnings(self) -> list[str]:
        """What a person should know about the run as a whole."""
        meshes = mesh_names()
        return [
            f"{platform_title(name)}'s version is not known; classic sidecars are assumed "
            f"(set --mesh {name}=VERSION)"
            for name in self.version_assumptions
            if name in meshes
        ]


def evaluate_pod(pod: PlannedPod, evaluator: RuleEvaluator, facts: UserFacts) -> Iterator[Finding]:
    """The findings on one pod: its problems, then its containers, proxies and the pod itself."""
    for problem in pod.problems:
        subject = problem_subject(problem, evaluator.vocabulary, facts, pod.id)
        yield from evaluator.evaluate(subject, problem.kind())
    for subject in pod_subjects(pod, evaluator.vocabulary, facts):
        yield from evaluator.evaluate(subject)


class PlanRun(_Stages):
    """Plans every pod."""

    def run(self) -> PlannedRun:
        """The planned pods."""
        pods = list(self.planned_pods())
        rules = self.options.selection.load([entry.name for entry in PLATFORMS])
        rejecting = [rule for rule in rules if rule.rejects]
        evaluator = RuleEvaluator(rejecting, Vocabulary(self.platforms))
        for pod in pods:
            pod.rejections = [
                finding.message for finding in evaluate_pod(pod, evaluator, self.context.user_facts)
            ]
            if pod.plan is not None:
                self._note_mesh(pod)
                pod.alternatives = list(self._alternatives(pod))
        return PlannedRun(self.stats, pods, self.warnings())

    def _note_mesh(self, pod: PlannedPod) -> None:
        """Note that no mesh is assumed where the input leaves it open."""
        assert pod.plan is not None
        if self.is_mesh_open(pod):
            namespace = pod.workload.namespace
            where = f"namespace {namespace}" if namespace else "the pod's namespace"
            open_mesh = Assumption(
                f"{where} is not among the files: no mesh is assumed", MESH_REMEDY
            )
            pod.plan = replace(pod.plan, assumptions=(*pod.plan.assumptions, open_mesh))

    def _alternatives(self, pod: PlannedPod) -> Iterator[AlternativePod]:
        found = (a for p in self.platforms for a in p.alternatives(pod, self.context))
        for alternative in islice(found, MOST_ALTERNATIVES):
            context = self.context.with_facts(alternative.facts)
            planned = plan_pod(pod.workload, context, self.platforms)
            yield AlternativePod(alternative.when, alternative.how_to_say, planned)


class CheckRun(_Stages):
    """Evaluates the rules for every pod, every problem and all workloads together."""

    def __init__(self, loader: Loader, platforms: PlatformSet, options: LintOptions) -> None:
        super().__init__(loader, platforms, options)
        entries = PLATFORMS if options.all_rules else platforms.entries
        rules = options.selection.load([entry.name for entry in entries])
        vocabulary = Vocabulary(self.platforms)
        if options.expressions is None:
            options.expressions = ExpressionCache()
        severities, cache = options.selection.severities, options.expressions
        self.hidden = {rule.id for rule in rules if options.selection.hides(rule)}
        self.evaluator = RuleEvaluator(rules, vocabulary, severities, cache, self.hidden)
        self.sweep = VersionSweep(self.context, self.platforms, self.evaluator)
        self.workloads = WorkloadIndex()
        self.annotated: list[Suppression] = []
        # The same workload in several files (renderings of one chart) makes the same finding.
        self._found: dict[_Order, Finding] = {}
        self.without_mesh = self.without_p99 = 0

    def run(self) -> LintResult:
        """Check everything."""
        for pod in self.planned_pods():
            self.annotated += read_annotations(pod.workload)
            for finding in evaluate_pod(pod, self.evaluator, self.context.user_facts):
                hidden = finding.rule in self.hidden
                self._add(finding if hidden else self.sweep.with_versions(finding, pod))
            self.workloads.add(pod)
            self._note_unknowns(pod)
        self._check_context()
        for subject in workload_subjects(self.workloads, self.context, self.evaluator.vocabulary):
            for finding in self.evaluator.evaluate(subject):
                self._add(finding)
        self._check_run()
        return self._result()

    def _note_unknowns(self, pod: PlannedPod) -> None:
        if pod.plan is None or pod.plan.runs_to_completion:
            return
        self.without_mesh += self.is_mesh_open(pod)
        self.without_p99 += pod.plan.p99 is None

    def hints(self) -> list[str]:
        """What would make the answers more exact."""
        found = []
        if self.without_mesh:
            pods = _count_workloads(self.without_mesh)
            text = f"no mesh is assumed for {pods} in namespaces that are not among the files"
            found.append(f"{text}: {MESH_REMEDY}")
        if self.without_p99:
            pods = _count_workloads(self.without_p99)
            text = f"how long requests take is not known for {pods}"
            found.append(f"{text}: set it with --p99, such as --p99 10s")
        return found

    def _add(self, finding: Finding) -> None:
        order = finding.region, finding.rule, finding.message, str(finding.workload)
        self._found[order] = finding

    def _check_context(self) -> None:
        for platform in self.platforms:
            for problem in platform.context_problems(self.context):
                if problem.location.region().file not in self.loader.context_files:
                    self._check_problem(problem)

    def _check_problem(self, problem: Problem) -> None:
        subject = problem_subject(problem, self.evaluator.vocabulary, self.context.user_facts)
        for finding in self.evaluator.evaluate(subject, problem.kind()):
            self._add(finding)

    def _check_run(self) -> None:
        """Report what could not be read, and the rules that failed."""
        for unreadable in self.stats.unreadable:
            location = FixedLocation(unreadable.region)
            self._check_problem(Unreadable(location=location, reason=unreadable.reason))
        for failure in list(self.evaluator.failures.values()):
            location = FixedLocation(failure.rule.region)
            failed = RuleFailed(location=location, key=failure.rule.id, reason=failure.reason)
            self._check_problem(failed)

    def _result(self) -> LintResult:
        result = LintResult(
            self.stats,
            [self._found[order] for order in sorted(self._found)],
            workloads=len(self.workloads.entries),
            objects=self.context.index.count,
            complete=not self.stats.unreadable and not self.evaluator.failures,
            warnings=self.warnings(),
            hints=self.hints(),
            rules=self.evaluator.rules,
        )
        own = [] if self.options.isolated else [*self.loader.suppressions, *self.annotated]
        suppressions = [*own, *self.options.facts.suppressions]
        if suppressions:
            from shutdownlint.linter.suppression import apply_suppressions  # noqa: PLC0415

            apply_suppressions(result, suppressions)
        shared = {rule.id for rule in self.evaluator.rules if rule.shared}
        result.findings = group_findings(result.findings, shared)
        if self.hidden:
            result.hidden.update(f.rule for f in result.findings if f.rule in self.hidden)
            result.findings = [f for f in result.findings if f.rule not in self.hidden]
            result.suppressed = [s for s in result.suppressed if s.finding.rule not in self.hidden]
        return result


def _count_workloads(count: int) -> str:
    return f"{count:,} workload{'' if count == 1 else 's'}"
