"""The files that a run reads: what git ignores, mistyped paths, standard input, own reports."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shutdownlint.manifests.discovery import FileSearch, IgnoredInput, InputFile, discover
from tests.helpers import POD, run

BAD = POD


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def _write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def _found(*paths: str, gitignore: bool = True) -> tuple[list[str], list[str]]:
    """Return the files that are read, and what is left out."""
    found = list(discover(paths, FileSearch(gitignore=gitignore)))
    read = [each.display_path for each in found if isinstance(each, InputFile)]
    return read, [each.display_path for each in found if isinstance(each, IgnoredInput)]


def test_what_git_ignores_is_left_out_and_counted(repository: Path) -> None:
    _write({".gitignore": "build/\n*.gen.yaml\n", "build/a.yaml": BAD, "k8s/b.yaml": BAD})
    _write({"k8s/c.gen.yaml": BAD, "k8s/d.gen.txt": "", "k8s/sub/.gitignore": "/e.yaml\n"})
    _write({"k8s/sub/e.yaml": BAD, "k8s/sub/f.yaml": BAD, "k8s/sub/g/e.yaml": BAD})
    read, left_out = _found(".")
    assert read == ["k8s/b.yaml", "k8s/sub/f.yaml", "k8s/sub/g/e.yaml"]
    assert left_out == ["build", "k8s/c.gen.yaml", "k8s/sub/e.yaml"]
    code, out, _ = run("check", "--verbose", ".")
    assert code == 1
    assert "skipped: files and folders that a .gitignore names (3): name them" in out
    assert len(_found(".", gitignore=False)[0]) == 6
    assert ".gitignore names" not in run("check", "-v", "--no-respect-gitignore", ".")[1]
    assert ".gitignore names" not in run("check", "-v", "--isolated", ".")[1]
    Path("shutdownlint.toml").write_text("respect-gitignore = false\n")
    assert ".gitignore names" not in run("check", "-v", ".")[1]
    assert ".gitignore names" in run("check", "-v", "--respect-gitignore", ".")[1]


def test_a_path_of_the_command_line_is_read_though_git_ignores_it(repository: Path) -> None:
    _write({".gitignore": "build/\n*.gen.yaml\n", "build/a.yaml": BAD, "b.gen.yaml": BAD})
    assert _found("build") == (["build/a.yaml"], [])
    assert _found("b.gen.yaml") == (["b.gen.yaml"], [])


def test_a_folder_that_an_application_deploys_is_searched_in_the_same_way(repository: Path) -> None:
    """It is not among the paths; what is left out of it is counted, and --isolated reads it."""
    application = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web}\n"
        "spec: {source: {repoURL: x, path: deployed}, destination: {namespace: web}}\n"
    )
    _write({".gitignore": "hidden.yaml\n", "apps/web.yaml": application})
    _write(
        {"deployed/hidden.yaml": BAD, "deployed/other.yaml": BAD.replace("name: shop", "name: b")}
    )
    out = run("check", "-v", "apps")[1]
    assert ("hidden.yaml" in out, "deployed/other.yaml" in out) == (False, True)
    assert "a .gitignore names (1)" in out
    assert "deployed/hidden.yaml" in run("check", "--isolated", "apps")[1]
    assert "deployed/other.yaml" not in run("check", "--exclude", "other.yaml", "apps")[1]


def test_only_a_repository_has_ignored_files(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("a.yaml\n")
    (tmp_path / "a.yaml").write_text(BAD)
    assert len(_found(str(tmp_path))[0]) == 1


def test_a_run_over_ignored_files_only_is_not_green(repository: Path) -> None:
    _write({".gitignore": "*\n", "k8s/a.yaml": BAD})
    code, out, stderr = run("check", ".")
    assert code == 2
    assert ".gitignore names" in out
    assert "no Kubernetes manifests found" in out + stderr


@pytest.mark.skipif(sys.platform != "linux", reason="names there are bytes")
def test_a_name_that_is_not_text_is_not_ignored(repository: Path) -> None:
    _write({".gitignore": "*.yaml\n", "a.yaml": BAD, "z.yml": BAD})
    Path(os.fsdecode(b"\xff.yaml")).write_text(BAD)
    read, left_out = _found(".")
    assert [os.fsencode(name) for name in read] == [b"z.yml", b"\xff.yaml"]
    assert left_out == ["a.yaml"]


def test_patterns_that_backtrack_take_no_time(repository: Path) -> None:
    nasty = "*a" * 100 + "b\n" + "/**" * 100 + "/x\n"
    _write({".gitignore": nasty * 20, "a" * 200 + ".yaml": BAD, "b.yaml": BAD})
    assert len(_found(".")[0]) == 2


_PARTS = ("a", "b", "*.yaml", "*", "**", "[ab]", "a?", "!", "#x", "k8s", "\\!a", " ", "a.yaml")


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("seed", range(12))
def test_the_same_as_git(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    subprocess.run(["git", "init", "--quiet", "."], check=True)
    rng = random.Random(seed)
    for folder in ("", "a/", "b/k8s/", "a/b/"):
        names = rng.sample(["a.yaml", "b.yaml", "ab.yaml", "x.yaml", "!a"], 3)
        _write({f"{folder}{name}": BAD for name in names})
        lines = [_pattern(rng) for _ in range(rng.randint(0, 4))]
        _write({f"{folder}.gitignore": "\n".join(lines) + "\n"})
    listed = subprocess.run(
        ["git", "ls-files", "--others", "--exclude-standard", "-z"], capture_output=True, check=True
    )
    wanted = {name for name in listed.stdout.decode().split("\0") if name.endswith(".yaml")}
    assert set(_found(".")[0]) == wanted


def _pattern(rng: random.Random) -> str:
    steps = [rng.choice(_PARTS) for _ in range(rng.randint(1, 3))]
    sign = "!" if rng.random() < 0.25 else ""
    return sign + rng.choice(("", "/")) + "/".join(steps) + rng.choice(("", "", "/"))


def test_a_mistyped_path_is_a_usage_error(repository: Path) -> None:
    _write({"k8s/a.yaml": BAD})
    code, out, stderr = run("check", "k8s", "k9s", "no.yaml")
    assert (code, out) == (2, "")
    assert "k9s: no such file or folder; no.yaml: no such file or folder" in stderr
    assert "context: nowhere: no such file" in run("check", "--context", "nowhere", "k8s")[2]


def test_reports_of_this_tool_are_no_manifests(repository: Path) -> None:
    _write({"k8s/a.yaml": BAD})
    for name in ("json", "sarif", "gitlab"):
        run("check", "--format", f"{name}=k8s/{name}.json", "k8s/a.yaml")
    run("check", "--write-baseline", "k8s/known.json", "k8s/a.yaml")
    run("explain", "k8s/a.yaml", "--format", "json", "-o", "k8s/explain.json")
    code, out, _ = run("check", "-v", "k8s")
    assert code == 1
    assert "skipped: reports and baselines of shutdownlint (5)" in out
    assert "1 workload in 6 documents of 6 files" in out


def test_a_manifest_is_no_report_of_this_tool(repository: Path) -> None:
    """Test that a pull request cannot hide a manifest behind the mark of a report."""
    container = {"name": "a", "image": "i", "lifecycle": {"preStop": {"sleep": {"seconds": 60}}}}
    spec = {"containers": [container]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    Path("a.json").write_text(json.dumps({"tool": "shutdownlint", **pod}))
    assert "SL103" in run("check", "a.json")[1]


def test_standard_input_has_a_name() -> None:
    command = [sys.executable, "-m", "shutdownlint", "check", "--stdin-filename", "k8s/x.yaml"]
    done = subprocess.run([*command, "-"], input=BAD, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "--> k8s/x.yaml:7:73" in done.stdout
    assert "7 |   - {name: app" in done.stdout
    fixed = subprocess.run(
        [*command, "--fix", "-"], input=BAD, capture_output=True, text=True, check=False
    )
    assert "terminationGracePeriodSeconds: 20" not in fixed.stdout
    assert fixed.stdout.startswith("apiVersion: v1")
