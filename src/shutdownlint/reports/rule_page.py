"""A rule's page, from the rule file alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shutdownlint.platforms.registry import platform_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shutdownlint.engine.schema import Example, RuleSchema


def _no_picture(_text: str, _example: Example) -> str:
    return ""


def rule_page(rule: RuleSchema, draw: Callable[[str, Example], str] = _no_picture) -> str:
    """Return the page as Markdown: explanation, condition, examples, sources.

    ``draw`` gives what is below each text of an example.
    """
    parts = [
        f"# {rule.id} {rule.headline}",
        f"Severity: {rule.severity.value}. Evaluated for: each {rule.subject.value}.",
        rule.explanation.strip(),
        _condition(rule),
    ]
    if rule.versions:
        versions = (
            f"{platform_title(name)} {versions.text}" for name, versions in rule.versions.items()
        )
        parts.append(f"Holds for {', '.join(versions)}.")
    if rule.fix is not None:
        text = " ".join(rule.fix.description.split())
        text = re.sub(r"\{(\w+)(?:\.\w+)?\}", r"`\1`", text)
        parts.append(f"## Fix\n\n{text[:1].upper()}{text[1:]}.")
    for number, example in enumerate(rule.examples, 1):
        parts += _example(example, "" if len(rule.examples) == 1 else f" {number}", draw)
    sources = "\n".join(f"- {source}" for source in rule.sources)
    parts.append(f"## Sources\n\n{sources}")
    return "\n\n".join(parts) + "\n"


def _condition(rule: RuleSchema) -> str:
    parts = []
    if rule.problem is not None:
        parts.append(f"The problem `{rule.problem}` is found.")
    if rule.when is not None:
        parts.append(f"```cel\n{rule.when.strip()}\n```")
    return "## Reported when\n\n" + "\n\n".join(parts)


def _example(example: Example, number: str, draw: Callable[[str, Example], str]) -> Iterator[str]:
    options = ""
    if example.options is not None:
        settings = [f"{name} {version}" for name, version in example.options.versions.items()]
        settings += [f"mesh {mesh}" for mesh in example.options.mesh]
        settings += [f"p99 {example.options.p99}"] if example.options.p99 else []
        options = f" (with {', '.join(settings)})"
    heads = ((f"## Example{number}{options}", example.bad), ("Instead:", example.good))
    for head, text in heads:
        yield f"{head}\n\n```yaml\n{text.rstrip()}\n```"
        if picture := draw(text, example):
            yield picture
