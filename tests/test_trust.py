"""The limits on a repository: it cannot run programs, or be read or written outside of itself."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tests.helpers import POD, run


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository in a folder with other things beside it; the current folder is in it."""
    inside = tmp_path / "repository"
    (inside / ".git").mkdir(parents=True)
    (inside / "shop.yaml").write_text(POD)
    monkeypatch.chdir(inside)
    return inside


def outside(name: str, text: str = POD) -> Path:
    path = Path("..") / name
    path.write_text(text)
    return path.resolve()


def reasons(*arguments: str) -> dict[str, str]:
    code, out, _ = run("check", "--format", "json", *arguments, ".")
    assert code == 2
    data = json.loads(out)
    assert [f["file"] for f in data["findings"] if f["rule"] == "SL102"] == ["shop.yaml"]
    return {each["file"]: each["reason"] for each in data["unreadable"]}


def test_links_and_special_files_are_named(tmp_path: Path) -> None:
    Path("out.yaml").symlink_to(outside("secret.yaml"))
    Path("gone.yaml").symlink_to("nowhere.yaml")
    Path("loop.yaml").symlink_to("loop.yaml")
    Path("null.yaml").symlink_to(os.devnull)
    os.mkfifo("pipe.yaml")
    found = reasons()
    assert found["out.yaml"] == "a link out of the repository, which is not followed"
    assert found["gone.yaml"].startswith("a link that leads nowhere")
    assert found["loop.yaml"].startswith("a link that leads nowhere")
    assert found["null.yaml"] == "a link to what is not a regular file"
    assert found["pipe.yaml"] == "not a regular file"
    assert tmp_path.exists()


def test_links_inside_the_repository_are_followed() -> None:
    Path("other.yaml").symlink_to("shop.yaml")
    code, out, _ = run("check", ".")
    assert code == 1
    assert "--> other.yaml:7" in out


@pytest.mark.parametrize("named", ["../secret.yaml", "/etc/hostname", "link.yaml"])
def test_a_kustomization_reads_nothing_outside(named: str) -> None:
    Path("link.yaml").symlink_to(outside("secret.yaml", POD.replace("shop", "secret")))
    Path("kustomization.yaml").write_text(
        f"resources: [shop.yaml, {named}]\npatches: [{{path: {named}}}]\n"
    )
    _, out, _ = run("check", "--format", "json", ".")
    assert "secret" not in out.replace("secret.yaml", "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "-o", "report.txt", "."),
        ("check", "--format", "json", "-o", "report.txt", "."),
        ("check", "--write-baseline", "report.txt", "."),
        ("check", "--fix", "-o", "report.txt", "."),
        ("explain", "-o", "report.txt", "."),
        ("suggest", "-o", "report.txt", "."),
        ("verify", "-o", "report.txt", "."),
        ("check", "--fix", "-o", "folder/report.txt", "."),
    ],
)
def test_nothing_is_written_through_a_link(arguments: tuple[str, ...]) -> None:
    target = outside("precious.txt", "precious")
    Path("report.txt").symlink_to(target)
    Path("folder").symlink_to(target.parent, target_is_directory=True)
    code, _, err = run(*arguments)
    assert code == 2
    assert "a link out of the repository" in err
    assert target.read_text() == "precious"
    assert Path("shop.yaml").read_text() == POD, (
        "nothing is written before the arguments are checked"
    )
    assert not (target.parent / "report.txt").exists()


def test_init_writes_through_no_link() -> None:
    target = outside("precious.txt", "precious")
    Path("shutdownlint.toml").symlink_to(target.parent / "new.toml")
    assert run("init", ".")[0] == 2
    assert not (target.parent / "new.toml").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ("-o", "none/report.txt"),
        ("--write-baseline", "none/known.json"),
        ("--baseline", "none.json"),
        ("-o", "."),
    ],
)
def test_arguments_are_checked_before_anything_is_written(arguments: tuple[str, ...]) -> None:
    code, _, err = run("check", "--fix", *arguments, ".")
    assert code == 2
    assert err
    assert Path("shop.yaml").read_text() == POD


def test_modes_and_hard_links_stay() -> None:
    Path("shop.yaml").chmod(0o640)
    os.link("shop.yaml", "../other-name.yaml")
    _, _, err = run("check", "--fix", "shop.yaml")
    assert "fixed 1 finding in 1 file" in err
    assert Path("shop.yaml").read_text() != POD
    assert Path("../other-name.yaml").samefile("shop.yaml")
    assert stat.S_IMODE(Path("shop.yaml").stat().st_mode) == 0o640


def test_what_is_not_written_is_not_called_fixed() -> None:
    Path("shop.yaml").chmod(0o440)
    code, _, err = run("check", "--fix", "shop.yaml")
    assert code == 2
    assert "not written: the file is read-only" in err
    assert "fixed 1" not in err


