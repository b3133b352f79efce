from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from shutdownlint.engine.errors import RuleFileError, UnknownRuleError
from shutdownlint.engine.loader import full_vocabulary, load_rules, parse_rule
from shutdownlint.engine.rule_loader import load_folder
from shutdownlint.engine.selection import RuleSelection
from shutdownlint.engine.vocabulary import Vocabulary
from shutdownlint.linter.linter import check
from shutdownlint.linter.options import LintOptions
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.platforms.fields import SubjectKind
from tests.helpers import check_text, rule_lines, rules, user_facts

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
PROBLEM = """\
id: XX003
name: twice
severity: error
for: problem
problem: duplicate-key
message: "{key}"
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: i}]}\n"


@cache
def vocabulary() -> Vocabulary:
    return full_vocabulary()


def error(text: str) -> str:
    with pytest.raises(RuleFileError) as caught:
        parse_rule(text, "rules/x.yaml", vocabulary())
    return str(caught.value)


def test_a_good_rule() -> None:
    assert parse_rule(GOOD, "x.yaml", vocabulary()).id == "XX001"
    assert parse_rule(PROBLEM, "x.yaml", vocabulary()).problem == "duplicate-key"


@pytest.mark.parametrize(
    ("change", "line", "part"),
    [
        (
            ("when: grace < preStop", "when: grace < prestop"),
            5,
            "undeclared reference to 'prestop'; did you mean 'preStop'?",
        ),
        (("when: grace < preStop", "when: grace <"), 5, "Syntax error"),
        (("when: grace < preStop", "when: grace + preStop"), 5, "must be true or false"),
        (("when: grace < preStop", "when: grace < 5"), 5, "no matching overload"),
        (("when: grace < preStop", "when: |\n  true &&\n  grace < nothing"), 7, "'nothing'"),
        (("when: grace < preStop\n", ""), 1, "'when' is missing"),
        (("{preStop}", "{preStap}"), 7, "unknown field '{preStap}'; did you mean 'preStop'?"),
        (("{preStop}", "{preStop"), 7, "expected '}'"),
        (("{preStop}", "{preStop!r}"), 7, "unknown field"),
        (("{preStop}", "{container.origin}"), 7, "no origin"),
        (("at: grace", "at: drian"), 6, "'drian' is not a setting of a container; did you mean"),
        (("severity: error", "severity: fatal"), 3, "severity"),
        (("for: container", "for: cluster"), 4, "for"),
        (("id: XX001", "id: X1"), 1, "id"),
        (("name: too-short", "name: Too Short"), 2, "name"),
        (("at: grace\n", "at: grace\nextra: 1\n"), 7, "extra: is not a key of rule files"),
        (
            ("at: grace\n", "at: grace\nmesage: x\n"),
            7,
            "is not a key of rule files; did you mean 'message'?",
        ),
        (("for: container", "for: [container"), 5, ""),
        (("for: container", "for: container\nversions: {istio: new}"), 5, "not a version clause"),
        (("for: container", "for: container\nversions: {isto: '>=1.1'}"), 5, "is not one of"),
        (("for: container", "for: container\nproblem: duplicate-key"), 1, "'problem' is required"),
    ],
)
def test_mistakes_name_file_and_line(change: tuple[str, str], line: int, part: str) -> None:
    text = error(GOOD.replace(*change))
    assert text.startswith(f"rules/x.yaml:{line}: ")
    assert part in text


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (("problem: duplicate-key", "problem: duplicate-keys"), "did you mean 'duplicate-key'?"),
        (("problem: duplicate-key", "problem: nonsense"), "nothing reports 'nonsense'"),
        (("{key}", "{reason}"), "unknown field '{reason}'"),
        (("problem: duplicate-key\n", ""), "'problem' is required"),
    ],
)
def test_problems_and_their_parameters_are_declared(change: tuple[str, str], part: str) -> None:
    assert part in error(PROBLEM.replace(*change))


def test_an_id_may_be_used_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(GOOD)
    with pytest.raises(RuleFileError, match="taken by"):
        load_rules(sorted(tmp_path.glob("*.yaml")), vocabulary())


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match="has no rule files"):
        load_folder(tmp_path)
    with pytest.raises(RuleFileError, match="is not a folder"):
        load_folder(tmp_path / "missing")


def check_with(folder: Path, text: str = POD, **selection: Any) -> dict[str, Any]:
    chosen = RuleSelection(folders=(str(folder),), notes=True, **selection)
    inputs = Inputs((InputSource(InputFile(None, "pod.yaml", text.encode())),))
    result = check(inputs, LintOptions(user_facts(), chosen))
    return {"result": result, **{finding.rule: finding for finding in result.findings}}


def test_a_rule_that_fails_is_a_finding_and_the_others_are_evaluated(tmp_path: Path) -> None:
    broken = GOOD.replace("grace < preStop", "handlers[7] == 'exec'")
    fine = GOOD.replace("XX001", "XX002").replace("grace < preStop", "grace > preStop")
    for name, text in (("a", broken), ("b", fine)):
        (tmp_path / f"{name}.yaml").write_text(text)
    found = check_with(tmp_path, select=["XX"])
    assert sorted(found.keys() - {"result"}) == ["SL002", "XX002"]
    assert not found["result"].complete
    assert "XX001" in found["SL002"].message
    assert found["SL002"].region.line == 5


def test_user_rules_may_use_fields_of_platforms_that_the_input_does_not_mention(
    tmp_path: Path,
) -> None:
    text = GOOD.replace("grace < preStop", "unbounded == false && framework == ''")
    (tmp_path / "a.yaml").write_text(text)
    pod = POD.replace("containers:", "nodeName: n, containers:")
    assert "XX001" in check_with(tmp_path, pod)
    (tmp_path / "a.yaml").write_text(
        GOOD.replace("for: container", "for: proxy").replace(
            "grace < preStop", "exitOnZero == false"
        )
    )
    assert "XX001" not in check_with(tmp_path, pod)


def test_an_unknown_rule_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    with pytest.raises(UnknownRuleError, match="SL9"):
        check_with(tmp_path, ignore=["SL9"])
    # A rule of a platform that the input does not mention is known all the same.
    check_with(tmp_path, ignore=["SL201"])


def test_a_field_that_is_absent_means_the_rule_is_not_evaluated() -> None:
    text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
    text += "  terminationGracePeriodSeconds: 5\n  containers:\n"
    text += "  - {name: a, image: i, ports: [{containerPort: 80}]}\n"
    assert rule_lines(check_text(text).findings) == []
    assert rule_lines(check_text(text, user_facts(p99="10s")).findings) == [("SL101", 5)]


def test_every_field_and_problem_is_documented() -> None:
    for kind in SubjectKind:
        assert all(field.doc for field in vocabulary().fields(kind).values())
    for problem in vocabulary().problems.values():
        assert problem.__doc__


def test_every_problem_has_a_rule() -> None:
    named = {rule.problem for rule in rules()}
    assert named - {None} == vocabulary().problems.keys()
