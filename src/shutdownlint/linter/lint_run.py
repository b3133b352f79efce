"""The input and the result of a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, field

from shutdownlint.engine.selection import RuleSelection
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.platforms.user_facts import UserFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shutdownlint.engine.evaluator import ExpressionCache
    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.platforms.planned_pod import PlannedPod


class SuppressedFinding(Struct, frozen=True):
    """A finding that is suppressed, why, and whether the manifest itself says so."""

    finding: Finding
    reason: str
    in_source: bool


def no_progress() -> None:
    """The progress callback of runs that show none."""


class LintOptions(Struct):
    """The options of a run: facts about the environment, rules, and a progress callback.

    ``all_rules``: also load the rules of platforms that the input does not mention. ``debug``:
    internal errors are raised instead of being reported.
    """

    facts: UserFacts = field(default_factory=UserFacts)
    selection: RuleSelection = field(default_factory=RuleSelection)
    on_file: Callable[[], None] = no_progress
    all_rules: bool = False
    debug: bool = False
    isolated: bool = False
    #: Patterns of files that are not read.
    exclude: Sequence[str] = ()
    #: Made by the first run; further runs with these options share it.
    expressions: ExpressionCache | None = None


class LintResult(Struct):
    """What a check has found. ``complete`` is false if a part of the job could not be done.

    ``workloads`` is how many were checked, ``objects`` how many others were read for context.
    ``warnings`` are about the run as a whole, ``hints`` what would make its answers more exact.
    ``hidden`` counts by rule the notes that are not reported, ``known`` the findings of a baseline.
    """

    stats: ReadStats = field(default_factory=ReadStats)
    findings: list[Finding] = field(default_factory=list)
    suppressed: list[SuppressedFinding] = field(default_factory=list)
    workloads: int = 0
    objects: int = 0
    complete: bool = True
    warnings: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    hidden: Counter[str] = field(default_factory=Counter)
    known: int = 0
    rules: Sequence[Rule] = ()


class PlannedRun(Struct):
    """The planned pods of a run, without any rule being evaluated."""

    stats: ReadStats
    pods: list[PlannedPod] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, other: PlannedRun) -> None:
        """Add the pods of another variant."""
        self.stats.add(other.stats)
        self.pods += other.pods
        self.warnings = [*dict.fromkeys([*self.warnings, *other.warnings])]
