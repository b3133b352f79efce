"""A run: inputs expanded to worlds, their pods planned and checked by the rules.

Only where there is something to check are the models, the platforms and the rules imported: a hook
on other files stays fast.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.linter.expand import expand
from shutdownlint.linter.result import LintResult, PlannedRun
from shutdownlint.manifests.reader import add_stats
from shutdownlint.platforms.registry import mesh_names

if TYPE_CHECKING:
    from shutdownlint.linter.expand import Expansion
    from shutdownlint.linter.options import LintOptions
    from shutdownlint.manifests.inputs import Inputs


def check(inputs: Inputs, options: LintOptions) -> LintResult:
    """Lint files. Bad input never raises.

    Raises ``RuleError`` for mistakes in rules.
    """
    return check_expanded(expand(inputs, options), options)


def check_expanded(expansion: Expansion, options: LintOptions) -> LintResult:
    """Lint files that were read. Raises as ``check``."""
    # Names of rules are checked even where no rule is evaluated.
    if not expansion.has_input and not options.selection.names:
        return LintResult(add_stats(expansion.read_stats), inputs=expansion.inputs)
    from shutdownlint.engine.select_rules import select_rules  # noqa: PLC0415 - see above
    from shutdownlint.linter.evaluate import evaluate  # noqa: PLC0415 - see above
    from shutdownlint.linter.finish import finish  # noqa: PLC0415 - see above

    names = [entry.name for entry in expansion.platforms]
    rules = options.only or select_rules(options.selection, names)
    return finish(evaluate(expansion, rules, options), options)


def plan_workloads(inputs: Inputs, options: LintOptions) -> PlannedRun:
    """Plan the pods of every workload among the files."""
    # Every mesh is a possible case, also where no file names one.
    expansion = expand(inputs, options, mesh_names())
    if not expansion.has_input:
        return PlannedRun(add_stats(expansion.read_stats), inputs)
    from shutdownlint.linter.explained_pods import plan_explained  # noqa: PLC0415 - see above

    return plan_explained(expansion, options)
