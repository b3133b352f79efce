"""Earlier causes of kept reports that differed from full ones, or of crashes of kept runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from shutdownlint import files
from shutdownlint.cache_folder import CacheEntries, cache_folder
from tests.cli.test_run_cache import OWN_RULE, POD, Screen, own_folder, repeated, screen

__all__ = ["own_folder", "repeated", "screen"]
SET = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: set}
spec:
  generators: [%s]
  template:
    metadata: {name: app}
    spec:
      source:
        repoURL: x
        path: %s
        kustomize:
          patches:
            - target: {kind: Deployment}
              patch: "[{op: add, path: /spec/template/spec/terminationGracePeriodSeconds, value: %s}]"
      destination: {namespace: shop}
"""


@pytest.fixture
def folder(own_folder: Path) -> Path:
    (own_folder / ".git").mkdir()
    return own_folder


def same(screen: Screen, *words: str) -> tuple[int, str, str]:
    """Return the report, which is the one of a run that uses nothing."""
    kept = screen.run(*words)
    assert kept == screen.run(*words, "--no-cache")
    return kept


def test_an_applicationset_is_a_part_of_the_context(folder: Path, screen: Screen) -> None:
    (folder / "base").mkdir()
    (folder / "base" / "d.yaml").write_text(POD % (5, ""))
    elements = "{list: {elements: [{g: '%d'}]}}"
    (folder / "set.yaml").write_text(SET % (elements % 80, "base", "{{g}}"))
    assert same(screen, ".")[0] == 0
    (folder / "set.yaml").write_text(SET % (elements % 5, "base", "{{g}}"))
    assert same(screen, ".")[0] == 1


def test_a_renamed_folder_of_a_generator_is_seen(folder: Path, screen: Screen) -> None:
    (folder / "apps" / "80").mkdir(parents=True)
    (folder / "apps" / "80" / "d.yaml").write_text(POD % (5, ""))
    git = "{git: {directories: [{path: 'apps/*'}]}}"
    (folder / "set.yaml").write_text(SET % (git, "'{{path}}'", "{{path.basename}}"))
    assert same(screen, ".")[0] == 0
    (folder / "apps" / "80").rename(folder / "apps" / "5")
    assert same(screen, ".")[0] == 1


@pytest.mark.parametrize("ending", [".x\\u0000", ".\\u0000a\\u0000manifest\\u0000/dev/zero\\u0000"])
def test_a_nul_in_the_configuration_forges_nothing(
    ending: str, folder: Path, screen: Screen, repeated: list[bool]
) -> None:
    (folder / "d.yaml").write_text(POD % (5, ""))
    (folder / "shutdownlint.toml").write_text(f'suffixes = ["{ending}"]\n')
    for _ in range(2):
        same(screen, ".")
    assert not any(repeated)
    (folder / "shutdownlint.toml").unlink()
    assert same(screen, ".")[0] == 0


def test_an_entry_that_cannot_be_decoded_is_none(folder: Path, screen: Screen) -> None:
    (folder / "d.yaml").write_text(POD % (5, ""))
    first = screen.run(".")
    (entry,) = (Path(str(cache_folder())) / "runs").iterdir()
    entries = CacheEntries(str(entry.parent))
    for wrong in (
        b"",
        b"0",
        b"0\x0099\x00a",
        b"0\x005\x00a\0b\0c",
        b"0\x007\x00a\0b\0c\0d",
        b"x\0y\0",
    ):
        entries.write(entry.name, wrong)
        assert screen.run(".") == first


