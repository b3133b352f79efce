"""The input and the result of a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from shutdownlint.engine.selection import RuleSelection
from shutdownlint.manifests.discovery import FileSearch
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.platforms.user_facts import UserFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shutdownlint.engine.evaluator import ExpressionCache
    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.linter.verdicts import WorkloadVerdict
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.workload_index import WorkloadEntry


class SuppressedFinding(Struct, frozen=True):
    """A finding that is suppressed, why, and whether the manifest itself says so."""

    finding: Finding
    reason: str
    in_source: bool


def no_progress() -> None:
    """Do nothing: the progress callback of runs that show no progress."""


class LintOptions(Struct):
    """The options of a run: facts about the environment, rules, and a progress callback.

    ``debug``: internal errors are raised instead of being reported.
    """

    facts: UserFacts = field(default_factory=UserFacts)
    selection: RuleSelection = field(default_factory=RuleSelection)
    on_file: Callable[[], None] = no_progress
    debug: bool = False
    isolated: bool = False
    #: The data that reports need of a pod with its findings; the result is kept by workload.
    describe: Callable[[PlannedPod, Sequence[Finding]], Any] | None = None
    #: The search for files that manifests name and that are not among the paths.
    search: FileSearch = FileSearch()
    #: Made by the first run; further runs with these options share it.
    expressions: ExpressionCache | None = None


class LintResult(Struct):
    """The result of a check. ``complete`` is false if a part of the job could not be done.

    A finding is about one workload; variants that share it are one. ``verdicts`` say what a stop
    loses of each workload that was checked, ``entries`` are these workloads. ``objects`` counts
    what else was read for context. ``warnings`` are about the run as a whole. ``hidden`` counts by
    rule the notes that are not reported, ``unsure`` the findings of a lower confidence than asked
    for, ``known`` those of a baseline.
    """

    stats: ReadStats = field(default_factory=ReadStats)
    findings: list[Finding] = field(default_factory=list)
    suppressed: list[SuppressedFinding] = field(default_factory=list)
    entries: list[WorkloadEntry] = field(default_factory=list)
    objects: int = 0
    complete: bool = True
    warnings: list[str] = field(default_factory=list)
    verdicts: list[WorkloadVerdict] = field(default_factory=list)
    hidden: Counter[str] = field(default_factory=Counter)
    known: int = 0
    #: Findings that the configuration ignores for their files.
    ignored: int = 0
    unsure: int = 0
    #: The number of rules that are not evaluated, because they are not selected.
    left_out: int = 0
    rules: Sequence[Rule] = ()
    #: The results of ``LintOptions.describe``, by file and workload.
    descriptions: dict[tuple[str, ObjectId], Any] = field(default_factory=dict)

    @property
    def workloads(self) -> int:
        """The number of workloads that were checked."""
        return len(self.entries)


class PlannedRun(Struct):
    """The planned pods of a run, without any rule being evaluated."""

    stats: ReadStats
    pods: list[PlannedPod] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: The variants that a file is part of.
    variants_of: dict[str, set[str]] = field(default_factory=dict)

    def add(self, other: PlannedRun) -> None:
        """Add the pods of another variant."""
        self.stats.add(other.stats)
        self.pods += other.pods
        self.warnings = [*dict.fromkeys([*self.warnings, *other.warnings])]
