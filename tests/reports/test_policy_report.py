"""Reports as objects of a cluster."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from shutdownlint.cluster.inputs import wanted_kinds
from shutdownlint.reports import policy_report
from tests.helpers import run

ROOT = Path(__file__).resolve().parents[2]
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: %s}
spec:
  terminationGracePeriodSeconds: 20
  containers:
  - {name: app, image: i, lifecycle: {preStop: {exec: {command: [sleep, "30"]}}}}
---
"""


def reports(folder: Path, name: str) -> list[dict[str, Any]]:
    out = run("check", str(folder), "--isolated", "--format", name)[1]
    return [each for each in yaml.safe_load_all(out) if each]


@pytest.mark.parametrize(
    ("name", "kind", "version"),
    [
        ("policyreport", "PolicyReport", "wgpolicyk8s.io/v1alpha2"),
        ("openreport", "Report", "openreports.io/v1alpha1"),
    ],
)
def test_one_for_each_namespace(tmp_path: Path, name: str, kind: str, version: str) -> None:
    text = "".join(POD % (f"p{number}", "ab"[number % 2]) for number in range(5))
    (tmp_path / "a.yaml").write_text(text + "apiVersion: v1\nkind: Pod\ncontainers: [\n")
    found = reports(tmp_path, name)
    assert [(each["kind"], each["metadata"].get("namespace")) for each in found] == [
        (f"Cluster{kind}", None),
        (kind, "a"),
        (kind, "b"),
    ]
    assert {each["apiVersion"] for each in found} == {version}
    errors = [r for r in found[1]["results"] if r["policy"] == "SL102"]
    assert len(errors) == 3
    assert errors[0]["result"] == "fail"
    assert errors[0]["resources"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "p0", "namespace": "a"}
    ]
    for each in found:
        counted = Counter(result["result"] for result in each["results"])
        assert {k: v for k, v in each["summary"].items() if v} == counted


def test_an_object_does_not_grow_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policy_report, "_MOST_RESULTS", 2)
    (tmp_path / "a.yaml").write_text("".join(POD % (f"p{number}", "a") for number in range(5)))
    found = reports(tmp_path, "policyreport")
    names = [each["metadata"]["name"] for each in found]
    assert names[:3] == ["shutdownlint", "shutdownlint-2", "shutdownlint-3"]
    assert all(len(each["results"]) <= 2 for each in found)


def test_the_role_of_the_example_is_for_what_is_read() -> None:
    documents = yaml.safe_load_all((ROOT / "examples/cluster/reports.yaml").read_text())
    (role,) = [
        d for d in documents if d["metadata"]["name"] == "shutdownlint-read" and "rules" in d
    ]
    granted: dict[str, set[str]] = {}
    for rule in role["rules"]:
        assert rule["verbs"] == ["get", "list"]
        granted.setdefault(rule["apiGroups"][0], set()).update(rule["resources"])
    assert "secrets" not in granted[""]
    wanted = Counter(group for group, _ in wanted_kinds())
    assert {group: len(names) for group, names in granted.items()} == wanted
    for group, kind in wanted_kinds():
        stem = re.sub(r"(y|ss|s)$", "", kind.lower())
        assert any(name.startswith(stem) for name in granted[group]), kind
