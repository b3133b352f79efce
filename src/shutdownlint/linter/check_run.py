"""A run that checks the workloads one by one, then what concerns several of them."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from shutdownlint.engine.evaluator import ExpressionCache, RuleEvaluator
from shutdownlint.engine.problems import RuleFailed, Unreadable
from shutdownlint.engine.subjects import problem_subject, workload_subjects
from shutdownlint.engine.vocabulary import Vocabulary
from shutdownlint.linter.checked_part import CheckedPart
from shutdownlint.linter.grouping import merge_variants
from shutdownlint.linter.lint_run import LintResult
from shutdownlint.linter.pod_stage import (
    PodStage,
    evaluate_pod,
    load_rejecting_rules,
    make_context,
    version_warnings,
)
from shutdownlint.linter.processes import process_count, run_tasks
from shutdownlint.linter.verdicts import judge_hint, judge_pod
from shutdownlint.manifests.loader import variants_of
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.manifests.suppressions import read_annotations
from shutdownlint.platforms.workload_index import WorkloadIndex, index_entry
from shutdownlint.yaml_source.location import FixedLocation

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.lint_run import LintOptions
    from shutdownlint.linter.verdicts import WorkloadVerdict
    from shutdownlint.linter.version_sweep import VersionSweep
    from shutdownlint.manifests.loader import Loader
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.platform import Platform
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.registry import PlatformSet
    from shutdownlint.yaml_source.location import Region

#: For fewer documents with workloads a second process costs more than it saves.
_PARTS_PER_PROCESS: Final = 150
_Order = tuple["Region", str, str, str]


class WorldRun:
    """The check of one world: its pods, its other objects, and all its workloads together."""

    def __init__(
        self, number: int, loader: Loader, options: LintOptions, evaluator: RuleEvaluator
    ) -> None:
        self.number = number
        self.loader = loader
        self.options = options
        self.context = make_context(loader, options)
        self.evaluator = evaluator
        self.platforms: Sequence[Platform] = ()
        #: The rules of pods that are never created.
        self.rejecting = {rule.id for rule in evaluator.rules if rule.rejects}
        self.workloads = WorkloadIndex()
        # The same workload in several files (renderings of one chart) makes the same finding.
        self._found: dict[_Order, Finding] = {}

    @cached_property
    def _sweep(self) -> VersionSweep:
        from shutdownlint.linter.version_sweep import VersionSweep  # noqa: PLC0415 - seldom needed

        return VersionSweep(self.context, self.platforms, self.evaluator)

    def check_part(self, loader: Loader, *, extra: bool) -> CheckedPart:
        """Check the workloads of a part of the files; ``extra`` are those of other objects."""
        stage = PodStage(loader, self.context, self.platforms, debug=self.options.debug)
        part = CheckedPart(loader.stats, loader.suppressions)
        annotated: list[Suppression] = []
        for pod in stage.planned_pods(extra=extra):
            annotated += read_annotations(pod.workload)
            found = [*evaluate_pod(pod, self.evaluator, self.context.user_facts)]
            if pod.workload.described_by is None:
                pod.rejections = [f.placed_message for f in self._rejections(pod, found)]
            if pod.rejections:  # what is never created loses nothing
                found = [finding for finding in found if finding.loss is None]
            for finding in found:
                dated = finding.about_versions and not self._is_hidden(finding)
                known = self._sweep.with_versions(finding, pod) if dated else finding
                part.findings.append(known)
            if pod.workload.described_by is None:
                part.entries.append(index_entry(pod, self.options.facts.owner_label))
                part.verdicts.append(self._judge(pod, stage))
                self._describe(pod, found, part)
        part.suppressions = [*loader.suppressions, *annotated]
        part.failures = dict(self.evaluator.failures)
        part.assumed_versions = stage.assumed_versions
        return part

    def _rejections(self, pod: PlannedPod, found: list[Finding]) -> Iterable[Finding]:
        """Yield the findings on what is never created, also of rules that are not selected."""
        yield from (finding for finding in found if finding.rule in self.rejecting)
        if self.options.selection.left_out:
            facts = self.context.user_facts
            yield from evaluate_pod(pod, self._unselected, facts)

    @cached_property
    def _unselected(self) -> RuleEvaluator:
        """The rejecting rules that are not selected: that changes nothing of what is true."""
        rules = load_rejecting_rules(platform.name for platform in self.platforms)
        rules = [rule for rule in rules if rule.id not in self.rejecting]
        return RuleEvaluator(rules, self.evaluator.vocabulary)

    def _judge(self, pod: PlannedPod, stage: PodStage) -> WorkloadVerdict:
        """Return the losses of a stop of the pod."""
        is_open = stage.is_mesh_open(pod)
        verdict = judge_pod(pod, self.context.user_facts, mesh_is_open=is_open)
        if is_open:
            verdict.hinted = judge_hint(pod, self.context, self.platforms)
        return verdict

    def _describe(self, pod: PlannedPod, found: list[Finding], part: CheckedPart) -> None:
        """Note what the reports want to know of a pod."""
        if self.options.describe is not None:
            shown = [finding for finding in found if not self._is_hidden(finding)]
            described = self.options.describe(pod, shown)
            part.descriptions[pod.ref.region().file, pod.id] = described

    def _is_hidden(self, finding: Finding) -> bool:
        return self.options.selection.is_only_counted(finding.rule, finding.severity)

    def take(self, part: CheckedPart) -> None:
        """Add what a part of the workloads has given."""
        self.loader.stats.add(part.stats)
        for finding in part.findings:
            self.add(finding)
        for entry in part.entries:
            self.workloads.add(entry)

    def check_context(self, known: WorkloadIndex) -> None:
        """Check the objects that are not workloads, and all workloads together.

        ``known`` are the workloads that may be deployed together with these.
        """
        if self.loader.has_own_objects:
            for platform in self.platforms:
                self._check_problems(platform.context_problems(self.context))
        own, vocabulary = self.workloads.entries, self.evaluator.vocabulary
        for subject in workload_subjects(own, known, self.context, vocabulary):
            for finding in self.evaluator.evaluate(subject):
                self.add(finding)

    def check_selections(self, workloads: WorkloadIndex, others: Container[str]) -> None:
        """Check what selects workloads, once all of them are known.

        ``others`` are files that other worlds report.
        """
        for platform in self.platforms if self.loader.has_own_objects else ():
            problems = platform.selection_problems(workloads, self.context)
            self._check_problems(problems, others)

    def _check_problems(self, problems: Iterable[Problem], others: Container[str] = ()) -> None:
        for problem in problems:
            file = problem.location.region().file
            if self.loader.reports(file) and file not in others:
                self.check_problem(problem)

    def check_problem(self, problem: Problem) -> None:
        """Add the findings on a problem."""
        vocabulary, facts = self.evaluator.vocabulary, self.context.user_facts
        subject = problem_subject(problem, vocabulary, facts, problem.workload)
        for finding in self.evaluator.evaluate(subject, problem.kind()):
            self.add(finding)

    def add(self, finding: Finding) -> None:
        """Add a finding."""
        if self.number and not finding.variants:
            names = self.loader.variants.get(finding.subject_file, set())
            finding = replace(finding, variants=tuple(sorted(names)))
        # A finding that is only counted has no message.
        what = finding.message or finding.container or ""
        order = finding.region, finding.rule, what, str(finding.workload)
        self._found[order] = finding

    @property
    def findings(self) -> dict[_Order, Finding]:
        """The findings, by what they are sorted by."""
        return self._found


def _joined(indexes: Iterable[WorkloadIndex]) -> WorkloadIndex:
    """Return the workloads of several worlds together."""
    first, *others = indexes
    if not others:
        return first
    found = WorkloadIndex()
    for index in (first, *others):
        for entry in index.entries:
            found.add(entry)
    return found


class CheckRun:
    """Evaluates the rules for every pod, every problem and all workloads, world by world."""

    def __init__(
        self, loaders: Sequence[Loader], platforms: PlatformSet, options: LintOptions
    ) -> None:
        self.options = options
        rules = options.selection.load([entry.name for entry in platforms.entries])
        vocabulary = Vocabulary(platforms.platforms)
        if options.expressions is None:
            options.expressions = ExpressionCache()
        severities, cache = options.selection.severities, options.expressions
        is_counted = options.selection.is_only_counted
        self.evaluator = RuleEvaluator(rules, vocabulary, severities, cache, is_counted)
        self.worlds = [
            WorldRun(number, loader, options, self.evaluator)
            for number, loader in enumerate(loaders)
        ]
        self.main = self.worlds[0]
        for world in self.worlds:
            world.platforms = platforms.platforms
        for world in self.worlds[1:]:
            world.workloads = WorkloadIndex(self.main.workloads)
        #: The results of the parts, except findings and entries, which are in their worlds.
        self.checked = CheckedPart(ReadStats(), [])

    @property
    def _pending_count(self) -> int:
        return sum(world.loader.pending_count for world in self.worlds)

    def run(self) -> LintResult:
        """Check everything."""
        self._check_pods()
        self._check_together()
        self._check_run()
        return self._result()

    def _check_together(self) -> None:
        """Check what concerns several workloads: of a variant its own and those of no variant.

        What belongs to no variant may be deployed with the workloads of each.
        """
        variants = self.worlds[1:]
        others = {file for world in variants for file in world.loader.variants}
        everything = _joined(world.workloads for world in self.worlds)
        self.main.check_context(everything)
        for world in variants:
            world.check_context(world.workloads)
        self.main.check_selections(everything, others)
        for world in variants:
            world.check_selections(world.workloads, ())

    def _check_pods(self) -> None:
        """Check the pods of every world, in several processes where that pays."""
        pending, count = self._pending_count, 1
        if not self.options.debug and pending >= 2 * _PARTS_PER_PROCESS:
            count = min(process_count(), pending // _PARTS_PER_PROCESS)
        # The parts of each world go to the same process.
        shares: list[list[tuple[WorldRun, Loader, bool]]] = [[] for _ in range(count)]
        for world in self.worlds:
            parts = world.loader.split(count)
            for share, part in zip(shares, parts, strict=True):
                share.append((world, part, part is parts[0]))
        tasks = [partial(_check_share, share) for share in shares]
        for share, checked in zip(shares, run_tasks(tasks), strict=True):
            for (world, _, _), result in zip(share, checked, strict=True):
                world.take(result)
                self.checked.add_notes(result)
        self.evaluator.failures.update(self.checked.failures)

    def _check_run(self) -> None:
        """Report what could not be read, and the rules that failed."""
        stats = self.main.loader.stats
        for world in self.worlds[1:]:
            stats.add(world.loader.stats)
        stats.unreadable = [*dict.fromkeys(stats.unreadable)]
        for unreadable in stats.unreadable:
            location = FixedLocation(unreadable.region)
            self.main.check_problem(Unreadable(location=location, reason=unreadable.reason))
        for failure in list(self.evaluator.failures.values()):
            location = FixedLocation(failure.rule.region)
            failed = RuleFailed(location=location, key=failure.rule.id, reason=failure.reason)
            self.main.check_problem(failed)

    def _result(self) -> LintResult:
        stats = self.main.loader.stats
        found = [item for world in self.worlds for item in world.findings.items()]
        findings = [finding for _, finding in sorted(found, key=lambda item: item[0])]
        ignored = 0
        if self.options.selection.paths:
            found_before = len(findings)
            findings = [*self._apply_paths(findings)]
            ignored = found_before - len(findings)
        objects = self.main.context.index.count
        result = LintResult(
            stats,
            findings,
            entries=[entry for world in self.worlds for entry in world.workloads.entries],
            objects=objects + sum(w.context.index.count - objects for w in self.worlds[1:]),
            complete=not stats.unreadable and not self.evaluator.failures,
            warnings=version_warnings(self.checked.assumed_versions),
            verdicts=sorted(self.checked.verdicts, key=lambda v: (v.region, v.title)),
            rules=self.evaluator.rules,
            descriptions=self.checked.descriptions,
            ignored=ignored,
            left_out=self.options.selection.left_out,
        )
        noted = [s for world in self.worlds for s in world.loader.suppressions]
        own = [] if self.options.isolated else [*noted, *self.checked.suppressions]
        suppressions = [*own, *self.options.facts.suppressions]
        if suppressions:
            from shutdownlint.linter.suppression import apply_suppressions  # noqa: PLC0415

            apply_suppressions(result, suppressions)
        if len(self.worlds) > 1:
            shared_files = variants_of(world.loader for world in self.worlds)
            result.findings = merge_variants(result.findings, shared_files)
        _note_reports(result)
        self._hide(result)
        return result

    def _hide(self, result: LintResult) -> None:
        """Count the notes and the unsure findings that are not asked for, and remove them."""
        selection = self.options.selection
        reported = []
        for finding in result.findings:
            if self._is_note(finding):
                result.hidden[finding.rule] += 1
            elif selection.is_sure(finding.confidence):
                reported.append(finding)
            else:
                result.unsure += 1
        result.findings = reported
        result.suppressed = [s for s in result.suppressed if not self._is_note(s.finding)]

    def _is_note(self, finding: Finding) -> bool:
        return self.options.selection.hides_severity(finding.rule, finding.severity)

    def _apply_paths(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield the findings as the configuration wants them for their files."""
        selection = self.options.selection
        for finding in findings:
            file = finding.region.file
            if selection.ignores_at(finding.rule, file):
                continue
            severity = selection.severity_at(finding.rule, file)
            yield finding if severity is None else replace(finding, severity=severity)


def _note_reports(result: LintResult) -> None:
    """Note in the verdicts which rules report something of their workload."""
    rules: dict[tuple[str, ObjectId, str], dict[str, None]] = {}
    for finding in result.findings:
        for each in finding.each:
            if each.workload is not None:
                for variant in each.variants or ("",):
                    key = each.subject_file, each.workload, variant
                    rules.setdefault(key, {})[each.rule] = None
    for verdict in result.verdicts:
        found = {
            **rules.get((*verdict.key, ""), {}),
            **rules.get((*verdict.key, verdict.variant), {}),
        }
        verdict.reported_by = tuple(sorted(found))


def _check_share(share: Sequence[tuple[WorldRun, Loader, bool]]) -> list[CheckedPart]:
    """Check parts of several worlds, one after the other."""
    return [world.check_part(part, extra=extra) for world, part, extra in share]
