"""Rules as policies. ``python -m tests.cluster policies`` asks a real API server about them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from shutdownlint.engine.rule_loader import load_all_bundled
from shutdownlint.policies.conditions import FIELDS, LeftOut, PolicyCondition, conditions_of
from tests.helpers import run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def policies(*options: str) -> list[dict[str, Any]]:
    code, out, _ = run("policy", *options)
    assert code == 0
    return [each for each in yaml.safe_load_all(out) if each]


def test_each_rule_is_a_policy_or_says_why_not() -> None:
    rules = load_all_bundled()
    found = [*conditions_of(rules)]
    assert [each.rule for each in found] == rules
    chosen = {each.rule.id for each in found if isinstance(each, PolicyCondition)}
    assert {"SL102", "SL107", "SL119", "SL121", "SL144"} <= chosen
    reasons = {each.rule.id: each.reason for each in found if isinstance(each, LeftOut)}
    assert reasons["SL109"] == "an object alone does not show signalForwarding"
    assert reasons["SL101"] == "it is about losses, which a simulation finds"
    assert reasons["SL103"] == "the API server rejects it itself"
    assert not any(rule.rejects for rule in rules if rule.id in chosen)


def test_no_field_of_a_rule_is_left_in_a_condition() -> None:
    """A name that nothing defines would make the server refuse the whole policy."""
    for each in conditions_of(load_all_bundled()):
        if isinstance(each, PolicyCondition):
            text = re.sub(r"'[^']*'", "''", each.condition)
            for name in FIELDS:
                assert not re.search(rf"(?<![.\w]){name}\b", text), (each.rule.id, name)
            assert text.count("(") == text.count(")")


def test_findings_are_audited_before_they_are_denied() -> None:
    found = policies("--select", "SL102,SL107")
    actions = {
        each["metadata"]["name"]: each["spec"]["validationActions"]
        for each in found
        if each["kind"] == "ValidatingAdmissionPolicyBinding"
    }
    names = ("sl102.shutdownlint.dev", "sl107.shutdownlint.dev")
    assert actions == {key: ["Audit", "Warn"] for key in names}
    found = policies("--select", "SL102,SL107", "--deny", "error")
    denied = {
        each["metadata"]["name"]: each["spec"]["validationActions"][0]
        for each in found
        if each["kind"] == "ValidatingAdmissionPolicyBinding"
    }
    assert denied == {names[0]: "Deny", names[1]: "Audit"}


def test_what_the_configuration_ignores_is_an_exception() -> None:
    Path("shutdownlint.toml").write_text(
        '[[workloads]]\nmatch = "Deployment/batch-*/*"\nignore = ["SL102"]\nreason = "batch"\n'
    )
    ((policy, _),) = [policies("--select", "SL102")]
    conditions = {each["name"]: each["expression"] for each in policy["spec"]["matchConditions"]}
    expression = conditions["not-ignored-by-the-configuration-0"]
    assert "object.kind.matches('^Deployment$')" in expression
    assert "object.metadata.namespace.matches('^batch\\\\-.*$')" in expression
    assert "object.metadata.name." not in expression
    assert not any("configuration" in each for each in _conditions(policies("--select", "SL107")))


def _conditions(found: list[dict[str, Any]]) -> list[str]:
    return [each["name"] for each in found[0]["spec"]["matchConditions"]]


def test_a_rule_that_cannot_be_a_policy_is_named() -> None:
    code, out, err = run("policy", "--select", "SL101")
    assert (code, out) == (2, "")
    assert "SL101 is left out: it is about losses" in err


def test_kyverno_has_the_same_conditions() -> None:
    found = policies("--format", "kyverno", "--select", "SL102", "--deny", "error")
    (policy,) = found
    (rule,) = policy["spec"]["rules"]
    assert rule["validate"]["failureAction"] == "Enforce"
    (condition,) = [
        each.condition
        for each in conditions_of(load_all_bundled())
        if isinstance(each, PolicyCondition) and each.rule.id == "SL102"
    ]
    assert condition in rule["validate"]["cel"]["expressions"][0]["expression"]


def test_the_mutating_policy_is_for_pods_that_ask_for_it() -> None:
    policy, binding = policies("--format", "mutating-admission-policy")
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    assert "shutdownlint.dev/delay" in json.dumps(policy["spec"]["matchConditions"])
    assert run("policy", "--format", "mutating-admission-policy", "--deny", "error")[0] == 2
