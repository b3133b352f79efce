"""A finding that depends on unknown versions is tried for those that can make a difference."""

from __future__ import annotations

import pytest

from shutdownlint.linter import version_sweep
from shutdownlint.linter.affected_versions import Combination
from shutdownlint.linter.rule_examples import example_facts
from shutdownlint.platforms.planner import plan_pod
from shutdownlint.platforms.registry import mesh_names
from shutdownlint.platforms.user_facts import MeshFact, UserFacts
from shutdownlint.platforms.versions import Version, VersionRange, WatchedVersion, version_text
from tests.helpers import check_text, pod_in_istio, rules, schema

EXAMPLES = [
    pytest.param(text, facts, id=f"{rule.id}-{number}-{name}-{known}")
    for rule in rules()
    if rule.folder in mesh_names()
    for number, example in enumerate(schema(rule.id).examples, 1)
    for name, text in (("bad", example.bad), ("good", example.good))
    for known, facts in (
        ("as-shown", example_facts(example.options)),
        ("unknown", UserFacts(meshes=[MeshFact(rule.folder)])),
    )
]


def dated(text: str, facts: UserFacts | None = None) -> list[tuple[str, str, str]]:
    findings = check_text(text, facts or UserFacts()).findings
    return [(finding.rule, finding.message, finding.holds_for) for finding in findings]


def try_every_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_exactly(trial: version_sweep._Trial, versions: Combination) -> bool:
        own = [(name, str(version)) for name, version in trial.versions.items()]
        return own == [(name, str(version)) for name, version in versions]

    monkeypatch.setattr(version_sweep._Trial, "counts_for", is_exactly)


@pytest.mark.parametrize(("text", "facts"), EXAMPLES)
def test_the_versions_are_those_of_trying_every_one(
    text: str, facts: UserFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = dated(text, facts)
    try_every_version(monkeypatch)
    assert found == dated(text, facts)


def test_some_examples_depend_on_versions() -> None:
    examples = (parameters.values for parameters in EXAMPLES)
    found = [dated(str(text), facts) for text, facts in examples if isinstance(facts, UserFacts)]
    assert sum(any(holds_for for *_, holds_for in findings) for findings in found) > 10


def count_plans(monkeypatch: pytest.MonkeyPatch) -> int:
    plans = []

    def counted(*args: object) -> object:
        plans.append(args)
        return plan_pod(*args)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(version_sweep, "plan_pod", counted)
        assert any(holds_for for *_, holds_for in dated(pod_in_istio()))
    return len(plans)


def test_versions_that_nothing_separates_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    few = count_plans(monkeypatch)
    try_every_version(monkeypatch)
    assert 2 <= few <= count_plans(monkeypatch) // 2


def test_a_watched_version_notes_every_comparison() -> None:
    version, old, new = WatchedVersion(1, 27, 3), Version(1, 20, 0), Version(1, 30, 0)
    assert version.is_like(Version(1, 2, 0))
    assert version > old
    assert not version.is_like(Version(1, 20, 0))
    assert version.is_like(Version(1, 30, 0))
    assert new >= version
    assert not version.is_like(Version(1, 30, 0))
    assert version.compared == {old, new}
    assert version in VersionRange.parse("==1.27")
    assert not version.is_like(Version(1, 28, 0))
    assert not version.is_like(Version(1, 26, 9))
    assert version.is_like(Version(1, 27, 9))
    assert version_text(version) == "1.27.3"
    assert not version.is_like(Version(1, 27, 9))
    assert version.is_like(Version(1, 27, 3))
