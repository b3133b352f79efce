"""``check`` agrees with a real API server on what it rejects, or says nothing of the field."""

from __future__ import annotations

import re
from typing import Final

import pytest

from shutdownlint.engine.finding import Severity
from tests.cluster import fields
from tests.helpers import check_text, rules, user_facts

#: What is left to validators of schemas, by kind, path and value: it has nothing to do with how
#: pods stop, or nothing shows whether it is a patch.
LEFT: Final = (
    r"\S+ spec\.(template\.spec\.)?containers (null|<missing>|\[\]|\{\}|\"x\"|\[\"x\"\]|\[5\]|\[null\]|\[\{\}\])",
    r"\S+ spec\.(template\.spec\.)?containers\.0\.image (null|<missing>|\"\")",
    r"\S+ spec\.(template\.spec\.)?(c|initC)ontainers\.0\.name \"(Upper|a b)\"",
    r"\S+ spec\.(template\.spec\.)?containers\.0\.lifecycle\.postStart .*\"seconds\": 40.*",
    r"(Deployment|StatefulSet) spec\.selector (null|<missing>|<unknown name>)",
    r"Service spec\.ports (null|<missing>|<unknown name>|\[\])",
    r"HorizontalPodAutoscaler spec\.minReplicas 0",  # accepted with a feature switched on
    r"Service spec\.clusterIP .*",
    r"(Job|CronJob) apiVersion \"batch/v1beta1\"",
    # A webhook may add the volume before the pod is checked.
    r"Pod spec\.containers\.0\.volumeMounts \[{\"name\": \"other\".*",
)
_LEFT: Final = re.compile("|".join(f"(?:{pattern})" for pattern in LEFT))
_REJECTING: Final = {rule.id for rule in rules() if rule.rejects}


@pytest.mark.parametrize("kind", sorted(fields.BASES))
def test_what_the_api_server_rejects_is_reported_and_nothing_else(kind: str) -> None:
    answers, missed, false = fields.stored(), [], []
    for case in fields.cases():
        if case.kind != kind:
            continue
        found = check_text(case.text).findings
        reported = [f for f in found if f.rule in _REJECTING and f.severity is Severity.ERROR]
        rejected = answers[case.key] == fields.REJECTED
        if rejected and not reported and not _LEFT.fullmatch(case.key):
            missed.append(case.key)
        if reported and not rejected:
            false.append((case.key, [finding.message for finding in reported]))
    assert not missed
    assert not false


def test_every_case_has_an_answer() -> None:
    assert {case.key for case in fields.cases()} == set(fields.stored())


def test_what_is_left_to_others_is_rejected() -> None:
    """Each entry of the list is needed."""
    rejected = [key for key, answer in fields.stored().items() if answer == fields.REJECTED]
    for pattern in LEFT:
        assert any(re.fullmatch(pattern, key) for key in rejected), pattern


@pytest.mark.parametrize(
    ("part", "value", "version", "rules"),
    [
        # What 1.34.4 and 1.36.2 answered: ContainerRestartRules is on by default since 1.35.
        ("initContainers", "always", "1.34", ["SL170"]),
        ("initContainers", "always", "1.36", ["SL003"]),
        ("initContainers", "OnFailure", "1.34", ["SL170"]),
        ("initContainers", "OnFailure", "1.36", []),
        ("initContainers", "always", None, ["SL170"]),
        ("initContainers", "OnFailure", None, []),
        ("initContainers", "Always", "1.36", []),
        # Read in the sources of 1.29.15 and 1.30.14.
        ("initContainers", "OnFailure", "1.30", ["SL003"]),
        ("initContainers", "Always", "1.30", []),
        ("containers", "Never", "1.30", ["SL003"]),
        ("initContainers", "always", "1.28", ["SL170"]),
        ("containers", "always", "1.34", []),
        ("containers", "always", "1.36", ["SL003"]),
        ("containers", "Never", "1.36", []),
    ],
)
def test_restart_policies_of_containers(
    part: str, value: str, version: str | None, rules: list[str]
) -> None:
    container = f"{{name: x, image: i, restartPolicy: {value}}}"
    others = {"initContainers": "containers: [{name: app, image: i}]", "containers": ""}[part]
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: shop}\nspec:\n"
        f"  {part}: [{container}]\n  {others}\n"
    )
    found = check_text(text, user_facts(kubernetes=version)).findings
    assert [f.rule for f in found if f.rule in ("SL003", "SL170")] == rules
