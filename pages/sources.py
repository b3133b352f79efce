"""The sources of the site: Markdown with valid links, and a page for each rule."""

from __future__ import annotations

import itertools
import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shutdownlint.engine.loader import load_schema
from shutdownlint.engine.rule_loader import GENERAL_FOLDER, load_all_bundled
from shutdownlint.linter.linter import plan_workloads
from shutdownlint.linter.options import LintOptions
from shutdownlint.linter.rule_examples import example_facts
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.registry import PLATFORMS
from shutdownlint.programs.known import load_bundled
from shutdownlint.reports.explain_html import draw_tables
from shutdownlint.reports.explain_svg import draw_svg
from shutdownlint.reports.explanation import Explanation
from shutdownlint.reports.program_page import describe_signal, program_page
from shutdownlint.reports.rule_page import rule_page
from shutdownlint.shutdown.request import Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from shutdownlint.engine.schema import Example, RuleSchema
    from shutdownlint.programs.record import Program

ROOT: Final = Path(__file__).resolve().parents[1]
#: The pages beside the rules': where each comes from, and its title in the navigation.
PAGES: Final = {
    "index.md": ("README.md", "Start here"),
    "guides.md": ("docs/guides.md", "Guides"),
    "first-week.md": ("docs/first-week.md", "The first week"),
    "ci.md": ("docs/ci.md", "In CI"),
    "editors.md": ("docs/editors.md", "In the editor"),
    "clusters.md": ("docs/clusters.md", "What a cluster runs"),
    "policies.md": ("docs/policies.md", "Policies"),
    "configuration.md": ("docs/configuration.md", "Configuration"),
    "model-servers.md": ("docs/model-servers.md", "Model servers"),
    "fixes.md": ("docs/fixes.md", "Fixes"),
    "measure-and-verify.md": ("docs/measure-and-verify.md", "Measure and verify"),
    "own-rules.md": ("docs/rules.md", "Rule files"),
    "own-programs.md": ("docs/programs.md", "Program records"),
    "rule-fields.md": ("docs/rule-fields.md", "Fields of rules"),
    "platforms.md": ("docs/platforms.md", "Platforms"),
    "facts.md": ("docs/facts.md", "Facts and sources"),
    "conformance.md": ("docs/conformance.md", "Tested against real programs"),
    "comparison.md": ("docs/comparison.md", "Beside other linters"),
    "story.md": ("docs/story.md", "One request, three endings"),
    "performance.md": ("docs/performance.md", "Performance"),
    "versions.md": ("docs/versions.md", "Versions"),
    "decisions.md": ("docs/decisions.md", "Decisions"),
    "security.md": ("SECURITY.md", "Security"),
    "limits.md": ("docs/limits.md", "Limits"),
    "architecture.md": ("docs/architecture.md", "Architecture"),
    "writing-style.md": ("docs/writing-style.md", "Writing style"),
    "contributing.md": ("CONTRIBUTING.md", "Contributing"),
    "long-tests.md": ("docs/long-tests.md", "Long test runs"),
    "changelog.md": ("CHANGELOG.md", "Changelog"),
}
RULES: Final = "rules/index.md"
PROGRAMS: Final = "programs/index.md"
_PROGRAMS_HEAD: Final = """\
# Programs

What each known program does at its stop signal. Records of your own have the same form.

| program | at SIGTERM |
|---|---|
"""
_GENERAL_TITLE: Final = "Reading manifests"
_HEAD: Final = """\
# Rules

An *error* is certain, a *warning* is loss under ordinary traffic or a setting that does not do what
its author thinks, a *note* is advice."""
_LINK: Final = re.compile(r"\]\((?!https?:|#)([^)#]+)(#[^)]*)?\)")
_PICTURES: Final = "https://raw.githubusercontent.com/shutdownlint/shutdownlint/main/docs/images/"
_SCREEN: Final = re.compile(r"^<!-- screen: .* -->\n", re.MULTILINE)


def rules_by_title() -> dict[str, list[RuleSchema]]:
    """Return the rules of every folder, by the title of its platform."""
    titles = {GENERAL_FOLDER: _GENERAL_TITLE, **{e.name: e.title for e in PLATFORMS}}
    found: dict[str, list[RuleSchema]] = {title: [] for title in titles.values()}
    for rule in load_all_bundled():
        found[titles[rule.folder]].append(load_schema(Path(rule.file)))
    return {title: rules for title, rules in found.items() if rules}


