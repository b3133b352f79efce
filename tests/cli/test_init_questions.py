"""``init --ask``: what is asked, and what becomes of the answers."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from shutdownlint.cli.questions import Answer, ask_all
from shutdownlint.linter.linter import plan_workloads
from shutdownlint.linter.options import LintOptions
from shutdownlint.linter.read import read
from shutdownlint.manifests.discovery import FileSearch
from tests.helpers import run

WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: shop}
spec:
  replicas: %d
  selector: {matchLabels: {app: %s}}
  template:
    metadata: {labels: {app: %s}}
    spec: {containers: [{name: app, image: x/y:1%s}]}
---
"""
PORT = ", ports: [{containerPort: 80}]"
FILES = "".join(
    WORKLOAD % (name, replicas, name, name, more)
    for name, replicas, more in (("few", 1, PORT), ("many", 9, PORT), ("worker", 3, ""))
)


def answering(*answers: str) -> tuple[list[str], Callable[[str], str]]:
    asked: list[str] = []
    left = iter(answers)

    def ask(question: str) -> str:
        asked.append(question)
        return next(left, "")

    return asked, ask


def test_the_workloads_with_the_most_pods_come_first(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(FILES)
    planned = plan_workloads(read([str(tmp_path)], FileSearch()), LintOptions())
    asked, ask = answering("istoi", "istio=1.26", "2s", "", "soon", "5m", "3s")
    assert ask_all(planned.pods, ask) == [
        Answer("mesh", "istio=1.26"),
        Answer("p99", "2s", "Deployment/shop/many"),
        Answer("longest-job", "5m", "Deployment/shop/worker"),
        Answer("propagation", "3s"),
    ]
    assert [word for text in asked for word in ("many", "few", "worker") if word in text] == [
        *("many", "few", "worker")
    ]


def test_without_a_terminal_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.yaml").write_text(FILES)
    code, _, err = run("init", "--ask")
    assert (code, "nothing is asked" in err) == (0, True)
    assert tomllib.loads(Path("shutdownlint.toml").read_text()) == {}


def test_answers_at_a_terminal_are_written(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(FILES)
    ours, theirs = pty.openpty()
    os.write(ours, b"none\n2s\n\n5m\n\n")
    words = [sys.executable, "-m", "shutdownlint", "init", "--ask"]
    done = subprocess.run(words, cwd=tmp_path, stdin=theirs, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
    written = tomllib.loads((tmp_path / "shutdownlint.toml").read_text())
    assert written["mesh"] == ["none"]
    stated = [
        {key: value for key, value in entry.items() if key != "reason"}
        for entry in written["workloads"]
    ]
    assert stated == [
        {"match": "Deployment/shop/many", "p99": "2s"},
        {"match": "Deployment/shop/worker", "longest-job": "5m"},
    ]
    assert all("init --ask" in entry["reason"] for entry in written["workloads"])
    checked = subprocess.run(
        [sys.executable, "-m", "shutdownlint", "check"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert b"cannot" not in checked.stderr
    assert b"app needs 5m" in checked.stdout
