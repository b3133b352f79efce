"""Every rule file's own examples: bad fires exactly that rule on the marked line, good is silent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from shutdownlint.platforms.versions import Version
from tests.helpers import check_text, given, rules, told

if TYPE_CHECKING:
    from shutdownlint.engine.rule import Rule
    from shutdownlint.engine.schema import Example

EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.id}-{number}")
    for rule in rules()
    for number, example in enumerate(rule.form.examples, 1)
]
#: Rules that no manifest can make fire.
WITHOUT_EXAMPLE = {"SL002"}


def _check(text: str, rule: Rule, example: Example) -> list[tuple[str, int]]:
    options = example.options
    result = check_text(text, given(options.p99, options.kubernetes, options.istio))
    return told(result.findings, notes=rule.form.severity == "note")


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_bad_fires_exactly_this_rule_on_the_marked_line(rule: Rule, example: Example) -> None:
    marked = [
        (rule.id, number)
        for number, line in enumerate(example.bad.splitlines(), 1)
        if line.endswith(f"# {rule.id}")
    ]
    assert len(marked) == 1
    assert _check(example.bad, rule, example) == marked


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_good_is_silent(rule: Rule, example: Example) -> None:
    assert _check(example.good, rule, example) == []


def test_every_rule_has_an_example_and_its_name_in_the_file_name() -> None:
    for rule in rules():
        assert bool(rule.form.examples) is (rule.id not in WITHOUT_EXAMPLE)
        assert rule.form.sources
        assert rule.form.explanation
        assert rule.file.endswith(f"/{rule.id}-{rule.form.name}.yaml")


def test_messages_have_no_leftovers() -> None:
    for rule in rules():
        for example in rule.form.examples:
            options = example.options
            said = given(options.p99, options.kubernetes, options.istio)
            for finding in check_text(example.bad, said).findings:
                assert not re.search(
                    r"[{}]|\bNone\b|timedelta|\?\W*$",
                    finding.message + (finding.fix.words if finding.fix else ""),
                )


VERSIONED = [
    pytest.param(rule, system, id=f"{rule.id}-{system}")
    for rule in rules()
    for system in ("kubernetes", "istio")
    if getattr(rule, system) is not None
    and rule.id != "SL216"  # a window of patch releases, tested below
]


@pytest.mark.parametrize(("rule", "system"), VERSIONED)
def test_silent_just_outside_its_versions(rule: Rule, system: str) -> None:
    versions = getattr(rule, system)
    inside = [Version.parse(f"1.{minor}") in versions for minor in range(60)]
    outside = [
        minor
        for minor in range(1, 59)
        if not inside[minor] and (inside[minor - 1] or inside[minor + 1])
    ]
    assert outside
    for minor in outside:
        for example in rule.form.examples:
            said = example.options.model_dump() | {system: f"1.{minor}"}
            found = [finding.rule for finding in check_text(example.bad, given(**said)).findings]
            assert rule.id not in found, (minor, found)


def test_versions_outside_the_window_are_left_alone() -> None:
    waypoint = (
        ("1.28.9", True),
        ("1.29.5", True),
        ("1.29.6", False),
        ("1.30.2", True),
        ("1.30.3", False),
    )
    for name, table in (("SL216", _STATS_BUG), ("SL243", waypoint)):
        rule = next(rule for rule in rules() if rule.id == name)
        for version, fires in table:
            bad = rule.form.examples[0].bad
            found = [f.rule for f in check_text(bad, given(istio=version)).findings]
            assert (name in found) is fires, (name, version)


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