#: The settings and files of a repository that would like programs to run.
EAGER = {
    "shutdownlint.toml": 'render = true\nvalues = ["values.yaml"]\n',
    "chart/Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n",
    "chart/templates/a.yaml": "{{ fail }}",
    "values.yaml": "a: b\n",
    "k/kustomization.yaml": "resources: [https://example.com/a?ref=b, git@example.com:a/b]\n"
    "helmCharts: [{name: a, repo: https://example.com}]\ngenerators: [exec.yaml]\n",
    "k/exec.yaml": "apiVersion: a\nkind: b\nmetadata: {annotations: {config.kubernetes.io/function: "
    "'exec: {path: ./run}'}}\n",
    "app.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n"
    "spec: {source: {path: chart, repoURL: https://example.com}}\n",
}
RECORDER = "#!/bin/sh\necho \"$0 $*\" >> '%s'\nexport -p >> '%s'.env\nexit 1\n"


def record(folder: Path, *names: str) -> Path:
    """Programs of these names in a folder, which note that they were called."""
    calls = folder / "calls"
    for name in names:
        tool = folder / name
        tool.write_text(RECORDER % (calls, calls))
        tool.chmod(0o755)
    return calls


@pytest.mark.skipif(sys.platform == "win32", reason="the programs are shell scripts")
def test_a_plain_run_starts_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in EAGER.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text)
    tools = ("helm", "kustomize", "kubectl", "git", "sh", "run")
    folder = tmp_path / "bin"
    folder.mkdir()
    calls = record(folder, *tools)
    here = record(Path.cwd(), *tools)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}.")
    for command in (
        ("check", "."),
        ("check", "--fix", "."),
        ("check", "--format", "sarif", "."),
        ("explain", "."),
        ("suggest", "."),
        ("verify", "."),
        ("measure", "."),
        ("check", "k"),
        ("check", "chart"),
    ):
        run(*command)
    assert not calls.exists()
    assert not here.exists()
    _, _, err = run("check", ".")
    assert "render is ignored: it runs programs" in err
    run("check", "--render", ".")
    called = calls.read_text()
    assert "/bin/helm template" in called
    assert "/bin/kustomize build" in called
    assert not here.exists(), "programs of the current folder are not used"
    environment = (folder / "calls.env").read_text()
    assert "GIT_ALLOW_PROTOCOL=" in environment
    assert "http://[::1]:1" in environment
    assert "--enable-helm" not in called
    run("check", "--render", "--allow-network", ".")
    assert "--enable-helm" in calls.read_text()


def test_a_rendering_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "helm"
    tool.write_text("#!/bin/sh\nwhile :; do echo 'a: b'; done\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("shutdownlint.limits.MAX_RENDERING_BYTES", 100_000)
    Path("chart").mkdir()
    Path("chart/Chart.yaml").write_text("name: a\n")
    code, out, _ = run("check", "--render", ".")
    assert code == 2
    assert "helm wrote more than" in out
    tool.write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr("shutdownlint.limits.MAX_RENDERING_SECONDS", 0.2)
    code, out, _ = run("check", "--render", ".")
    assert code == 2
    assert "helm took longer than" in out
    assert "SL102" in out, "the rest is checked"


def test_hooks_that_take_names_end_their_options() -> None:
    from yaml import safe_load  # noqa: PLC0415

    hooks = safe_load((Path(__file__).parents[1] / ".pre-commit-hooks.yaml").read_text())
    for hook in hooks:
        if hook.get("pass_filenames", True):
            assert hook["args"][-1] == "--"
    Path("--fix.yaml").write_text(POD)
    code, out, _ = run("check", "--allow-empty", "--", "--fix.yaml")
    assert code == 1
    assert "--> --fix.yaml:7" in out


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 5000 + "]" * 5000,
        "p99 = " + "9" * 5000,
        "a" * 17_000_000,
        '[[workloads]]\nmatch = "' + "*" * 2000 + '"\np99 = "1s"\n',
        "\x00",
        "[a",
        "select = [1]",
    ],
)
def test_odd_configurations_are_refused_or_harmless(text: str) -> None:
    Path("shutdownlint.toml").write_text(text)
    code, _, err = run("check", ".")
    assert code in (1, 2)
    assert "Traceback" not in err
    assert "internal error" not in err


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "{}",
        "[]",
        '{"version": 1, "findings": [{"rule": 1, "file": 2, "fingerprint": 3}]}',
    ],
)
def test_odd_baselines_are_refused(text: str) -> None:
    Path("known.json").write_text(text)
    code, _, err = run("check", "--baseline", "known.json", ".")
    assert code == 2
    assert "not a baseline file" in err


@pytest.mark.parametrize(
    "command", ["check --diff --unsafe-fixes", "suggest", "suggest --format diff"]
)
def test_a_file_outside_of_the_paths_is_read_but_not_changed(command: str) -> None:
    Path("overlay").mkdir()
    Path("overlay/kustomization.yaml").write_text("resources: [../shop.yaml]\n")
    code, out, err = run(*command.split(), "overlay")
    assert code in (0, 1)
    assert "+++" not in out
    assert "the file is not writable in this run" in out + err
