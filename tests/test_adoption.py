"""The problems of a team's first week: hostile names, renamed files, slips in what it writes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.helpers import run

BAD = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec:
  terminationGracePeriodSeconds: 20
  containers:
  - {name: app, image: i, lifecycle: {preStop: {exec: {command: [sleep, "30"]}}}}
"""
NASTY = "x\n::error::pwn\x1b[31m"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def harmless(*texts: str) -> bool:
    return not any("\x1b" in text or "\n::error" in text for text in texts)


@pytest.mark.parametrize(
    "command", [["check"], ["check", "--diff"], ["suggest", "--format", "diff"]]
)
def test_a_files_name_acts_nowhere(command: list[str]) -> None:
    Path(f"{NASTY}.yaml").write_text(BAD + "# shutdownlint: ignore[SL201] old\n")
    _, out, stderr = run(*command, ".")
    assert harmless(out, stderr)
    assert "pwn" in out + stderr


def test_a_diff_of_an_odd_name_can_be_applied() -> None:
    name = 'ä "b"\t\x01.yaml'
    Path(name).write_text(BAD)
    subprocess.run(["git", "init", "-q"], check=True)
    _, out, _ = run("check", "--diff", ".")
    subprocess.run(["git", "apply"], input=out, check=True, encoding="utf-8")
    assert run("check", ".")[0] == 0


def test_what_the_configuration_and_the_baseline_name_acts_nowhere() -> None:
    Path("a.yaml").write_text(BAD)
    shown = json.dumps(NASTY)
    Path("shutdownlint.toml").write_text(
        f'[[workloads]]\nmatch = {shown}\nignore = ["SL1"]\nreason = "r"\n'
    )
    known = {"file": NASTY, "rule": "SL102", "fingerprint": "0:1"}
    Path("known.json").write_text(json.dumps({"version": 1, "findings": [known]}))
    _, out, stderr = run("check", "--baseline", "known.json", ".")
    assert harmless(out, stderr)
    assert stderr.count("pwn") == 2
    Path("shutdownlint.toml").write_text(f"{shown} = 1\n")
    code, out, stderr = run("check", ".")
    assert code == 2
    assert harmless(out, stderr)


@pytest.mark.parametrize("form", ["helm", "kustomize"])
def test_a_workloads_name_makes_no_yaml(form: str) -> None:
    name = "x\n  evil: true\n---\nkind: X \x1b[31m"
    Path("a.yaml").write_text(BAD.replace("name: a,", f"name: {json.dumps(name)},"))
    _, out, _ = run("suggest", "--format", form, "a.yaml")
    (data,) = yaml.safe_load_all(out)
    assert "evil" not in data
    assert "kind" not in data or data["kind"] == "Pod"
    assert "\x1b" not in out


def test_init_shadows_nothing_unsaid(folder: Path) -> None:
    Path("pyproject.toml").write_text('[tool.shutdownlint]\nignore = ["SL1"]\n')
    assert run("init")[0] == 2
    Path("below").mkdir()
    os.chdir("below")
    code, _, stderr = run("init")
    assert (code, "is now shadowed" in stderr) == (0, True)
    os.chdir(folder)
    Path("pyproject.toml").unlink()
    assert run("init", "nowhere")[0] == 2
    assert not Path("shutdownlint.toml").exists()


def test_a_baseline_outlives_names_and_folders() -> None:
    Path("k8s").mkdir()
    Path("k8s/a.yaml").write_text(BAD)
    Path("k8s/b.yaml").write_text(BAD.replace("name: a,", "name: b,"))
    run("check", "--write-baseline", "known.json", ".")
    Path("k8s/a.yaml").rename("k8s/z.yaml")
    assert run("check", "--baseline", "known.json", ".")[0] == 0
    os.chdir("k8s")
    assert run("check", "--baseline", "../known.json", ".")[0] == 0
    code, _, stderr = run("check", "--baseline", "../known.json", "b.yaml")
    assert (code, "no longer reported" in stderr) == (0, False)
    os.chdir("..")
    code, _, stderr = run("check", "--baseline", "known.json", "--select", "SL2", ".")
    assert (code, "no longer reported" in stderr) == (0, False)


@pytest.mark.parametrize(
    ("comment", "stderr"),
    [
        (
            "ignore[SL102 until tomorrow] x",
            "cannot be parsed: write '# shutdownlint: ignore[SL101]",
        ),
        ("ignore [SL102] x", "cannot be parsed"),
        ("Ignore[SL102] x", "cannot be parsed"),
        ("ignore x", "cannot be parsed"),
        ("ignore[SL102] until 2020-01-01 x", "has expired (2020-01-01)"),
        ("ignore[SL102 until 2026-13-21] x", "has an invalid expiry date"),
    ],
)
def test_an_ignore_that_does_nothing_is_reported(comment: str, stderr: str) -> None:
    lines = BAD.splitlines()
    lines[6] += f"  # shutdownlint: {comment}"
    Path("a.yaml").write_text("\n".join(lines))
    code, _, warnings = run("check", "a.yaml")
    assert code == 1
    assert stderr in warnings


def test_a_last_day_may_stand_behind_the_brackets() -> None:
    Path("a.yaml").write_text(
        BAD.replace('"30"]}}}}', '"30"]}}}}  # shutdownlint: ignore[SL102] until 2999-01-01 x')
    )
    assert run("check", "a.yaml")[0] == 0


