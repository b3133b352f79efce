"""One run, from files to findings.

The first stage reads every file and parses what gives context. Only where there is something to
check are the models, the platforms and the rules imported: a hook on other files stays fast.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct, field

from shutdownlint.engine.selection import RuleSelection
from shutdownlint.manifests.loader import Loader
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.platforms.registry import PlatformSet, kind_table
from shutdownlint.platforms.user_facts import NO_MESH, UserFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from shutdownlint.engine.evaluator import ExpressionCache
    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.linter.suppression import SuppressedFinding
    from shutdownlint.manifests.loader import InputSource
    from shutdownlint.platforms.planned_pod import PlannedPod


def no_progress() -> None:
    """The progress callback of runs that show none."""


class LintOptions(Struct):
    """What a run is told: facts about the environment, rules, and who is told of progress.

    ``all_rules``: also load the rules of platforms that the input does not mention. ``debug``:
    internal errors are raised instead of being reported.
    """

    facts: UserFacts = field(default_factory=UserFacts)
    selection: RuleSelection = field(default_factory=RuleSelection)
    on_file: Callable[[], None] = no_progress
    all_rules: bool = False
    debug: bool = False
    #: Made by the first run; further runs with these options share it.
    expressions: ExpressionCache | None = None


class LintResult(Struct):
    """What a check has found. ``complete`` is false if a part of the job could not be done.

    ``workloads`` is how many were checked. ``warnings`` are about the run as a whole.
    """

    stats: ReadStats = field(default_factory=ReadStats)
    findings: list[Finding] = field(default_factory=list)
    suppressed: list[SuppressedFinding] = field(default_factory=list)
    workloads: int = 0
    complete: bool = True
    warnings: list[str] = field(default_factory=list)
    rules: Sequence[Rule] = ()


class PlannedRun(Struct):
    """The planned pods of a run, without any rule being evaluated."""

    stats: ReadStats
    pods: list[PlannedPod] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Without the cyclic garbage collector: a run makes many objects and hardly any cycle."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def check(sources: Iterable[InputSource], options: LintOptions) -> LintResult:
    """Lint files. Bad input never raises.

    Raises ``RuleError`` for mistakes in rules.
    """
    with gc_paused():
        loader, platforms = _read_context(sources, options)
        has_input = loader.has_workloads or loader.index is not None or loader.stats.unreadable
        # Names of rules are checked even where no rule is evaluated.
        if not has_input and not options.all_rules and not options.selection.names:
            return LintResult(loader.stats)
        from shutdownlint.linter.stages import CheckRun  # noqa: PLC0415 - the one lazy boundary

        return CheckRun(loader, platforms, options).run()


def plan_workloads(sources: Iterable[InputSource], options: LintOptions) -> PlannedRun:
    """Plan the pods of every workload among the files."""
    with gc_paused():
        loader, platforms = _read_context(sources, options)
        if not loader.has_workloads and loader.index is None:
            return PlannedRun(loader.stats)
        from shutdownlint.linter.stages import PlanRun  # noqa: PLC0415 - the one lazy boundary

        return PlanRun(loader, platforms, options).run()


def _read_context(
    sources: Iterable[InputSource], options: LintOptions
) -> tuple[Loader, PlatformSet]:
    facts = options.facts
    named = {*facts.versions, *(fact.mesh for fact in facts.meshes)} - {NO_MESH}
    platforms = PlatformSet(named)
    loader = Loader(kind_table(), platforms.notice, options.on_file)
    loader.read_context(sources)
    return loader, platforms
