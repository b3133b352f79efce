"""Every rule file's own examples: bad is reported once, at the marked line; good is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shutdownlint.engine.rule import Rule, bundled_folder
from shutdownlint.engine.schema import Example
from shutdownlint.linter.rule_examples import example_facts
from shutdownlint.platforms.registry import PLATFORMS
from shutdownlint.platforms.versions import Version
from tests.helpers import check_text, rule_lines, rules, schema, user_facts

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.id}-{number}")
    for rule in rules()
    for number, example in enumerate(schema(rule.id).examples, 1)
]
#: Rules that no manifest can violate.
WITHOUT_EXAMPLE = {"SL002"}


def _check(text: str, rule: Rule, example: Example) -> list[tuple[str, int]]:
    """Return what is reported; a note of another rule is not a contradiction."""
    found = check_text(text, example_facts(example.options)).findings
    reported = [f for f in found if f.severity != "note" or f.rule == rule.id]
    return rule_lines(reported, notes=True)


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_bad_is_reported_by_this_rule_alone_at_the_marked_line(
    rule: Rule, example: Example
) -> None:
    marked = [
        (rule.id, number)
        for number, line in enumerate(example.bad.splitlines(), 1)
        if line.endswith(f"# {rule.id}")
    ]
    assert len(marked) == 1
    assert _check(example.bad, rule, example) == marked


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_bad_is_reported_in_utf_16_too(rule: Rule, example: Example) -> None:
    """Windows PowerShell redirects the output of a program so."""
    plain = check_text(example.bad, example_facts(example.options)).findings
    wide = check_text(example.bad.encode("utf-16"), example_facts(example.options)).findings
    assert rule_lines(wide, notes=True) == rule_lines(plain, notes=True)


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_good_is_not_reported(rule: Rule, example: Example) -> None:
    assert _check(example.good, rule, example) == []


def test_every_rule_is_complete() -> None:
    for rule in rules():
        written = schema(rule.id)
        assert bool(written.examples) is (rule.id not in WITHOUT_EXAMPLE)
        assert written.sources
        assert written.explanation
        assert rule.file.endswith(f"/{rule.id}-{rule.name}.yaml")


def test_rules_are_in_the_folder_of_a_platform_that_they_use() -> None:
    folders = {path.name for path in bundled_folder().iterdir() if path.is_dir()}
    assert folders <= {"general", *(entry.name for entry in PLATFORMS)}
    for rule in rules():
        assert Path(rule.file).parent.name == rule.folder
        if rule.folder not in ("general", "kubernetes"):
            assert rule.folder in {*rule.platforms, *rule.versions} or _is_loaded(rule), rule.id


def _is_loaded(rule: Rule) -> bool:
    """Its examples hold a word of the platform: else the rule would not be loaded for them."""
    words = next(entry.words for entry in PLATFORMS if entry.name == rule.folder)
    texts = [example.bad.encode() for example in schema(rule.id).examples]
    return all(any(word in text for word in words) for text in texts)


def test_messages_have_no_leftovers() -> None:
    for rule in rules():
        for example in schema(rule.id).examples:
            for finding in check_text(example.bad, example_facts(example.options)).findings:
                fix = finding.fix.description if finding.fix else ""
                text = finding.message + fix
                assert not re.search(r"[{}]|\bNone\b|timedelta|\?\W*$", text), text


VERSIONED = [
    pytest.param(rule, platform, id=f"{rule.id}-{platform}")
    for rule in rules()
    for platform in rule.versions
    if rule.id != "SL216"  # a window of patch releases, tested below
]


@pytest.mark.parametrize(("rule", "platform"), VERSIONED)
def test_not_reported_just_outside_its_versions(rule: Rule, platform: str) -> None:
    versions = rule.versions[platform]
    major = min(bound.major for bound in versions.bounds)
    inside = [Version.parse(f"{major}.{minor}") in versions for minor in range(60)]
    outside = [
        minor
        for minor in range(1, 59)
        if not inside[minor] and (inside[minor - 1] or inside[minor + 1])
    ]
    assert outside
    for minor in outside:
        for example in schema(rule.id).examples:
            facts = example_facts(example.options)
            version = Version.parse(f"{major}.{minor}")
            meshes = [f for f in facts.meshes if f.mesh != platform]
            changed = type(facts)(
                {**facts.versions, platform: version}, meshes, facts.apps, facts.suppressions
            )
            found = [finding.rule for finding in check_text(example.bad, changed).findings]
            assert rule.id not in found, (minor, found)


def test_versions_outside_the_window_are_not_reported() -> None:
    waypoint = (
        ("1.28.9", True),
        ("1.29.5", True),
        ("1.29.6", False),
        ("1.30.2", True),
        ("1.30.3", False),
    )
    for name, table in (("SL216", _STATS_BUG), ("SL243", waypoint)):
        for version, reported in table:
            bad = schema(name).examples[0].bad
            found = [f.rule for f in check_text(bad, user_facts(istio=version)).findings]
            assert (name in found) is reported, (name, version)


_STATS_BUG: tuple[tuple[str | None, bool], ...] = (
    ("1.11.8", False),
    ("1.12.0", True),
    ("1.12.8", True),
    ("1.12.9", False),
    ("1.13.4", True),
    ("1.13.5", False),
    ("1.14.0", False),
    (None, False),
)


def test_every_rule_has_a_title() -> None:
    titles = [rule.title for rule in rules() if rule.title != rule.name.replace("-", " ")]
    assert len(titles) == len(rules())
    assert not [title for title in titles if title.endswith(".") or len(title) > 90]
    assert len(set(titles)) == len(titles)
