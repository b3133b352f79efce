"""One run, from files to findings.

The first stage reads every file and parses what gives context. Only where there is something to
check are the models, the platforms and the rules imported: a hook on other files stays fast.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shutdownlint.linter.lint_run import LintResult, PlannedRun
from shutdownlint.manifests.loader import Loader
from shutdownlint.manifests.skips import REMOTE_RESOURCES
from shutdownlint.platforms.registry import PlatformSet, kind_table, mesh_names
from shutdownlint.platforms.user_facts import NO_MESH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shutdownlint.linter.lint_run import LintOptions
    from shutdownlint.manifests.loader import InputSource


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
        from shutdownlint.linter.check_run import CheckRun  # noqa: PLC0415 - the one lazy boundary

        return CheckRun(loader, platforms, options).run()


def plan_workloads(sources: Iterable[InputSource], options: LintOptions) -> PlannedRun:
    """Plan the pods of every workload among the files."""
    with gc_paused():
        # Every mesh is a possible case, also where no file names one.
        loader, platforms = _read_context(sources, options, mesh_names())
        if not loader.has_workloads and loader.index is None:
            return PlannedRun(loader.stats)
        from shutdownlint.linter.plan_run import PlanRun  # noqa: PLC0415 - the one lazy boundary

        return PlanRun(loader, platforms, options).run()


def _read_context(
    sources: Iterable[InputSource], options: LintOptions, named: Iterable[str] = ()
) -> tuple[Loader, PlatformSet]:
    facts = options.facts
    meshes = {*facts.versions, *(fact.mesh for fact in facts.meshes)} - {NO_MESH}
    platforms = PlatformSet({*meshes, *named})
    loader = Loader(kind_table(), platforms.notice, options.on_file, debug=options.debug)
    loader.read_context(sources)
    if loader.index is not None and loader.index.remote_kustomizations:
        loader.stats.skipped[REMOTE_RESOURCES] += loader.index.remote_kustomizations
    return loader, platforms
