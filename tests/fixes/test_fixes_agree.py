"""After a fix nothing that we report is on a line that the fix wrote, and fixing again does nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from shutdownlint.fixes.fixer import fix_files
from shutdownlint.linter.rule_examples import example_facts
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.inputs import Inputs, InputSource
from tests.helpers import lint_options, rules, schema

CASES = [
    pytest.param(rule.id, number, id=f"{rule.id}-{number}")
    for rule in rules()
    if rule.edits or rule.makes_solution
    for number, _ in enumerate(schema(rule.id).examples)
]


def fixed(text: str, rule: str, number: int) -> tuple[str, list[str]]:
    """Return the fixed text, and the errors and warnings on lines that were not there before."""
    options = lint_options(example_facts(schema(rule).examples[number].options))
    source = InputSource(InputFile(Path("example.yaml"), "example.yaml", text.encode()))
    result, fixes = fix_files(Inputs((source,)), options, unsafe=True)
    new = fixes.texts.get("example.yaml", text.encode()).decode()
    old_lines = set(text.splitlines())
    lines = new.splitlines()
    found = [
        f"{finding.rule} {lines[finding.region.line - 1].strip()}: {finding.message}"
        for finding in result.findings
        if lines[finding.region.line - 1] not in old_lines and finding.severity != "note"
    ]
    return new, found


@pytest.mark.parametrize(("rule", "number"), CASES)
def test_a_fix_brings_no_finding_of_its_own(rule: str, number: int) -> None:
    text = schema(rule).examples[number].bad
    once, found = fixed(text, rule, number)
    assert not found
    twice, _ = fixed(once, rule, number)
    assert twice == once
