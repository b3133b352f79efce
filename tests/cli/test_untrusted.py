"""Possible contents of a pull request: links, endless files, slow patterns, CI commands."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shutdownlint.manifests.suppressions import parse_rule_list
from tests.helpers import POD, run

posix = pytest.mark.skipif(os.name != "posix", reason="links and pipes")


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repository" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repository")
    Path("a.yaml").write_text(POD)


@posix
def test_a_link_that_waits_for_a_temporary_file_is_not_written_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outside = Path("../outside")
    outside.write_text("untouched")
    monkeypatch.setattr(os, "urandom", bytes)
    Path(f".out.sarif.{os.getpid()}-{'0' * 16}.shutdownlint").symlink_to(outside)
    code, _, stderr = run("check", "--format", "sarif=out.sarif", "a.yaml")
    assert (code, outside.read_text()) == (2, "untouched")
    assert "out.sarif" in stderr


@posix
def test_a_report_is_not_written_into_git() -> None:
    Path(".git/config").write_text("[core]\n")
    Path("out.json").symlink_to(".git/config")
    code, _, stderr = run("check", "--format", "json=out.json", "a.yaml")
    assert (code, Path(".git/config").read_text()) == (2, "[core]\n")
    assert "a link into .git" in stderr


@posix
@pytest.mark.parametrize("target", ["/dev/zero", "../outside", "pipe"])
def test_patterns_and_owners_are_regular_files(target: str) -> None:
    Path("../outside").write_text("a.yaml\n* @leaked\n")
    for name in (".gitignore", "CODEOWNERS"):
        if target == "pipe":
            os.mkfifo(name)
        else:
            Path(name).symlink_to(target)
    code, out, _ = run("check", ".")
    assert code == 2
    assert "SL102" in out
    assert ".gitignore:1:1" in out
    assert "what it names is not left out" in out
    data = json.loads(run("check", "--format", "json", "a.yaml")[1])
    assert {finding["owner"] for finding in data["findings"]} == {None}


@posix
def test_a_large_gitignore_leaves_nothing_out() -> None:
    Path(".gitignore").write_text("a.yaml\n" * 200_000)
    code, out, _ = run("check", ".")
    assert (code, "SL102" in out) == (2, True)


@posix
def test_a_configuration_over_a_link_out_is_not_read() -> None:
    Path("../secret.toml").write_text("secret = 1\n")
    Path("shutdownlint.toml").symlink_to("../secret.toml")
    code, _, stderr = run("check", ".")
    assert (code, "a link out of the repository" in stderr, "secret =" in stderr) == (
        2,
        True,
        False,
    )


@posix
@pytest.mark.parametrize("target", ["/dev/zero", "pipe"])
def test_reports_of_the_history_are_regular_files(target: str) -> None:
    Path("reports").mkdir()
    if target == "pipe":
        os.mkfifo("reports/a.json")
    else:
        Path("reports/a.json").symlink_to(target)
    code, _, stderr = run("history", "reports")
    assert (code, "a link, no file" in stderr) == (2, True)


def test_ignore_comments_are_read_once() -> None:
    names = ",".join(["aaaaaaaa-a"] * 200)
    lines = "".join(f"# shutdownlint: ignore[SL1] {n}\n" for n in range(30_000))
    annotated = POD.replace(
        "{name: shop}", f"{{name: shop, annotations: {{shutdownlint.dev/ignore: '{names}!'}}}}"
    )
    Path("a.yaml").write_text(f"# shutdownlint: ignore[{names}!\n{annotated}{lines}")
    code, _, stderr = run("check", "a.yaml")
    assert code == 1
    assert "cannot be parsed" in stderr
    assert parse_rule_list("a-b, SL1") == ("A-B", "SL1")


@pytest.mark.parametrize("text", ["##[stop-commands]x", "##vso[task.complete]x"])
def test_no_line_is_a_command(text: str) -> None:
    Path("shutdownlint.toml").write_text(f'[[workloads]]\nmatch = "{text}"\np99 = "1s"\n')
    Path("a.yaml").write_text(POD.rstrip("\n") + f"  # {text}\n")
    for form in ("text", "concise", "json", "github", "markdown", "gitlab", "sarif"):
        _, out, stderr = run("check", "--format", form, ".")
        assert text not in out + stderr, form


@posix
def test_a_name_at_the_begin_of_a_line_is_no_command() -> None:
    Path("::stop-commands::t.yaml").write_text(POD)
    out = run("check", "--format", "concise", ".")[1]
    assert not any(line.startswith("::") for line in out.splitlines())


def test_what_is_left_out_is_counted() -> None:
    Path("shutdownlint.toml").write_text('[[paths]]\nmatch = "*"\nignore = ["S"]\n')
    out = run("check", ".")[1]
    assert "not shown: " in out
    assert "that the configuration ignores" in out
    Path("shutdownlint.toml").write_text('ignore = ["SL1"]\nexclude = ["b.yaml"]\n')
    Path("b.yaml").write_text(POD)
    out = run("check", ".")[1]
    assert "rules (select, ignore)" in out
    assert "not checked: 1 excluded file" in out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'exclude = ["{"[" * 20_000}"]\n', "exclude"),
        (f'[[paths]]\nmatch = "{"[" * 20_000}"\n', "match"),
        ('[[workloads]]\nmatch = "a"\np99 = "1s"\n' * 3000, "workloads"),
        ('context = ["a\\u0000b"]\n', "is no path"),
        ('[[workloads]]\nmatch = "a"\nrate = inf\n', "rate"),
        ('[[workloads]]\nmatch = "a"\nrollouts = 1e300\n', "rollouts"),
    ],
)
def test_a_configuration_is_bounded(text: str, message: str) -> None:
    Path("shutdownlint.toml").write_text(text)
    code, _, stderr = run("check", ".")
    assert (code, message in stderr, "internal error" in stderr) == (2, True, False)


@pytest.mark.parametrize(
    "text",
    [
        "[tool]\nshutdownlint = 5\n#[tool.shutdownlint",
        "tool = 5\n#[tool.shutdownlint",
        "tool = [1]\n#[tool.shutdownlint",
    ],
)
def test_another_tools_table(text: str) -> None:
    Path("pyproject.toml").write_text(text)
    code, _, stderr = run("check", ".")
    assert (code, "must be a table" in stderr) == (2, True)


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "1e300"])
def test_a_rate_is_a_number(value: str) -> None:
    assert run("explain", "--rate", value, "a.yaml")[0] == 2
    assert run("explain", "--rollouts", value, "a.yaml")[0] == 2


def test_an_ignore_that_cannot_be_extended_is_not_counted() -> None:
    text = POD.rstrip("\n") + "  # shutdownlint: ignore[SL2 until 2020-01-01] r\n"
    Path("a.yaml").write_text(text)
    code, _, stderr = run("check", "--add-ignore", "why", "a.yaml")
    assert (code, Path("a.yaml").read_text()) == (2, text)
    assert "cannot be extended" in stderr
    assert "ignored 0 findings" in stderr


def test_a_root_with_two_slashes() -> None:
    Path("k8s").mkdir()
    Path("k8s/a.yaml").write_text(POD)
    Path(".gitignore").write_text("other\n")
    for root in ("k8s//", ".//", "./k8s/"):
        assert run("check", root)[0] == 1, root