def markdown() -> dict[str, str]:
    """Every page by its path."""
    found = {page: _page(page) for page in PAGES}
    families = rules_by_title()
    found[RULES] = _list(families)
    for rules in families.values():
        found.update({f"rules/{rule.id}.md": _rule(rule) for rule in rules})
    programs = programs_by_page()
    found[PROGRAMS] = _program_list(programs)
    found.update({page: program_page(program) for page, program in programs.items()})
    return found


def programs_by_page() -> dict[str, Program]:
    """Return the records of programs by the path of their page, sorted by name."""
    records = sorted(load_bundled().items(), key=lambda item: item[1].name.lower())
    return {f"programs/{file.removesuffix('.yaml')}.md": program for file, program in records}


def _program_list(programs: Mapping[str, Program]) -> str:
    rows = []
    for page, program in programs.items():
        what = next((describe_signal(each) for each in program.at_signal.values()), "")
        rows.append(f"| [{program.name}]({page.removeprefix('programs/')}) | {what} |")
    return _PROGRAMS_HEAD + "\n".join(rows) + "\n"


def _page(page: str) -> str:
    source = ROOT / PAGES[page][0]
    known = {ROOT / origin: target for target, (origin, _) in PAGES.items()}
    known[ROOT / "docs" / "rule-list.md"] = RULES

    def follow(link: re.Match[str]) -> str:
        if link[1].endswith(".svg"):
            return link[0]  # beside the page, as in the repository
        target = known[(source.parent / link[1]).resolve()]
        return f"]({target}{link[2] or ''})"

    # The README names its pictures by their addresses, which package indexes need.
    text = source.read_text().replace(_PICTURES, "images/")
    return _LINK.sub(follow, _SCREEN.sub("", text))


def _list(families: Mapping[str, Sequence[RuleSchema]]) -> str:
    parts = [_HEAD]
    for title, rules in families.items():
        rows = [
            f"| [{rule.id}]({rule.id}.md) | {rule.name} | {rule.severity.value} "
            f"| {_first_sentence(rule)} |"
            for rule in rules
        ]
        head = f"## {title}\n\n| rule | name | severity | |\n|---|---|---|---|\n"
        parts.append(head + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _first_sentence(rule: RuleSchema) -> str:
    """Return the first sentence of a rule's explanation."""
    text = " ".join(rule.explanation.split())
    return re.split(r"(?<=[.:;])\s", text)[0].rstrip(":;").replace("|", "\\|")


def _rule(rule: RuleSchema) -> str:
    last, numbers = "", itertools.count(1)  # pictures of one page have their own numbers

    def draw(text: str, example: Example) -> str:
        nonlocal last
        picture = _picture(text, example, numbers)
        # Without the pod's line, which differs between the two texts.
        bare = re.sub(r"example\.yaml:[0-9]+|line [0-9]+|lost[0-9]+", "", picture)
        same, last = bare == last, bare
        return "" if same else picture

    return rule_page(rule, draw)


def _picture(text: str, example: Example, numbers: Iterator[int]) -> str:
    """Return the timelines of an example's pods, each with what it shows as tables."""
    inputs = Inputs((InputSource(InputFile(None, "example.yaml", text.encode())),))
    run = plan_workloads(inputs, LintOptions(example_facts(example.options)))
    p99 = example.options.p99 if example.options is not None else None
    parts: list[str] = []
    for pod in run.pods:
        if pod.plan is None or not Explanation(pod).has_timeline:
            continue
        # The request that decides: one that is accepted at about the last moment.
        late_at = Explanation(pod).analysis.headroom.late_at
        late = max(late_at - timedelta(seconds=1), timedelta())
        requests = [Request(late, go_duration(p99))] if p99 else []
        explanation = Explanation(pod, requests)
        picture = draw_svg([explanation], next(numbers)).strip().replace("\n", " ")
        parts.append(
            f'<div class="timeline" tabindex="0">{picture}</div>\n\n'
            f"<details><summary>The same as text</summary>{draw_tables(explanation)}</details>"
        )
    return "\n\n".join(parts)