def test_a_file_that_is_changed_and_put_back_is_not_kept(
    folder: Path, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "d.yaml"
    path.write_text(POD % (40, ""))
    honest: Callable[..., bytes] = files.read_file
    reads: list[str] = []

    def read_file(name: str) -> bytes:
        reads.append(str(name))
        path.write_text(POD % (20 if len(reads) == 3 else 40, ""))
        return honest(name)

    monkeypatch.setattr(files, "read_file", read_file)
    screen.run(".")
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert len(reads) >= 3
    assert path.read_text() == POD % (40, "") or path.write_text(POD % (40, ""))
    assert same(screen, ".")[0] == 1


@pytest.mark.skipif(sys.platform == "darwin", reason="file names are UTF-8 there")
def test_a_file_name_that_is_not_utf_8_is_checked(folder: Path, screen: Screen) -> None:
    name = os.fsencode(folder) + b"/x\xff.yaml"
    with open(name, "w") as file:  # noqa: PTH123 - bytes
        file.write(POD % (5, ""))
    assert same(screen, ".")[0] == 0


def test_a_large_number_is_checked(folder: Path, screen: Screen) -> None:
    text = (POD % (5, "")).replace("spec:\n  sel", f"spec:\n  replicas: -{'9' * 23}\n  sel")
    (folder / "d.yaml").write_text(text)
    same(screen, ".")


def git(*words: str, folder: Path) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(
        ["git", *identity, *words], cwd=folder, env=environment, check=True, capture_output=True
    )


def test_what_a_worktree_excludes_is_seen(
    tmp_path: Path, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git("init", "-q", folder=main)
    (main / "app.yaml").write_text(POD % (5, ""))
    (main / "other.yaml").write_text((POD % (5, "")).replace("one", "two"))
    (main / ".gitignore").write_text("nothing\n")
    git("add", ".", folder=main)
    git("commit", "-qm", "x", folder=main)
    git("worktree", "add", "../tree", folder=main)
    monkeypatch.chdir(tmp_path / "tree")
    same(screen, ".")
    (main / ".git" / "info").mkdir(exist_ok=True)
    (main / ".git" / "info" / "exclude").write_text("app.yaml\n")
    same(screen, ".")


def test_a_repository_in_the_repository_is_seen(folder: Path, screen: Screen) -> None:
    (folder / ".gitignore").write_text("app.yaml\n")
    (folder / "sub").mkdir()
    (folder / "sub" / "app.yaml").write_text(POD % (5, ""))
    (folder / "other.yaml").write_text((POD % (5, "")).replace("one", "two"))
    same(screen, ".")
    (folder / "sub" / ".git").write_text("gitdir: ../nowhere\n")
    same(screen, ".")


def test_a_renamed_rule_file_is_read_again(folder: Path, screen: Screen) -> None:
    (folder / "rules").mkdir()
    broken = OWN_RULE.replace("preStop < duration('15s')", "1 / 0 == 1 && preStop < grace")
    (folder / "rules" / "own.yaml").write_text(broken)
    (folder / "shutdownlint.toml").write_text('rules = ["rules"]\n')
    (folder / "d.yaml").write_text(POD % (5, ""))
    assert "rules/own.yaml" in same(screen, ".")[1]
    (folder / "rules" / "own.yaml").rename(folder / "rules" / "zzz.yaml")
    out = same(screen, ".")[1]
    assert "rules/zzz.yaml" in out
    assert "rules/own.yaml" not in out


def test_warnings_come_again_where_an_output_cannot_be_written(
    folder: Path, screen: Screen
) -> None:
    (folder / "d.yaml").write_text(POD % (5, ""))
    (folder / "shutdownlint.toml").write_text("render = true\n")
    words = (".", "--format", "json=../out.json")
    same(screen, *words)
    Path("../out.json").unlink()
    Path("../out.json").mkdir()
    code, _, err = same(screen, *words)
    assert code == 2
    assert "render" in err


def test_a_folder_among_the_entries_and_a_full_disk_leave_nothing(
    folder: Path, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Path(str(cache_folder())) / "runs"
    (runs / "folder").mkdir(parents=True)
    (folder / "d.yaml").write_text(POD % (5, ""))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    screen.run(".")
    assert [path.name for path in runs.iterdir()] == ["folder"]
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("shutdownlint.limits.MAX_CACHE_ENTRIES", 2)
    entries = CacheEntries(str(runs))
    for number in range(5):
        entries.write(str(number), b"x")
    assert len([*runs.iterdir()]) <= 3


def test_a_closed_stdout_is_no_traceback(folder: Path) -> None:
    (folder / "d.yaml").write_text(POD % (5, ""))
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m shutdownlint check . >&-"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == 0
