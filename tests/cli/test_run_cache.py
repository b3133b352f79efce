"""Kept runs: whatever is changed, the report is the one of a run that keeps nothing."""

from __future__ import annotations

import ast
import os
import shutil
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shutdownlint import cache_folder, limits
from shutdownlint.cli import start
from shutdownlint.cli.run_cache import CachedRun
from tests.conftest import ROOT
from tests.helpers import served

WORKLOAD = served(sleep=5)
ROLLING = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\nspec: {minAvailable: %s, selector: {matchLabels: {app: a}}}\n"
MESH = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {istio-injection: %s}}\n"
KUSTOMIZATION = "resources: [%s]\npatches: [{path: patch.yaml}]\n"
PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: shop}\nspec: {template: {spec: {terminationGracePeriodSeconds: %s}}}\n"

#: A file with nothing but a workload.
POD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: one}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
        - {name: app, image: i, lifecycle: {preStop: {sleep: {seconds: %s}}}}%s
"""
#: The same in a mesh, with the proxy's configuration in the text of an annotation.
MESHED = POD.replace(
    "labels: {app: a}}\n",
    "labels: {app: a}, annotations: {sidecar.istio.io/inject: 'true', "
    "proxy.istio.io/config: 'terminationDrainDuration: %s'}}\n",
).replace("}%s", "}")
ARGO = (
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x}\n"
    "spec: {source: {path: %s, kustomize: {namePrefix: z-}}, destination: {namespace: n}}\n"
)
CONFIG_MAP = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio, namespace: istio-system}\n"
    "data: {mesh: 'defaultConfig: {terminationDrainDuration: %s}'}\n"
)
IGNORE = "  # shutdownlint: ignore[SL102] known"
OWN_RULE = """\
id: OWN001
name: own
severity: warning
for: container
when: preStop < duration('15s')
at: preStop
message: "{container}: a rule of our own"
"""

#: Contents of each file; None: there is no such file.
CONTENTS: dict[str, list[str | None]] = {
    "app.yaml": [WORKLOAD, served(sleep=40), "a: [", None],
    "sub/app.yaml": [WORKLOAD.replace("shop", "other"), None],
    "sub/ignored.yaml": [WORKLOAD.replace("shop", "third"), None],
    "plain/one.yaml": [POD % (5, ""), POD % (50, ""), POD % (5, IGNORE), None],
    "plain/two.yaml": [POD % (40, ""), (POD % (9, "")).replace("one", "two"), None],
    "plain/meshed.yaml": [MESHED % ("3s", 5), MESHED % ("9s", 40), MESHED % ("{", 5), None],
    "plain/mixed.yaml": [
        f"{POD % (5, '')}---\n{ROLLING % 1}",
        f"{POD % (5, '')}# more\n---\n{ROLLING % 1}",
        f"{POD % (5, '')}---\n{ROLLING % 0}---\n{CONFIG_MAP % '5s'}",
        f"{POD % (40, IGNORE)}# more\n---\n{ROLLING % 0}---\n{CONFIG_MAP % '5s'}",
        None,
    ],
    "argo.yaml": [ARGO % "plain", ARGO % "overlay", None],
    "mesh.yaml": [CONFIG_MAP % "5s", CONFIG_MAP % "90s", None],
    "budget.yaml": [ROLLING % 1, ROLLING % '"100%"', None],
    "namespace.yaml": [MESH % "enabled", MESH % "disabled", None],
    "overlay/kustomization.yaml": [
        KUSTOMIZATION % "../app.yaml",
        KUSTOMIZATION % "../sub/app.yaml",
        None,
    ],
    "overlay/patch.yaml": [PATCH % 5, PATCH % 90, None],
    ".gitignore": ["ignored.yaml\n", "sub/\n", None],
    ".github/CODEOWNERS": ["* @one\n", "/sub @two\n", None],
    "shutdownlint.toml": [
        'p99 = "3s"\n',
        'rules = ["rules"]\nnotes = true\n',
        'mesh = ["istio=1.26"]\nselect = ["SL1"]\n',
        "x",
        None,
    ],
    "pyproject.toml": ["[tool.shutdownlint]\nnotes = true\n", "[project]\n", None],
    "Chart.yaml": ["apiVersion: v2\nname: x\nversion: 1.0.0\n", None],
    "rules/own.yaml": [OWN_RULE, OWN_RULE.replace("a rule", "another rule"), None],
    "generated/values.json": ['{"a": 1}', None],
}
EDITS = st.sampled_from([(name, text) for name, texts in CONTENTS.items() for text in texts])
SPECIAL = st.sampled_from(
    [("link", "app.yaml"), ("link", "../outside.yaml"), ("unlink", ""), ("git", "")]
)


class Screen:
    """Runs the command as the program does, and gives what it writes."""

    def __init__(self, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capfd = capfd
        self.monkeypatch = monkeypatch

    def run(self, *words: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr("sys.argv", ["shutdownlint", "check", *words])
        with pytest.raises(SystemExit) as end:
            start.run_command()
        out, err = self.capfd.readouterr()
        assert isinstance(end.value.code, int)
        return end.value.code, out, err


@pytest.fixture
def screen(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Screen:
    return Screen(capfd, monkeypatch)


@pytest.fixture
def repeated(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each run was a kept one."""
    found: list[bool] = []
    honest = CachedRun.replay

    def replay(self: CachedRun) -> int | None:
        code = honest(self)
        found.append(code is not None)
        return code

    monkeypatch.setattr(CachedRun, "replay", replay)
    return found


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the current one; the cache is outside of it."""
    made = tmp_path / "repository"
    made.mkdir()
    monkeypatch.chdir(made)
    return made


@pytest.fixture
def folder(own_folder: Path) -> Path:
    """Return the same with one workload."""
    (own_folder / "app.yaml").write_text(WORKLOAD)
    return own_folder


def edit(folder: Path, name: str, text: str | None) -> None:
    path = folder / name
    if name == "git":
        (folder / ".git").mkdir(exist_ok=True)
    elif name in ("link", "unlink"):
        link = folder / "linked.yaml"
        link.unlink(missing_ok=True)
        if name == "link":
            link.symlink_to(text or "")
    elif text is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)


@settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(edits=st.lists(EDITS | SPECIAL, min_size=1, max_size=8))
def test_any_sequence_of_edits_gives_the_report_of_a_run_that_keeps_nothing(
    edits: list[tuple[str, str | None]],
    screen: Screen,
    repeated: list[bool],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = tmp_path / "repository"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (tmp_path / "outside.yaml").write_text(WORKLOAD)
    (folder / "app.yaml").write_text(WORKLOAD)
    monkeypatch.chdir(folder)
    for name, text in edits:
        edit(folder, name, text)
        for words in ((".", "--format", "json"), (".",), ("app.yaml", "--format", "gitlab")):
            full = screen.run(*words, "--no-cache")
            assert screen.run(*words) == full
            assert screen.run(*words) == full
            # Wrong usage, which has no report, is not kept.
            assert repeated[-1] or not full[1]


def test_a_report_in_a_file_is_written_again(
    screen: Screen, repeated: list[bool], tmp_path: Path, folder: Path
) -> None:
    words = (".", "--format", "sarif=out.sarif", "--format", "text")
    first = screen.run(*words)
    text = Path("out.sarif").read_text()
    Path("out.sarif").unlink()
    assert screen.run(*words) == first
    assert repeated == [False, True]
    assert Path("out.sarif").read_text() == text
    Path("out.sarif").unlink()
    Path("out.sarif").symlink_to(tmp_path / "elsewhere")
    (folder / ".git").mkdir()
    code, _, err = screen.run(*words)
    assert code == 2
    assert "link out of the repository" in err
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.usefixtures("folder")
def test_what_changes_files_reads_input_or_runs_programs_is_not_kept(
    screen: Screen, repeated: list[bool]
) -> None:
    for words in (("--fix", "."), ("--add-ignore", "known", "."), ("--render", "."), ("missing",)):
        screen.run(*words)
        screen.run(*words)
    assert repeated == [False] * 8


@pytest.mark.usefixtures("folder")
def test_a_damaged_or_foreign_entry_is_not_used(
    screen: Screen, repeated: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = screen.run(".")
    (entry,) = (Path(str(cache_folder.cache_folder())) / "runs").iterdir()
    data = entry.read_bytes()
    assert oct(entry.stat().st_mode & 0o777) == "0o600"
    for damaged in (data[:-1], data[:-2] + b"x\n", b"", data[:40]):
        entry.write_bytes(damaged)
        assert screen.run(".") == first
        assert entry.read_bytes() == data
    assert not any(repeated)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    screen.run(".")
    assert not any(repeated)


def test_nothing_is_kept_in_a_repository(
    screen: Screen, repeated: list[bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "app.yaml").write_text(WORKLOAD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHUTDOWNLINT_CACHE_DIR", str(tmp_path / "cache"))
    screen.run(".")
    assert not (tmp_path / "cache").exists()
    monkeypatch.setenv("SHUTDOWNLINT_CACHE_DIR", "")
    screen.run(".")
    assert repeated == []


@pytest.mark.usefixtures("folder")
def test_there_are_only_so_many_kept_runs(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CACHE_ENTRIES", 6)
    for number in range(20):
        screen.run(".", "--p99", f"{number}s")
    assert 3 <= len([*(Path(str(cache_folder.cache_folder())) / "runs").iterdir()]) <= 6


def test_they_take_only_so_much_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_CACHE_ENTRIES", 10)
    monkeypatch.setattr(limits, "MAX_CACHE_BYTES", 20_000)
    entries, random = cache_folder.CacheEntries(str(tmp_path)), Random(4)
    for number in range(200):
        entries.write(str(number), b"x" * random.choice([100, 800, 3000, 9000]))
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 20_000 + 10 * 100
    assert entries.read("199") is not None


#: Modules that ask the file system themselves, and why a kept run does not depend on it.
_OTHERS = {
    "files.py": "it is the module that all others ask",
    "__main__.py": "it opens what takes the place of a closed stream",
    "atomic_write.py": "it writes",
    "installation.py": "it is a part of the key",
    "cache_folder.py": "it is a part of the key",
    "cli/run_cache.py": "it reads what is kept",
    "engine/rule_loader.py": "it compiles the rules of the installation",
    "linter/processes.py": "it counts processors",
    "manifests/ignored_files.py": "it adds a kind of questions",
    "fixes/add_ignores.py": "it changes files",
    "cli/init.py": "another command",
    "cli/history.py": "another command",
    "cli/rule.py": "another command",
    "cli/measure.py": "another command",
    "cli/session.py": "splits the words of other commands",
    "reports/history.py": "another command",
    "config/write_measured.py": "another command",
}
_PACKAGES = ("rendering", "measurement", "verification", "images")
_QUESTIONS = {
    *("read_bytes", "read_text", "is_file", "is_dir", "exists", "is_symlink", "stat", "lstat"),
    *("iterdir", "glob", "rglob", "resolve", "open", "scandir", "listdir", "walk", "realpath"),
    *("isfile", "isdir", "lexists", "islink", "getsize", "getmtime", "readlink", "access"),
}


def test_everything_that_a_check_asks_is_noted() -> None:
    package = ROOT / "src" / "shutdownlint"
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        if name in _OTHERS or name.split("/")[0] in _PACKAGES:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = node.func
            if isinstance(called, ast.Attribute) and called.attr in _QUESTIONS:
                owner = called.value
                assert isinstance(owner, ast.Name), f"{name}:{node.lineno}: {called.attr}"
                known = owner.id in ("files", "ast", "rignore", "resolver", "resolvers")
                assert known, f"{name}:{node.lineno}: {owner.id}.{called.attr}"
            assert not (isinstance(called, ast.Name) and called.id == "open"), f"{name}: open"
