"""A rule tested on its examples: it reports the marked lines of ``bad``, none of ``good``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.engine.select_rules import SelectedRules
from shutdownlint.engine.selection import RuleSelection
from shutdownlint.linter.linter import check
from shutdownlint.linter.options import LintOptions
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.registry import PLATFORMS
from shutdownlint.platforms.user_facts import AppFacts, UserFacts, parse_mesh
from shutdownlint.platforms.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shutdownlint.engine.rule import Rule
    from shutdownlint.engine.schema import Example, Options


def example_problems(rule: Rule, examples: Iterable[Example]) -> Iterator[str]:
    """Yield the problems of a rule's examples."""
    for number, example in enumerate(examples, 1):
        marked = _marked_lines(example.bad, rule)
        if not marked:
            yield f"example {number}: no line of bad ends in '# {rule.id}'"
        try:
            facts = example_facts(example.options)
        except ValueError as error:
            yield f"example {number}: options: {error}"
            continue
        bad = _reported_lines(example.bad, rule, facts)
        good = _reported_lines(example.good, rule, facts)
        if bad != marked:
            yield (
                f"example {number}: bad is reported at {_format(bad)}, marked is {_format(marked)}"
            )
        if good:
            yield f"example {number}: good is reported at {_format(good)}"


def example_facts(options: Options | None) -> UserFacts:
    """Return what the user states in an example.

    Raises ``ValueError`` for options that are not versions or durations.
    """
    if options is None:
        return UserFacts()
    names = [entry.name for entry in PLATFORMS if entry.mesh]
    stated = AppFacts(
        "*",
        p99=go_duration(options.p99) if options.p99 else None,
        propagation=go_duration(options.propagation) if options.propagation else None,
        source_label="--p99" if options.p99 else "--propagation",
    )
    return UserFacts(
        {name: Version.parse(text) for name, text in options.versions.items()},
        tuple(parse_mesh(text, names) for text in options.mesh),
        (stated,),
    )


def _marked_lines(text: str, rule: Rule) -> list[int]:
    lines = enumerate(text.splitlines(), 1)
    return [number for number, line in lines if line.rstrip().endswith(f"# {rule.id}")]


def _reported_lines(text: str, rule: Rule, facts: UserFacts) -> list[int]:
    inputs = Inputs(
        (InputSource(InputFile(None, "<example>", text.encode(errors="surrogatepass"))),)
    )
    selection = RuleSelection(notes=True)
    options = LintOptions(facts, selection, only=SelectedRules((rule,), selection))
    result = check(inputs, options)
    return [finding.region.line for finding in result.findings if finding.rule == rule.id]


def _format(lines: list[int]) -> str:
    return f"line {', '.join(map(str, lines))}" if lines else "no line"
