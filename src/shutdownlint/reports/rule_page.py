"""A rule's page, from the rule file alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from shutdownlint.engine.rule import Rule
    from shutdownlint.engine.schema import Example


def _no_picture(_text: str, _example: Example) -> str:
    return ""


def rule_page(rule: Rule, drawn: Callable[[str, Example], str] = _no_picture) -> str:
    """The page as Markdown: explanation, condition, examples, sources.

    ``drawn`` gives what stands below each text of an example.
    """
    form = rule.form
    parts = [
        f"# {form.id} {form.name}",
        f"Severity: {form.severity.value}. Asked of: each {form.target.value}.",
        form.explanation.strip(),
        f"## Fires when\n\n```cel\n{form.when.strip()}\n```",
    ]
    since = [
        f"{system} {versions.text}"
        for system, versions in (("Kubernetes", form.since.kubernetes), ("Istio", form.since.istio))
        if versions is not None
    ]
    if since:
        parts.append(f"Holds for {', '.join(since)}.")
    if form.fix is not None:
        words = re.sub(r"\{(\w+)(?:\.\w+)?\}", r"`\1`", " ".join(form.fix.words.split()))
        parts.append(f"## Fix\n\n{words[:1].upper()}{words[1:]}.")
    for number, example in enumerate(form.examples, 1):
        title = "## Example" if len(form.examples) == 1 else f"## Example {number}"
        options = ", ".join(
            f"{name} {value}" for name, value in example.options.model_dump().items() if value
        )
        with_options = f" (with {options})" if options else ""
        for head, text in ((f"{title}{with_options}", example.bad), ("Instead:", example.good)):
            parts.append(f"{head}\n\n```yaml\n{text.rstrip()}\n```")
            if picture := drawn(text, example):
                parts.append(picture)
    sources = "\n".join(f"- {source}" for source in form.sources)
    parts.append(f"## Sources\n\n{sources}")
    return "\n\n".join(parts) + "\n"
