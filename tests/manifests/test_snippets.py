"""Parts of pods without a kind: named where they are skipped, checked with --as-pod."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.helpers import dedent, run

if TYPE_CHECKING:
    from pathlib import Path

CONTAINERS = """\
- name: app
  image: shop/app:1
  lifecycle: {preStop: {exec: {command: [sleep, '40']}}}
"""
SPEC = """\
terminationGracePeriodSeconds: 35
containers:
  - name: app
    image: shop/app:1
    lifecycle: {preStop: {exec: {command: [sleep, '40']}}}
"""
TEMPLATE = """\
metadata:
  labels: {app: shop}
spec:
  containers:
    - name: app
      image: shop/app:1
      lifecycle: {preStop: {exec: {command: [sleep, '40']}}}
"""


@pytest.mark.parametrize(
    ("text", "line", "column"), [(CONTAINERS, 3, 49), (SPEC, 5, 51), (TEMPLATE, 7, 53)]
)
def test_a_part_of_a_pod(text: str, line: int, column: int, tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text(text)
    code, out, err = run("check", str(tmp_path))
    assert code == 2
    assert "parts of a pod without a kind (1): check one alone: --as-pod" in out + err
    code, out, err = run("check", str(tmp_path), "--as-pod", "--format=json", "--p99=2s")
    assert code == 1, err
    (found,) = [f for f in json.loads(out)["findings"] if f["rule"] == "SL102"]
    assert (found["line"], found["column"]) == (line, column)
    assert found["workload"]["kind"] == "Pod"
    assert found["workload"]["name"] == "part"


def test_beside_other_files_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text(CONTAINERS)
    (tmp_path / "pod.yaml").write_text(
        dedent("""
        apiVersion: v1
        kind: Pod
        metadata: {name: shop}
        spec: {containers: [{name: app, image: "shop/app:1"}]}
        """)
    )
    code, out, _ = run("check", str(tmp_path), "--mesh=none")
    assert code == 0
    assert "not checked: 1 part of a pod (--as-pod)" in out
    _, out, _ = run("explain", str(tmp_path), "--as-pod", "--mesh=none")
    assert "Pod part" in out
    assert "Pod shop" in out


@pytest.mark.parametrize(
    "text",
    ["- a\n- b\n", "- uses: actions/checkout\n  name: x\n", "name: x\nimage: y\n", "services: {a: {image: b}}"],
)  # fmt: skip
def test_other_lists_are_none(text: str, tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(text)
    _, out, err = run("check", str(tmp_path), "--as-pod")
    assert "part of a pod" not in out + err


def test_a_fix_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text(CONTAINERS)
    _, _, err = run("check", str(tmp_path), "--as-pod", "--fix", "--unsafe-fixes")
    assert "not fixed" in err
    assert (tmp_path / "part.yaml").read_text() == CONTAINERS


def test_one_that_is_not_yaml_is_reported(tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text(CONTAINERS + "  env: [\n")
    code, out, err = run("check", str(tmp_path / "part.yaml"), "--as-pod")
    assert code == 2, err
    assert "SL001" in out


def test_a_kustomization_that_is_not_yaml_is_reported(tmp_path: Path) -> None:
    (tmp_path / "kustomization.yaml").write_text("resources: [\n")
    code, out, err = run("check", str(tmp_path))
    assert code == 2, err
    assert "SL001" in out
