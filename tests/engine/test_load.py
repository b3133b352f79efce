from __future__ import annotations

from pathlib import Path

import pytest

from shutdownlint.engine.fields import FIELDS, SubjectKind
from shutdownlint.engine.loader import load_rules, parse_rule
from shutdownlint.engine.rule import RuleFileError
from shutdownlint.linter.linter import check
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.loader import InputSource
from tests.helpers import check_text, given

GOOD = """\
id: XX001
name: too-short
severity: error
for: container
when: grace < preStop
at: grace
message: "grace {grace} ({grace.origin}) < {preStop}"
sources: ["somewhere"]
explanation: Because.
"""


def error(text: str) -> str:
    with pytest.raises(RuleFileError) as caught:
        parse_rule(text, "rules/x.yaml")
    return str(caught.value)


def test_a_good_rule() -> None:
    assert parse_rule(GOOD, "x.yaml").id == "XX001"


@pytest.mark.parametrize(
    ("change", "line", "part"),
    [
        (
            ("when: grace < preStop", "when: grace < prestop"),
            5,
            "undeclared reference to 'prestop'",
        ),
        (("when: grace < preStop", "when: grace <"), 5, "Syntax error"),
        (("when: grace < preStop", "when: grace + preStop"), 5, "must be true or false"),
        (("when: grace < preStop", "when: grace < 5"), 5, "no matching overload"),
        (("when: grace < preStop", "when: |\n  true &&\n  grace < nothing"), 7, "'nothing'"),
        (("{preStop}", "{preStap}"), 7, "unknown field '{preStap}'"),
        (("{preStop}", "{preStop"), 7, "expected '}'"),
        (("{preStop}", "{preStop!r}"), 7, "unknown field"),
        (("{preStop}", "{container.origin}"), 7, "no origin"),
        (("at: grace", "at: left"), 6, "'left' is no setting"),
        (("severity: error", "severity: fatal"), 3, "severity"),
        (("for: container", "for: cluster"), 4, "for"),
        (("id: XX001", "id: X1"), 1, "id"),
        (("name: too-short", "name: Too Short"), 2, "name"),
        (("at: grace\n", "at: grace\nextra: 1\n"), 7, "extra: is not part of a rule file"),
        (("for: container", "for: [container"), 5, ""),
        (("for: container", "for: container\nsince: {istio: new}"), 5, "not a version clause"),
    ],
)
def test_mistakes_name_file_and_line(change: tuple[str, str], line: int, part: str) -> None:
    told = error(GOOD.replace(*change))
    assert told.startswith(f"rules/x.yaml:{line}: ")
    assert part in told


def test_an_id_may_be_used_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(GOOD)
    with pytest.raises(RuleFileError, match="taken by"):
        load_rules(tmp_path)


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match="no rule files"):
        load_rules(tmp_path)


def test_a_rule_that_fails_is_a_finding_and_the_others_are_asked(tmp_path: Path) -> None:
    broken = GOOD.replace("grace < preStop", "handlers[7] == 'exec'")
    fine = GOOD.replace("XX001", "XX002").replace("grace < preStop", "grace > preStop")
    told = """\
id: SL002
name: rule-failed
severity: error
for: defect
when: what == 'rule-failed'
message: "{key}: {reason}"
sources: ["here"]
explanation: Told.
"""
    folder = tmp_path / "rules"
    folder.mkdir()
    for name, text in (("a", broken), ("b", fine), ("c", told)):
        (folder / f"{name}.yaml").write_text(text)
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: i}]}\n"
    )
    loaded = load_rules(folder)
    result = check([InputSource(InputFile(manifest, "pod.yaml"))], given(), rules=lambda: loaded)
    by_rule = {finding.rule: finding for finding in result.findings}
    assert sorted(by_rule) == ["SL002", "XX002"]
    assert not result.whole
    assert "XX001" in by_rule["SL002"].message
    assert by_rule["SL002"].region.line == 5


def test_a_field_that_is_absent_means_the_rule_is_not_asked() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
    text += "  terminationGracePeriodSeconds: 5\n  containers: [{name: a, image: i}]\n"
    assert not check_text(text).findings
    assert [f.rule for f in check_text(text, given(p99="10s")).findings] == ["SL101"]


def test_every_field_says_what_it_means() -> None:
    for target in SubjectKind:
        assert all(described.meaning for described in FIELDS[target].values())
