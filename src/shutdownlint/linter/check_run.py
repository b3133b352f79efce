"""A run that checks the workloads one by one, then what concerns several of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.engine.evaluator import ExpressionCache, RuleEvaluator
from shutdownlint.engine.problems import RuleFailed, Unreadable
from shutdownlint.engine.subjects import problem_subject, workload_subjects
from shutdownlint.engine.vocabulary import Vocabulary
from shutdownlint.linter.grouping import group_findings
from shutdownlint.linter.lint_run import LintResult
from shutdownlint.linter.pod_stage import PodStage, evaluate_pod, make_context, version_warnings
from shutdownlint.linter.processes import process_count, run_tasks
from shutdownlint.linter.version_sweep import VersionSweep
from shutdownlint.manifests.suppressions import read_annotations
from shutdownlint.platforms.registry import PLATFORMS, mesh_remedy
from shutdownlint.platforms.workload_index import WorkloadEntry, WorkloadIndex, index_entry
from shutdownlint.wording import plural
from shutdownlint.yaml_source.location import FixedLocation

if TYPE_CHECKING:
    from shutdownlint.engine.evaluator import RuleFailure
    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.lint_run import LintOptions
    from shutdownlint.manifests.loader import Loader
    from shutdownlint.manifests.reader import ReadStats
    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.registry import PlatformSet
    from shutdownlint.yaml_source.location import Region

#: For fewer documents with workloads a second process costs more than it saves.
_PARTS_PER_PROCESS: Final = 150
_Order = tuple["Region", str, str, str]


class CheckedPart(Struct):
    """What checking a part of the workloads has given."""

    stats: ReadStats
    suppressions: list[Suppression]
    findings: list[Finding] = field(default_factory=list)
    entries: list[WorkloadEntry] = field(default_factory=list)
    failures: dict[str, RuleFailure] = field(default_factory=dict)
    assumed_versions: dict[str, None] = field(default_factory=dict)
    without_mesh: int = 0
    without_p99: int = 0


class CheckRun:
    """Evaluates the rules for every pod, every problem and all workloads together."""

    def __init__(self, loader: Loader, platforms: PlatformSet, options: LintOptions) -> None:
        self.loader = loader
        self.options = options
        self.context = make_context(loader, options)
        self.platforms = platforms.platforms
        entries = PLATFORMS if options.all_rules else platforms.entries
        rules = options.selection.load([entry.name for entry in entries])
        vocabulary = Vocabulary(self.platforms)
        if options.expressions is None:
            options.expressions = ExpressionCache()
        severities, cache = options.selection.severities, options.expressions
        self.hidden = {rule.id for rule in rules if options.selection.hides(rule)}
        self.evaluator = RuleEvaluator(rules, vocabulary, severities, cache, self.hidden)
        self.workloads = WorkloadIndex()
        self.suppressions: list[Suppression] = []
        self.assumed_versions: dict[str, None] = {}
        # The same workload in several files (renderings of one chart) makes the same finding.
        self._found: dict[_Order, Finding] = {}
        self.without_mesh = self.without_p99 = 0

    def run(self) -> LintResult:
        """Check everything."""
        self._check_pods()
        self._check_context()
        for subject in workload_subjects(self.workloads, self.context, self.evaluator.vocabulary):
            for finding in self.evaluator.evaluate(subject):
                self._add(finding)
        self._check_run()
        return self._result()

    def _check_pods(self) -> None:
        count = 1
        if not self.options.debug and self.loader.pending_count >= 2 * _PARTS_PER_PROCESS:
            count = min(process_count(), self.loader.pending_count // _PARTS_PER_PROCESS)
        parts = self.loader.split(count)
        tasks = [partial(self.check_part, part, extra=part is parts[0]) for part in parts]
        for checked in run_tasks(tasks):
            self._take(checked)

    def check_part(self, loader: Loader, *, extra: bool) -> CheckedPart:
        """Check the workloads of a part of the files; ``extra`` are those of other objects."""
        stage = PodStage(loader, self.context, self.platforms, debug=self.options.debug)
        sweep = VersionSweep(self.context, self.platforms, self.evaluator)
        part = CheckedPart(loader.stats, loader.suppressions)
        annotated: list[Suppression] = []
        for pod in stage.planned_pods(extra=extra):
            annotated += read_annotations(pod.workload)
            for finding in evaluate_pod(pod, self.evaluator, self.context.user_facts):
                hidden = finding.rule in self.hidden
                part.findings.append(finding if hidden else sweep.with_versions(finding, pod))
            part.entries.append(index_entry(pod))
            self._note_unknowns(pod, stage, part)
        part.suppressions = [*loader.suppressions, *annotated]
        part.failures = self.evaluator.failures
        part.assumed_versions = stage.assumed_versions
        return part

    def _note_unknowns(self, pod: PlannedPod, stage: PodStage, part: CheckedPart) -> None:
        if pod.plan is None or pod.plan.runs_to_completion:
            return
        part.without_mesh += stage.is_mesh_open(pod)
        part.without_p99 += pod.plan.p99 is None

    def _take(self, part: CheckedPart) -> None:
        self.loader.stats.add(part.stats)
        self.suppressions += part.suppressions
        for finding in part.findings:
            self._add(finding)
        for entry in part.entries:
            self.workloads.add(entry)
        self.evaluator.failures.update(part.failures)
        self.assumed_versions.update(part.assumed_versions)
        self.without_mesh += part.without_mesh
        self.without_p99 += part.without_p99

    def hints(self) -> list[str]:
        """What would make the answers more exact."""
        found = []
        if self.without_mesh:
            pods = plural(self.without_mesh, "workload")
            text = f"no mesh is assumed for {pods} in namespaces that are not among the files"
            found.append(f"{text}: {mesh_remedy()}")
        if self.without_p99:
            pods = plural(self.without_p99, "workload")
            text = f"how long requests take is not known for {pods}"
            found.append(f"{text}: set it with --p99, such as --p99 10s")
        return found

    def _add(self, finding: Finding) -> None:
        # A finding that is only counted has no message.
        what = finding.message or finding.container or ""
        order = finding.region, finding.rule, what, str(finding.workload)
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
        for unreadable in self.loader.stats.unreadable:
            location = FixedLocation(unreadable.region)
            self._check_problem(Unreadable(location=location, reason=unreadable.reason))
        for failure in list(self.evaluator.failures.values()):
            location = FixedLocation(failure.rule.region)
            failed = RuleFailed(location=location, key=failure.rule.id, reason=failure.reason)
            self._check_problem(failed)

    def _result(self) -> LintResult:
        stats = self.loader.stats
        result = LintResult(
            stats,
            [self._found[order] for order in sorted(self._found)],
            workloads=len(self.workloads.entries),
            objects=self.context.index.count,
            complete=not stats.unreadable and not self.evaluator.failures,
            warnings=version_warnings(self.assumed_versions),
            hints=self.hints(),
            rules=self.evaluator.rules,
        )
        own = [] if self.options.isolated else [*self.loader.suppressions, *self.suppressions]
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
