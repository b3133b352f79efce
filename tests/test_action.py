"""The steps of the GitHub Action, run as a runner runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ACTION: dict[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "action.yml").read_text())
BAD = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b, lifecycle: {preStop: {sleep: {seconds: 60}}}}]}}\n"

_BASE = "github.event.pull_request.base.sha"

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


def _step(name: str) -> dict[str, Any]:
    return next(step for step in ACTION["runs"]["steps"] if step.get("name") == name)


def _run(
    step: dict[str, Any], location: Path, values: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Return the script of a step as the runner writes it: expressions filled in, then bash with -e
    and pipefail.
    """

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ *([^ ]*) *\}\}", lambda found: values[found[1]], text)

    environment = {name: filled(value) for name, value in step["env"].items()}
    runner = {
        "GITHUB_STEP_SUMMARY": str(location / "summary.md"),
        "GITHUB_OUTPUT": str(location / "output"),
        "RUNNER_TEMP": str(location / "temp"),
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
        cwd=location,
        env={**os.environ, **runner, **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.fixture
def location(tmp_path: Path) -> Path:
    """Return a repository, and what the installation step leaves behind."""
    tool = tmp_path / "temp" / "shutdownlint" / "bin" / "shutdownlint"
    tool.parent.mkdir(parents=True)
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shutdownlint "$@"\n')
    tool.chmod(0o755)
    (tmp_path / "k8s").mkdir()
    (tmp_path / "k8s" / "pod.yaml").write_text(BAD)
    return tmp_path


def _inputs(**given: str) -> dict[str, str]:
    known = {name: form.get("default", "") for name, form in ACTION["inputs"].items()}
    inputs = {f"inputs.{name}": value for name, value in {**known, **given}.items()}
    return {**inputs, _BASE: ""}


def test_findings_annotate_are_summed_up_and_uploaded(location: Path) -> None:
    done = _run(_step("Check"), location, _inputs(paths="k8s", arguments="--p99 10s"))
    assert done.returncode == 0
    assert "1 of 1 workload is not analysed (the API server rejects it)" in done.stderr
    assert done.stdout.startswith("::error file=k8s/pod.yaml,line=1,")
    assert "| error |" in (location / "summary.md").read_text()
    sarif = json.loads((location / "shutdownlint.sarif").read_text())
    assert len(sarif["runs"][0]["results"]) == 1
    assert (location / "output").read_text() == "exit-code=1\n"
    verdict = _run(_step("Verdict"), location, {"steps.run.outputs.exit-code": "1"})
    assert verdict.returncode == 1


def test_the_inputs_are_options(location: Path) -> None:
    done = _run(_step("Check"), location, _inputs(paths="k8s", **{"fail-on": "never"}))
    assert (location / "output").read_text() == "exit-code=0\n"
    assert done.stdout.startswith("::error")
    tool = location / "temp" / "shutdownlint" / "bin" / "shutdownlint"
    known = str(location / "my known.json")
    subprocess.run([tool, "check", "--write-baseline", known, "k8s"], cwd=location, check=True)
    (location / "output").unlink()
    _run(_step("Check"), location, _inputs(paths="k8s", baseline=known, render="true"))
    assert (location / "output").read_text() == "exit-code=0\n"
    assert "1 known" in (location / "summary.md").read_text()


def test_only_what_a_pull_request_makes_worse(location: Path) -> None:
    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words],
            cwd=location,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    git("init", "-q")
    git("add", "k8s")
    git("commit", "-qm", "x")
    base = {_BASE: git("rev-parse", "HEAD")}
    _run(_step("Check"), location, {**_inputs(paths="k8s", since="auto"), **base})
    assert (location / "output").read_text() == "exit-code=0\n"
    summary = (location / "summary.md").read_text()
    assert summary.startswith("<!-- shutdownlint: since -->")
    (location / "k8s" / "new.yaml").write_text(BAD.replace("{name: a}", "{name: new}", 1))
    (location / "output").unlink()
    done = _run(_step("Check"), location, {**_inputs(paths="k8s", since="auto"), **base})
    assert (location / "output").read_text() == "exit-code=1\n"
    commands = [line.partition(",")[0] for line in done.stdout.splitlines() if line[:2] == "::"]
    assert commands == ["::error file=k8s/new.yaml"]
    # Without a pull request everything is reported.
    (location / "output").unlink()
    done = _run(_step("Check"), location, _inputs(paths="k8s", since="auto"))
    assert done.stdout.count("::error file=") == 2


def test_an_upload_that_is_not_possible_fails_only_where_it_is_asked_for() -> None:
    upload = _step("Upload")
    assert "github.event.pull_request.head.repo.fork != true" in upload["if"]
    assert upload["continue-on-error"] == "${{ inputs.upload-sarif == 'auto' }}"


@pytest.mark.parametrize(
    ("wanted", "what"),
    [
        ("", "HERE"),
        ("0.1.0", "shutdownlint==0.1.0"),
        ("==0.1.0", "shutdownlint==0.1.0"),
        ("x; y", "HERE"),
    ],
)
def test_the_version_that_is_installed(location: Path, wanted: str, what: str) -> None:
    script = _step("Install")["run"].replace("python -I -m venv", "true")
    pip = location / "temp" / "shutdownlint" / "bin" / "pip"
    pip.write_text('#!/bin/sh\necho "$@"\n')
    pip.chmod(0o755)
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        env={**os.environ, "WANTED": wanted, "HERE": "HERE", "RUNNER_TEMP": str(location / "temp")},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == f"install --quiet {what}\n"


def test_no_findings_is_a_clean_job(location: Path) -> None:
    (location / "k8s" / "pod.yaml").write_text("apiVersion: v1\nkind: Secret\n")
    done = _run(_step("Check"), location, _inputs(paths="k8s"))
    assert done.returncode == 0
    assert (location / "output").read_text() == "exit-code=0\n"


def test_an_input_is_no_script(location: Path) -> None:
    done = _run(_step("Check"), location, _inputs(paths="k8s $(touch owned) ; touch owned"))
    assert not (location / "owned").exists()
    assert (location / "output").read_text() == "exit-code=2\n"
    assert "$(touch: no such file or folder" in done.stderr
