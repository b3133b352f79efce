"""The parts of this project that CI systems run: workflows, GitLab template, hooks, image."""

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

from shutdownlint.engine.rule import bundled_folder
from tests.helpers import POD, run

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
USES = re.compile(r"^\s*-? *uses: (\S+)(?:  # (v\d+\.\d+\.\d+))?$", re.MULTILINE)


def _load(path: Path) -> dict[Any, Any]:
    data: dict[Any, Any] = yaml.safe_load(path.read_text())
    return data


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / "action.yml"], ids=lambda path: path.name)
def test_actions_of_others_are_pinned_with_their_version(path: Path) -> None:
    found = USES.findall(path.read_text())
    assert found
    for used, version in found:
        if not used.startswith("./"):
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", used), used
            assert version, used


def test_an_action_has_one_version_everywhere() -> None:
    versions: dict[str, set[str]] = {}
    for path in (*WORKFLOWS, ROOT / "action.yml"):
        for used, _ in USES.findall(path.read_text()):
            name, _, commit = used.partition("@")
            versions.setdefault(name, set()).add(commit)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_no_permissions_but_those_of_its_jobs(path: Path) -> None:
    workflow = _load(path)
    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert job.get("permissions"), name
        assert "uses" in job or job["timeout-minutes"] <= 120


def test_the_supported_pythons_are_tested_and_named() -> None:
    matrix = _load(ROOT / ".github/workflows/ci.yml")["jobs"]["test"]["strategy"]["matrix"]
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert matrix["python"] == named


def test_every_form_asks_for_what_is_needed() -> None:
    forms = ROOT / ".github" / "ISSUE_TEMPLATE"
    wrong = _load(forms / "wrong-finding.yml")
    asked = {field.get("id"): str(field) for field in wrong["body"]}
    assert "--format json" in asked["report"]
    assert "'required': True" in asked["manifest"]
    for form in forms.glob("*.yml"):
        assert _load(form)


def test_gitlab_runs_what_the_template_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    monkeypatch.chdir(tmp_path)
    template = _load(ROOT / "templates" / "gitlab.yml")
    job = template["shutdownlint"]
    tool = tmp_path / "bin" / "shutdownlint"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m shutdownlint "$@"\n')
    tool.chmod(0o755)
    (tmp_path / "pod.yaml").write_text(POD)
    variables = {**template["variables"], "SHUTDOWNLINT_ARGUMENTS": "--p99 10s --notes"}
    environment = {**os.environ, **variables, "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    script = "\n".join(job["script"])
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "error[SL102]" in done.stdout
    reports = job["artifacts"]["reports"]
    (first, *_) = json.loads((tmp_path / reports["codequality"]).read_text())
    assert first["severity"] == "critical"
    assert (tmp_path / reports["junit"]).read_text().startswith("<?xml")


@pytest.mark.parametrize(
    "hook", _load(ROOT / ".pre-commit-hooks.yaml"), ids=lambda hook: hook["id"]
)
def test_a_hook_is_a_command_of_this_tool(
    hook: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pod.yaml").write_text(POD)
    arguments = [*hook["entry"].split()[1:], *hook.get("args", [])]
    names = ["pod.yaml"] if hook.get("pass_filenames", True) else []
    assert run(*arguments, *names)[0] == 1


def test_the_image_has_what_the_package_needs() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    kept = {line[1:] for line in (ROOT / ".dockerignore").read_text().split() if line[0] == "!"}
    copied = set()
    for line in re.findall(r"^COPY (?!--from)(.*)$", dockerfile, re.MULTILINE):
        copied |= set(line.split()[:-1])
    assert copied == kept
    assert all((ROOT / name).exists() for name in copied)
    assert bundled_folder().name in copied
    rendered_with = re.findall(r"@v[0-9.]+", (ROOT / ".ci" / "run").read_text())
    assert set(re.findall(r"@v[0-9.]+", dockerfile)) <= set(rendered_with)
    assert "\nUSER 10001\n" in dockerfile
