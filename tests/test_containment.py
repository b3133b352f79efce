"""A failure stays in its part: everything else is still reported, and the exit code is 2."""

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shutdownlint import limits
from shutdownlint.cli.app import command_line
from shutdownlint.engine.evaluator import RuleEvaluator
from shutdownlint.fixes import apply
from shutdownlint.linter import evaluate, plan
from shutdownlint.platforms.kubernetes.platform import Plugin as Kubernetes
from shutdownlint.platforms.planner import plan_pod
from shutdownlint.reports import sarif

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      terminationGracePeriodSeconds: 30
      containers: [{name: app, image: "a:1", lifecycle: {preStop: {exec: {command: [sleep, "40"]}}}}]
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: a}
spec: {selector: {app: a}, ports: [{port: 80}]}
"""


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.yaml").write_text("---\n".join(DEPLOYMENT % name for name in ("one", "two")))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(command_line(), [*words, "."])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def fail_for(name: str, function: Any) -> Any:
    """Return the function, which fails for the workload of a name."""

    def changed(workload: Any, *more: Any, **named: Any) -> Any:
        if workload.id.name == name:
            raise OverflowError("date value out of range")
        return function(workload, *more, **named)

    return changed


@pytest.mark.parametrize(
    ("module", "function"),
    [(plan, "plan_pod"), (evaluate, "evaluate_pod"), (evaluate, "judge_pod")],
)
def test_a_workload_that_fails_leaves_the_others(
    module: Any, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, function, fail_for("one", getattr(module, function)))
    code, output = run("check")
    assert code == 2
    assert re.search(r"internal error .*\n +--> a\.yaml:\d+", output)
    assert "internal error (OverflowError: date value out of range)" in output
    assert "SL102" in output


def test_a_workload_that_fails_in_explain_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutdownlint.linter.plan.plan_pod", fail_for("one", plan_pod))
    code, output = run("explain")
    assert code == 2
    assert "Deployment two" in output
    assert "internal error" in output


def fail_for_pod(name: str, function: Any) -> Any:
    """Return a function of pods, alone or in a sequence, that fails for one of them."""

    def changed(pods: Any, *more: Any, **named: Any) -> Any:
        each = [*pods] if isinstance(pods, (list, tuple)) else [pods]
        if any(pod.id.name == name for pod in each):
            raise OverflowError("date value out of range")
        return function(pods, *more, **named)

    return changed


@pytest.mark.parametrize(
    ("words", "target", "shown"),
    [
        (["explain"], "shutdownlint.reports.explanation.judge_pod", "Deployment two"),
        (["explain", "--format=json"], "shutdownlint.reports.explanation.judge_pod", '"two"'),
        (["suggest", "--p99=2s"], "shutdownlint.cli.suggest.make_suggestions", "Deployment two"),
        (["verify"], "shutdownlint.cli.verify.plan_verification", "two"),
    ],
)
def test_what_is_made_of_a_pod_leaves_the_others(
    words: list[str], target: str, shown: str, monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    (repository / "b.yaml").write_text(SERVICE)
    module, _, name = target.rpartition(".")
    real = getattr(sys.modules.get(module) or importlib.import_module(module), name)
    monkeypatch.setattr(target, fail_for_pod("one", real))
    code, output = run(*words)
    assert code == 2
    assert shown in output
    failure = "internal error (OverflowError: date value out of range)"
    assert f"Deployment one: {failure}; please report it (a.yaml:" in output


def test_a_fix_that_fails_leaves_the_others(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = apply.edits_of

    def changed(finding: Any) -> Any:
        if finding.workload.name == "one":
            raise IndexError("x")
        return real(finding)

    monkeypatch.setattr(apply, "edits_of", changed)
    code, output = run("check", "--fix")
    assert code == 1
    assert "SL102 not fixed: internal error (IndexError: x)" in output
    text = (repository / "a.yaml").read_text()
    assert text.count("terminationGracePeriodSeconds: 30") == 1


def test_a_rule_that_fails_leaves_the_others(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unselecting = SERVICE.replace("app: a", "app: other")
    (repository / "b.yaml").write_text(unselecting)
    complete = run("check", "--notes")[1]
    real = RuleEvaluator._fix

    def changed(self: Any, compiled: Any, *more: Any) -> Any:
        if compiled.rule.id == "SL102":
            raise ZeroDivisionError("x")
        return real(self, compiled, *more)

    monkeypatch.setattr(RuleEvaluator, "_fix", changed)
    code, output = run("check", "--notes")
    assert code == 2
    assert "SL002" in output
    assert "rule SL102 could not be evaluated: internal error (ZeroDivisionError: x)" in output
    assert "note[SL" in complete
    assert "note[SL" in output


@pytest.mark.parametrize("function", ["context_problems", "selection_problems"])
def test_checks_of_a_platform_that_fail_leave_the_pods(
    function: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "b.yaml").write_text(SERVICE)

    def changed(*_: Any) -> Any:
        yield from {"a": ()}["x"]

    monkeypatch.setattr(Kubernetes, function, changed)
    code, output = run("check")
    assert code == 2
    assert "internal error (KeyError: 'x')" in output
    assert "grace" in output


def test_a_report_that_fails_leaves_the_others(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(*_: Any) -> Any:
        raise AttributeError("x")

    monkeypatch.setattr(sarif, "render_sarif", changed)
    code, output = run(
        "check",
        "--format",
        "sarif",
        "--output",
        "a.sarif",
        "--format",
        "json",
        "--output",
        "a.json",
    )
    assert code == 2
    assert "the sarif report cannot be made: internal error (AttributeError: x)" in output
    assert (repository / "a.json").stat().st_size > 1000
    assert not (repository / "a.sarif").exists()


def test_a_pod_with_very_many_containers_is_named(repository: Path) -> None:
    containers = ", ".join(
        f"{{name: c{number}, image: a}}" for number in range(limits.MAX_CONTAINERS_OF_A_POD + 1)
    )
    (repository / "b.yaml").write_text(
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: many}}\nspec: {{containers: [{containers}]}}\n"
    )
    code, output = run("check")
    assert code == 2
    assert "more than 50 containers" in output
    assert "b.yaml:1:" in output or "b.yaml:3:" in output


@pytest.mark.parametrize("make", ["pipe", "device"])
@pytest.mark.parametrize(
    ("name", "config", "words"),
    [
        ("rules/own.yaml", 'rules = ["rules"]\n', ["check"]),
        ("known.json", "", ["check", "--baseline", "known.json"]),
        ("known.json", 'baseline = "known.json"\n', ["check"]),
        ("measured.toml", 'measured = ["measured.toml"]\n', ["check"]),
        ("shutdownlint.toml", "", ["check"]),
        ("CODEOWNERS", "", ["check", "--format", "json"]),
        (".gitignore", "", ["check"]),
        ("values.yaml", "", ["check"]),
        ("kustomization.yaml", "", ["check"]),
    ],
)
def test_what_is_no_regular_file_is_not_read(
    make: str, name: str, config: str, words: list[str], repository: Path
) -> None:
    if config:
        (repository / "shutdownlint.toml").write_text(config)
    path = repository / name
    path.parent.mkdir(exist_ok=True)
    if make == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    code, _ = run(*words)
    assert code in (1, 2)


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 {x: 1}\n"
        + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 50)),
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 50)),
    ],
    ids=["merges", "aliases"],
)
@pytest.mark.parametrize("name", ["b.yaml", "rules/own.yaml", "kustomization.yaml", "values.yaml"])
def test_aliases_that_double_are_refused(text: str, name: str, repository: Path) -> None:
    (repository / "shutdownlint.toml").write_text('rules = ["rules"]\n')
    (repository / "rules").mkdir()
    more = {"b.yaml": DEPLOYMENT % "three", "kustomization.yaml": "resources: [a.yaml]\n"}
    (repository / name).write_text(text + more.get(name, "id: OWN001\npodAnnotations: *a49\n"))
    code, output = run("check")
    assert code in (1, 2)
    assert "internal error" not in output