@pytest.mark.parametrize(
    "pattern", ["*/testdata/*", "testdata", "testdata/", "./testdata", "**/testdata/**"]
)
def test_a_folder_is_left_out_wherever_it_is(pattern: str) -> None:
    for name in ("testdata/a.yaml", "k8s/testdata/a.yaml"):
        Path(name).parent.mkdir(parents=True)
        Path(name).write_text(BAD)
    assert run("check", "--exclude", pattern, "--allow-empty", ".")[0] == 0
    assert run("check", ".")[0] == 1


def test_no_rule_has_an_empty_name() -> None:
    Path("a.yaml").write_text(BAD)
    for stderr in (
        'ignore = [""]',
        'select = [""]',
        '[[workloads]]\nmatch = "*"\nignore = [""]\nreason = "r"',
    ):
        Path("shutdownlint.toml").write_text(stderr)
        assert run("check", ".")[0] == 2


def test_a_kind_that_is_indented_by_mistake_is_no_clean_run() -> None:
    Path("a.yaml").write_text("apiVersion: apps/v1\n  kind: Deployment\nmetadata: {name: a}\n")
    assert run("check", ".")[0] == 2


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe has no name there")
def test_a_report_goes_down_a_pipe() -> None:
    Path("a.yaml").write_text(BAD)
    for target in ("/dev/stdout", "-"):
        command = [
            sys.executable,
            "-m",
            "shutdownlint",
            "check",
            "--format",
            "json",
            "-o",
            target,
            "a.yaml",
        ]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
        assert (done.returncode, len(json.loads(done.stdout)["findings"])) == (1, 1)
    assert not Path("-").exists()


def test_an_id_that_is_taken_is_told_when_rules_are_tried() -> None:
    Path("our").mkdir()
    Path("our/a.yaml").write_text(
        "id: SL102\nname: x\nseverity: error\nfor: container\nwhen: serves\nmessage: m\n"
    )
    code, _, stderr = run("rule", "--test", "our")
    assert code == 2
    assert "is taken" in stderr
    assert "is not a folder" in run("rule", "--test", "nowhere")[2]


@pytest.mark.parametrize("key", ["context", "rules", "values"])
def test_a_repository_reads_nothing_outside_of_itself(key: str) -> None:
    Path("secret").mkdir()
    Path("secret/ns.yaml").write_text("kind: [broken\napiVersion: v1\n")
    Path("repo/k8s").mkdir(parents=True)
    Path("repo/.git").mkdir()
    Path("repo/k8s/a.yaml").write_text(BAD)
    Path("repo/link").symlink_to("../secret")
    for outside in ("../secret", "link", str(Path("secret").absolute())):
        Path("repo/shutdownlint.toml").write_text(f'{key} = ["{outside}"]\n')
        with contextlib.chdir("repo"):
            code, out, err = run("check", "k8s")
            assert (code, "SL102" in out) == (2, True), "the rest is checked"
            assert f"{key}: {outside} is outside of the repository" in err
            assert "broken" not in out + err
    Path("repo/k8s/shutdownlint.toml").write_text('context = ["../mesh"]\n')
    Path("repo/mesh").mkdir()
    with contextlib.chdir("repo/k8s"):
        assert run("check", ".")[0] == 1, "elsewhere in the repository"


def test_a_repository_cannot_turn_rendering_on() -> None:
    Path("chart").mkdir()
    Path("chart/Chart.yaml").write_text("name: a\n")
    Path("a.yaml").write_text(BAD)
    Path("shutdownlint.toml").write_text("render = true\n")
    code, _, err = run("check", ".")
    assert (code, "render is ignored" in err, "helm" in err) == (1, True, False)


def test_isolated_reads_nothing_that_the_repository_says_about_itself() -> None:
    comment = BAD.replace("kind: Pod\n", "kind: Pod  # nothing\n", 1)
    Path("a.yaml").write_text(
        comment.replace(
            "metadata: {", "metadata: {annotations: {shutdownlint.dev/ignore: SL1 -- x}, "
        )
    )
    Path("shutdownlint.toml").write_text('ignore = ["SL1"]\n')
    assert run("check", "a.yaml")[0] == 0
    code, out, err = run("check", "--isolated", "a.yaml")
    assert (code, "SL102" in out, "ignore" in err) == (1, True, False)
    Path("trusted.toml").write_text('ignore = ["SL1"]\n')
    assert run("check", "--isolated", "--config", "trusted.toml", "a.yaml")[0] == 0


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("app.yaml.j2", "apiVersion: apps/v1\nkind: Deployment\n", True),
        ("app.yaml.tmpl", "kind: StatefulSet # {{ x }}\n", True),
        ("app.libsonnet", '{kind: "Deployment", spec: {}}', True),
        ("app.jsonnet", "{ kind: 'CronJob' }", True),
        ("readme.tmpl", "A kind of Deployment\n", False),
        ("service.yaml.j2", "kind: Service\n", False),
        ("notes.txt", "kind: Deployment\n", False),
    ],
)
def test_templates_that_are_left_out_are_named(
    name: str, text: str, named: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    code, out, err = run("check", str(tmp_path))
    assert code == 2
    assert (f"left out for their suffix: {tmp_path}/{name}" in out + err) is named
    # --allow-empty is for folders without manifests.
    assert run("check", str(tmp_path), "--allow-empty")[0] == (2 if named else 0)


def test_an_application_of_another_repository_is_not_green(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop}\n"
        "spec: {source: {repoURL: https://example.com/x, path: deploy}, destination: {}}\n"
    )
    code, out, _ = run("check", str(tmp_path))
    assert code == 2
    assert "nothing was checked: 1 application of another repository" in out
    assert run("check", str(tmp_path), "--allow-empty")[0] == 0
    (tmp_path / "map.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n")
    assert run("check", str(tmp_path / "map.yaml"))[0] == 0
