"""A rule's page, from the rule file alone."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shutdownlint.rules.rule import Rule


def rule_page(rule: Rule) -> str:
    """The page as Markdown: explanation, condition, examples, sources."""
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
        parts.append(f"{title}{with_options}\n\n```yaml\n{example.bad.rstrip()}\n```")
        parts.append(f"Instead:\n\n```yaml\n{example.good.rstrip()}\n```")
    sources = "\n".join(f"- {source}" for source in form.sources)
    parts.append(f"## Sources\n\n{sources}")
    return "\n\n".join(parts) + "\n"
