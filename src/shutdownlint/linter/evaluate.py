"""Evaluate: from pods and rules to findings, in one pass over the worlds of a run."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.engine.evaluator import RuleEvaluator, RuleFailure
from shutdownlint.engine.problems import RuleFailed, Unreadable
from shutdownlint.engine.subjects import problem_subject, workload_subjects
from shutdownlint.engine.vocabulary import Vocabulary
from shutdownlint.linter.evaluate_pod import evaluate_pod, rejecting_rules
from shutdownlint.linter.plan import (
    assumed_versions,
    is_mesh_open,
    make_context,
    plan,
    with_built_images,
)
from shutdownlint.linter.processes import process_count, run_tasks
from shutdownlint.linter.verdicts import WorkloadVerdict, judge_hint, judge_pod
from shutdownlint.linter.version_sweep import VersionSweep
from shutdownlint.manifests.document_reader import DocumentReader
from shutdownlint.manifests.reader import ReadStats, add_stats, contained
from shutdownlint.manifests.suppressions import Suppression, read_annotations
from shutdownlint.platforms.locations import document_of
from shutdownlint.platforms.registry import load_platforms
from shutdownlint.platforms.workload_index import WorkloadEntry, WorkloadIndex, index_entry
from shutdownlint.yaml_source.location import FixedLocation

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence
    from contextlib import AbstractContextManager

    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.engine.select_rules import SelectedRules
    from shutdownlint.linter.expand import Expansion
    from shutdownlint.linter.options import LintOptions
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.world import WorkloadFile, World
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.platform import Platform
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.yaml_source.location import Region

#: For fewer chunks with workloads a second process costs more than it saves.
_CHUNKS_PER_PROCESS: Final = 150
_Order = tuple["Region", str, str, str]


class Evaluation(Struct, frozen=True):
    """The findings of a run in the order of their places, all of them.

    ``failures`` are rules that could not be evaluated. ``assumed_versions`` names the systems
    whose versions the plans assume. ``objects`` counts the objects that give context.
    """

    expansion: Expansion
    selected: SelectedRules
    findings: tuple[Finding, ...]
    entries: tuple[WorkloadEntry, ...]
    verdicts: tuple[WorkloadVerdict, ...]
    stats: ReadStats
    suppressions: tuple[Suppression, ...]
    failures: tuple[RuleFailure, ...]
    assumed_versions: tuple[str, ...]
    descriptions: dict[tuple[str, ObjectId], Any]
    objects: int


class EvaluatedPods(Struct):
    """The results of a share of the pods; another process may have made them."""

    stats: ReadStats
    findings: list[Finding] = field(default_factory=list)
    entries: list[WorkloadEntry] = field(default_factory=list)
    verdicts: list[WorkloadVerdict] = field(default_factory=list)
    suppressions: list[Suppression] = field(default_factory=list)
    failures: dict[str, RuleFailure] = field(default_factory=dict)
    assumed_versions: list[str] = field(default_factory=list)
    descriptions: dict[tuple[str, ObjectId], Any] = field(default_factory=dict)


def evaluate(expansion: Expansion, selected: SelectedRules, options: LintOptions) -> Evaluation:
    """Evaluate the rules for every pod, every problem, and all workloads together.

    Bad input and rules that fail never raise; they are findings.
    """
    options = with_built_images(options, expansion.inputs)
    platforms = load_platforms(entry.name for entry in expansion.platforms)
    selection = selected.selection
    evaluator = RuleEvaluator(
        selected.rules, Vocabulary(platforms), selection.severities, selection.is_only_counted
    )
    worlds: list[_WorldEvaluator] = []
    for world in expansion.worlds:
        known = WorkloadIndex(worlds[0].workloads) if worlds else WorkloadIndex()
        worlds.append(_WorldEvaluator(world, options, selected, evaluator, platforms, known))
    pods = _evaluate_pods(worlds, debug=options.debug)
    evaluator.failures.update(
        {name: failure for part in pods for name, failure in part.failures.items()}
    )
    _evaluate_together(worlds)
    return _collect(expansion, selected, worlds, pods, evaluator)


def _evaluate_pods(worlds: Sequence[_WorldEvaluator], *, debug: bool) -> list[EvaluatedPods]:
    """Evaluate the pods of every world, in several processes where that pays."""
    pending, count = sum(world.world.chunk_count for world in worlds), 1
    if not debug and pending >= 2 * _CHUNKS_PER_PROCESS:
        count = min(process_count(), pending // _CHUNKS_PER_PROCESS)
    # The shares of each world go to the same process.
    shared = [world.world.share_files(count) for world in worlds]
    tasks = [
        partial(_evaluate_share, worlds, [files[number] for files in shared], first=number == 0)
        for number in range(count)
    ]
    found: list[EvaluatedPods] = []
    for results in run_tasks(tasks):
        for world, result in zip(worlds, results, strict=True):
            world.take(result)
            found.append(result)
    return found


def _evaluate_share(
    worlds: Sequence[_WorldEvaluator], files: Sequence[tuple[WorkloadFile, ...]], *, first: bool
) -> list[EvaluatedPods]:
    """Evaluate a share of the files of each world, one world after the other."""
    return [
        world.evaluate_pods(own, derived=first) for world, own in zip(worlds, files, strict=True)
    ]


def _evaluate_together(worlds: Sequence[_WorldEvaluator]) -> None:
    """Evaluate what concerns several workloads: of a variant its own and those of no variant.

    Files of no variant may be deployed with the workloads of each.
    """
    main, *variants = worlds
    others = {file for world in variants for file in world.world.variants}
    everything = _joined([world.workloads for world in worlds])
    main.evaluate_context(everything)
    for world in variants:
        world.evaluate_context(world.workloads)
    main.evaluate_selections(everything, others)
    for world in variants:
        world.evaluate_selections(world.workloads, ())


def _joined(indexes: Sequence[WorkloadIndex]) -> WorkloadIndex:
    """Return the workloads of several worlds together."""
    if len(indexes) == 1:
        return indexes[0]
    found = WorkloadIndex()
    for index in indexes:
        for entry in index.entries:
            found.add(entry)
    return found


def _collect(
    expansion: Expansion,
    selected: SelectedRules,
    worlds: Sequence[_WorldEvaluator],
    pods: Sequence[EvaluatedPods],
    evaluator: RuleEvaluator,
) -> Evaluation:
    """Return the results of all worlds, with what could not be read and the rules that failed."""
    main = worlds[0]
    first, named, *others = expansion.read_stats
    of_worlds = zip([first, *others], worlds, strict=True)
    counts = [each for stats, world in of_worlds for each in (stats, *world.stats)]
    stats = add_stats([counts[0], named, *counts[1:]])
    for unreadable in stats.unreadable:
        location = FixedLocation(unreadable.region)
        main.evaluate_problem(Unreadable(location=location, reason=unreadable.reason))
    failures = tuple(evaluator.failures.values())
    for failure in failures:
        location = FixedLocation(failure.rule.region)
        failed = RuleFailed(location=location, key=failure.rule.id, reason=failure.reason)
        main.evaluate_problem(failed)
    found = [item for world in worlds for item in world.findings.items()]
    verdicts = (verdict for part in pods for verdict in part.verdicts)
    in_files = (s for world in expansion.worlds for s in world.suppressions)
    objects = main.context.index.count
    return Evaluation(
        expansion,
        selected,
        tuple(finding for _, finding in sorted(found, key=lambda item: item[0])),
        tuple(entry for world in worlds for entry in world.workloads.entries),
        tuple(sorted(verdicts, key=lambda v: (v.region, v.title))),
        stats,
        (*in_files, *(s for part in pods for s in part.suppressions)),
        failures,
        tuple(name for part in pods for name in part.assumed_versions),
        {key: text for part in reversed(pods) for key, text in part.descriptions.items()},
        objects + sum(w.context.index.count - objects for w in worlds[1:]),
    )


class _WorldEvaluator:
    """Evaluates one world: its pods, its other objects, and all its workloads together."""

    def __init__(
        self,
        world: World,
        options: LintOptions,
        selected: SelectedRules,
        evaluator: RuleEvaluator,
        platforms: Sequence[Platform],
        workloads: WorkloadIndex,
    ) -> None:
        self.world = world
        self.context = make_context(world, options.facts)
        self.workloads = workloads
        self.stats: list[ReadStats] = []
        #: The same workload in several files (renderings of one chart) makes the same finding.
        self.findings: dict[_Order, Finding] = {}
        self._options = options
        self._selected = selected
        self._evaluator = evaluator
        self._platforms = platforms
        self._rejecting = {rule.id for rule in evaluator.rules if rule.rejects}
        self._sweep = VersionSweep(self.context, platforms, evaluator)

    def evaluate_pods(self, files: Sequence[WorkloadFile], *, derived: bool) -> EvaluatedPods:
        """Evaluate the pods of these files; ``derived`` as in ``plan``."""
        reader = DocumentReader(debug=self._options.debug)
        found = EvaluatedPods(reader.stats)
        annotated: list[Suppression] = []
        pods = plan(self.world, self.context, self._platforms, reader, files, derived=derived)
        for pod in pods:
            annotated += read_annotations(pod.workload)
            if pod.plan is not None:
                found.assumed_versions += assumed_versions(pod.plan)
            with contained(reader.stats, pod.ref.region, debug=reader.debug):
                self._evaluate_pod(pod, found)
        found.suppressions += [*reader.suppressions, *annotated]
        found.failures.update(self._evaluator.failures)
        return found

    def _evaluate_pod(self, planned: PlannedPod, result: EvaluatedPods) -> None:
        found = [*evaluate_pod(planned, self._evaluator, self.context.user_facts)]
        pod, described = planned, planned.workload.described_by is not None
        if not described:
            rejections = tuple(f.placed_message for f in self._rejections(planned, found))
            pod = replace(planned, rejections=rejections) if rejections else planned
        if pod.rejections:  # a pod that is never created loses nothing
            found = [finding for finding in found if finding.loss is None]
        for finding in found:
            dated = finding.about_versions and not self._is_hidden(finding)
            result.findings.append(self._sweep.with_versions(finding, pod) if dated else finding)
        if not described:
            result.entries.append(index_entry(pod, self._options.facts.owner_label))
            result.verdicts.append(self._judge(pod))
            if self._options.describe is not None:
                shown = [finding for finding in found if not self._is_hidden(finding)]
                key = pod.ref.region().file, pod.id
                result.descriptions.setdefault(key, self._options.describe(pod, shown))

    def _rejections(self, pod: PlannedPod, found: list[Finding]) -> Iterable[Finding]:
        """Return the findings on a pod that is never created, also of rules not selected."""
        yield from (finding for finding in found if finding.rule in self._rejecting)
        if self._selected.left_out:
            yield from evaluate_pod(pod, self._unselected, self.context.user_facts)

    @cached_property
    def _unselected(self) -> RuleEvaluator:
        """The rejecting rules that are not selected: that changes nothing of what is true."""
        rules: list[Rule] = [
            rule
            for rule in rejecting_rules(platform.name for platform in self._platforms)
            if rule.id not in self._rejecting
        ]
        return RuleEvaluator(rules, self._evaluator.vocabulary)

    def _judge(self, pod: PlannedPod) -> WorkloadVerdict:
        """Return the losses of a stop of the pod."""
        is_open = is_mesh_open(pod, self.context)
        hinted = judge_hint(pod, self.context, self._platforms) if is_open else None
        return judge_pod(pod, self.context.user_facts, mesh_is_open=is_open, hinted=hinted)

    def _is_hidden(self, finding: Finding) -> bool:
        return self._selected.selection.is_only_counted(finding.rule, finding.severity)

    def take(self, pods: EvaluatedPods) -> None:
        """Add the results of a share of its pods."""
        self.stats.append(pods.stats)
        for finding in pods.findings:
            self._add(finding)
        for entry in pods.entries:
            self.workloads.add(entry)

    def evaluate_context(self, known: WorkloadIndex) -> None:
        """Evaluate the objects that are not workloads, and all workloads together.

        ``known`` are the workloads that may be deployed together with these.
        """
        for platform in self._platforms if self.world.has_own_objects else ():
            with self._contained():
                self._evaluate_problems(platform.context_problems(self.context))
        own, vocabulary = self.workloads.entries, self._evaluator.vocabulary
        with self._contained():
            for subject in workload_subjects(own, known, self.context, vocabulary):
                for finding in self._evaluator.evaluate(subject):
                    self._add(finding)

    def evaluate_selections(self, workloads: WorkloadIndex, others: Container[str]) -> None:
        """Evaluate what selects workloads, once all of them are known.

        ``others`` are files that other worlds report.
        """
        for platform in self._platforms if self.world.has_own_objects else ():
            with self._contained():
                problems = platform.selection_problems(workloads, self.context)
                self._evaluate_problems(problems, others)

    def _contained(self) -> AbstractContextManager[None]:
        """Contain what fails in checks of several objects together."""
        stats = ReadStats()
        self.stats.append(stats)
        return contained(stats, lambda: self.world.place, debug=self._options.debug)

    def _evaluate_problems(self, problems: Iterable[Problem], others: Container[str] = ()) -> None:
        for problem in problems:
            document = document_of(problem.location)
            # A rendered document has a name of its own, and places in other files.
            file = document.file if document is not None else problem.location.region().file
            if self.world.reports(file) and file not in others:
                self.evaluate_problem(problem)

    def evaluate_problem(self, problem: Problem) -> None:
        """Add the findings on a problem."""
        vocabulary, facts = self._evaluator.vocabulary, self.context.user_facts
        subject = problem_subject(problem, vocabulary, facts, problem.workload)
        for finding in self._evaluator.evaluate(subject, problem.kind()):
            self._add(finding)

    def _add(self, finding: Finding) -> None:
        if self.world.variant and not finding.variants:
            finding = replace(finding, variants=(self.world.variant,))
        # A finding that is only counted has no message.
        what = finding.message or finding.container or ""
        self.findings[finding.region, finding.rule, what, str(finding.workload)] = finding
