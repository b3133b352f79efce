"""One run, from files to findings.

The first stage reads every file and parses what gives context. Only where there is something to
check are the models, the platforms and the rules imported: a hook on other files stays fast.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shutdownlint.linter.lint_run import LintResult, PlannedRun
from shutdownlint.linter.variants import plan_variants
from shutdownlint.manifests.loader import Loader, variants_of
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
        loaders, platforms = read_worlds(sources, options)
        main = loaders[0]
        has_input = any(loader.has_input for loader in loaders)
        # Names of rules are checked even where no rule is evaluated.
        if not has_input and not options.selection.names:
            return LintResult(main.stats)
        from shutdownlint.linter.check_run import CheckRun  # noqa: PLC0415 - the one lazy boundary

        return CheckRun(loaders, platforms, options).run()


def plan_workloads(sources: Iterable[InputSource], options: LintOptions) -> PlannedRun:
    """Plan the pods of every workload among the files."""
    with gc_paused():
        # Every mesh is a possible case, also where no file names one.
        loaders, platforms = read_worlds(sources, options, mesh_names())
        if not any(loader.has_input for loader in loaders):
            return PlannedRun(loaders[0].stats)
        from shutdownlint.linter.plan_run import PlanRun  # noqa: PLC0415 - the one lazy boundary

        main, *others = [PlanRun(loader, platforms, options).run() for loader in loaders]
        for run in others:
            main.add(run)
        main.variants_of = variants_of(loaders)
        return main


def read_worlds(
    sources: Iterable[InputSource], options: LintOptions, named: Iterable[str] = ()
) -> tuple[list[Loader], PlatformSet]:
    """Return the files of every world, read for their context; the first is what all others know.

    ``named`` are platforms that are loaded whatever the files have.
    """
    facts = options.facts
    meshes = {*facts.versions, *(fact.mesh for fact in facts.meshes)} - {NO_MESH}
    platforms = PlatformSet({*meshes, *named})
    plan = plan_variants(sources, options.search)
    loader = Loader(kind_table(), platforms.notice, options.on_file, debug=options.debug)
    loaders: list[Loader] = []
    for own in plan.worlds:
        loaders.append(loader.further_world() if loaders else loader)
        loaders[-1].read_context(own)
    loader.stats.skipped.update(plan.skipped)
    loader.stats.unreadable += plan.unreadable
    return loaders, platforms
