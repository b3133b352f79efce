"""A rule tried on its own examples: ``bad`` fires on the marked lines only, ``good`` is silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.config import Config
from shutdownlint.linter.linter import check
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.loader import InputSource
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.engine.rule import Rule
    from shutdownlint.engine.schema import Example, Options
    from shutdownlint.platforms.user_facts import UserFacts


def problems(rule: Rule) -> Iterator[str]:
    """What is wrong with a rule's examples; it has none where nothing is said."""
    for number, example in enumerate(rule.form.examples, 1):
        marked = _marked(example.bad, rule)
        if not marked:
            yield f"example {number}: no line of bad ends in '# {rule.id}'"
        try:
            bad, good = _lines(example.bad, rule, example), _lines(example.good, rule, example)
        except ValueError as error:
            yield f"example {number}: options: {error}"
            continue
        if bad != marked:
            yield f"example {number}: bad fires at {_told(bad)}, marked is {_told(marked)}"
        if good:
            yield f"example {number}: good fires at {_told(good)}"


def _marked(text: str, rule: Rule) -> list[int]:
    lines = enumerate(text.splitlines(), 1)
    return [number for number, line in lines if line.rstrip().endswith(f"# {rule.id}")]


def given_with(options: Options) -> UserFacts:
    """What the user says in an example.

    Raises ``ValueError`` for options that are no version or duration.
    """
    config = Config(
        kubernetes=Version.parse(options.kubernetes) if options.kubernetes else None,
        istio=Version.parse(options.istio) if options.istio else None,
    )
    return config.given(go_duration(options.p99) if options.p99 else None)


def _lines(text: str, rule: Rule, example: Example) -> list[int]:
    """Where the rule fires. Raises ``ValueError`` as above."""
    source = InputSource(InputFile(None, "<example>", text.encode()))
    result = check([source], given_with(example.options), rules=lambda: [rule])
    return [finding.region.line for finding in result.findings if finding.rule == rule.id]


def _told(lines: list[int]) -> str:
    return f"line {', '.join(map(str, lines))}" if lines else "no line"
