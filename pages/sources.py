"""What the site is built from: Markdown with links that hold, and a page for each rule."""

from __future__ import annotations

import itertools
import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shutdownlint.engine.loader import load_rules
from shutdownlint.linter.linter import read
from shutdownlint.linter.rule_examples import given_with
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.loader import InputSource
from shutdownlint.platforms.durations import go_duration
from shutdownlint.reports.drawing import explain_svg, tables_html
from shutdownlint.reports.explain import drawn_of
from shutdownlint.reports.rule_page import rule_page
from shutdownlint.shutdown import Request, Shutdown, Traffic

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.engine.rule import Rule
    from shutdownlint.engine.schema import Example

ROOT: Final = Path(__file__).resolve().parents[1]
#: The pages beside the rules': where each comes from, and its title in the navigation.
PAGES: Final = {
    "index.md": ("README.md", "Start here"),
    "configuration.md": ("docs/configuration.md", "Configuration"),
    "fixes.md": ("docs/fixes.md", "Fixes"),
    "own-rules.md": ("docs/rules.md", "Rule files"),
    "facts.md": ("docs/facts.md", "Facts and sources"),
    "conformance.md": ("docs/conformance.md", "Held against Envoy"),
    "story.md": ("docs/story.md", "One request, three endings"),
    "performance.md": ("docs/performance.md", "Performance"),
    "decisions.md": ("docs/decisions.md", "Decisions"),
    "contributing.md": ("CONTRIBUTING.md", "Contributing"),
    "changelog.md": ("CHANGELOG.md", "Changelog"),
}
RULES: Final = "rules/index.md"
#: By the first digit of a rule's number.
FAMILIES: Final = {
    "0": "Reading manifests",
    "1": "Kubernetes",
    "2": "Istio",
    "3": "Load balancers",
}
_HEAD: Final = """\
# Rules

An *error* is certain, a *warning* is loss under ordinary traffic or a setting that does not do what
its author thinks, a *note* is advice."""
_LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
_SCREEN: Final = re.compile(r"^<!-- screen: .* -->\n", re.MULTILINE)


def markdown() -> dict[str, str]:
    """Every page by its path."""
    found = {page: _page(page) for page in PAGES}
    rules = load_rules()
    found[RULES] = _list(rules)
    for rule in rules:
        found[f"rules/{rule.id}.md"] = _rule(rule)
    return found


def _page(page: str) -> str:
    source = ROOT / PAGES[page][0]
    known = {ROOT / origin: target for target, (origin, _) in PAGES.items()}
    known[ROOT / "docs" / "rule-list.md"] = RULES

    def follow(link: re.Match[str]) -> str:
        target = known[(source.parent / link[1]).resolve()]
        return f"]({target}{link[2] or ''})"

    return _LINK.sub(follow, _SCREEN.sub("", source.read_text()))


def _list(rules: Sequence[Rule]) -> str:
    parts = [_HEAD]
    for digit, title in FAMILIES.items():
        rows = [
            f"| [{rule.id}]({rule.id}.md) | {rule.name} | {rule.severity.value} | {_first(rule)} |"
            for rule in rules
            if rule.id[2] == digit
        ]
        head = f"## {title}\n\n| rule | name | severity | |\n|---|---|---|---|\n"
        parts.append(head + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _first(rule: Rule) -> str:
    """The first sentence of a rule's explanation."""
    text = " ".join(rule.form.explanation.split())
    return re.split(r"(?<=[.:;])\s", text)[0].rstrip(":;").replace("|", "\\|")


def _rule(rule: Rule) -> str:
    last, numbers = "", itertools.count(1)  # pictures of one page have their own numbers

    def drawn(text: str, example: Example) -> str:
        nonlocal last
        picture = _picture(text, example, numbers)
        # Without the line that tells where a pod stands, which differs between the two texts.
        bare = re.sub(r"example\.yaml:[0-9]+|line [0-9]+|lost[0-9]+", "", picture)
        same, last = bare == last, bare
        return "" if same else picture

    return rule_page(rule, drawn)


def _picture(text: str, example: Example, numbers: Iterator[int]) -> str:
    """The timelines of an example's pods, each with what it shows as tables."""
    given = given_with(example.options)
    scene = read([InputSource(InputFile(None, "example.yaml", text.encode()))], given)
    parts: list[str] = []
    for pod in scene.pods:
        if pod.plan is None or drawn_of(Shutdown(pod.plan), [], Traffic()) is None:
            continue
        # The request that decides: one that is accepted at about the last moment.
        late = max(Shutdown(pod.plan).headroom.late_at - timedelta(seconds=1), timedelta())
        p99 = example.options.p99
        requests = [Request(late, go_duration(p99))] if p99 else []
        picture = explain_svg([pod], requests, Traffic(), next(numbers)).strip().replace("\n", " ")
        tables = tables_html(pod, pod.plan, requests, Traffic())
        parts.append(
            f'<div class="timeline">{picture}</div>\n\n'
            f"<details><summary>The same in words</summary>{tables}</details>"
        )
    return "\n\n".join(parts)
