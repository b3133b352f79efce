"""Ignore comments: where they can be written, and that they change no value."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.helpers import POD, run

ISTIO = """\
apiVersion: v1
kind: Pod
metadata:
  name: a
  labels: {sidecar.istio.io/inject: "true"}
  annotations:
    proxy.istio.io/config: |
      terminationDrainDuration: 60s
spec:
  containers:
  - name: app
    image: i
    lifecycle: {preStop: {exec: {command: [sleep, "40"]}}}
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _ignore(text: str, *more: str) -> tuple[str, str]:
    Path("a.yaml").write_bytes(text.encode())
    code, _, stderr = run("check", "--add-ignore", "why", *more, "a.yaml")
    assert code == (2 if "not ignored" in stderr else 0)
    after = Path("a.yaml").read_bytes().decode()
    assert list(yaml.safe_load_all(after)) == list(yaml.safe_load_all(text))
    return after, stderr


def test_a_line_that_has_one_gets_the_rule_added() -> None:
    text = POD.rstrip("\n") + "  # shutdownlint: ignore[SL999] old reason\n"
    after, _ = _ignore(text)
    assert after.endswith("# shutdownlint: ignore[SL999, SL102] old reason\n")


def test_windows_lines_stay() -> None:
    after, _ = _ignore(POD.replace("\n", "\r\n"))
    assert after.endswith("ignore[SL102] why\r\n")
    assert after.count("\r\n") == after.count("\n")


def test_inside_a_text_no_comment_can_be_written() -> None:
    after, stderr = _ignore(ISTIO, "--mesh", "istio=1.26")
    assert "a.yaml:8" in stderr
    assert "not ignored: no comment can be written there: use the annotation" in stderr
    # The others of the file get theirs.
    assert "# shutdownlint: ignore[" in after


def test_json_has_no_comments() -> None:
    text = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": 60}}}}]}}\n'
    after, stderr = _ignore(text)
    assert after == text
    assert "not ignored" in stderr


def test_what_cannot_be_read_is_not_ignored() -> None:
    broken = "apiVersion: v1\nkind: Pod\nspec: {containers: [\n"
    Path("a.yaml").write_text(broken)
    code, _, _ = run("check", "--add-ignore", "why", "a.yaml")
    assert code == 2
    assert Path("a.yaml").read_text() == broken
