"""Suppressions in comments, annotations and the configuration, and baselines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shutdownlint.cli.app import command_line

BAD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop%s
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata:
      labels: {app: shop}
    spec:
      containers:
      - name: app
        image: shop/app:1
        lifecycle:
          preStop:
            exec:
              command: [sleep, "30"]%s
"""


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(command_line(), ["check", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("above", "behind"),
    [
        ("", "  # shutdownlint: ignore[SL102] batch work"),
        ("", "  # shutdownlint: ignore[SL2, SL1 until 2999-01-31] batch work"),
        ("\n  annotations: {shutdownlint.dev/ignore: SL102 -- batch work}", ""),
        ("\n  annotations: {shutdownlint.dev/ignore.app: SL1 -- batch work}", ""),
        ("\n  annotations: {shutdownlint.dev/ignore: SL9 -- x; SL102 -- batch work}", ""),
    ],
)
def test_ignored_with_a_reason(folder: Path, above: str, behind: str) -> None:
    (folder / "a.yaml").write_text(BAD % (above, behind))
    code, out, _ = run("a.yaml")
    last = "no errors, no warnings (1 suppressed); 1 workload in 1 document of 1 file"
    assert (code, out.splitlines()[-1]) == (0, last)
    _, sarif, _ = run("--format", "sarif", "a.yaml")
    (result,) = json.loads(sarif)["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "inSource", "justification": "batch work"}]


def test_a_comment_of_its_own_line_is_for_the_next(folder: Path) -> None:
    text = BAD % ("", "")
    comment = "              # shutdownlint: ignore[SL102] batch work\n              # and more\n"
    (folder / "a.yaml").write_text(
        text.replace("              command", f"{comment}              command")
    )
    assert run("a.yaml")[0] == 0


@pytest.mark.parametrize(
    ("above", "behind", "warning"),
    [
        ("", "  # shutdownlint: ignore[SL102 until 2020-01-31] x", "a.yaml:17:39: ignore of SL102 has expired (2020-01-31)"),
        ("  # shutdownlint: ignore[SL102] x", "", "a.yaml:4:15: ignore of SL102 is unused"),
        ("\n  annotations: {shutdownlint.dev/ignore.other: SL102 -- x}", "", "a.yaml:5:17: ignore of SL102 is unused"),
        ("\n  annotations: {shutdownlint.dev/ignore: all of it}", "", "a.yaml:5:17: ignore cannot be parsed"),
        ("", "  # shutdownlint: ignore[SL102]", "a.yaml:17:39: ignore of SL102 gives no reason"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_ignore_is_told(
    folder: Path, above: str, behind: str, warning: str
) -> None:
    (folder / "a.yaml").write_text(BAD % (above, behind))
    code, _, err = run("a.yaml")
    assert warning in err
    assert code == (0 if "no reason" in warning else 1)


def test_an_ignore_of_what_was_not_asked_is_not_stale(folder: Path) -> None:
    (folder / "a.yaml").write_text(BAD % ("  # shutdownlint: ignore[SL303] x", ""))
    assert "is unused" not in run("--select", "SL1", "a.yaml")[2]


def test_ignores_in_the_configuration(folder: Path) -> None:
    (folder / "a.yaml").write_text(BAD % ("", ""))
    (folder / "shutdownlint.toml").write_text(
        '[[workloads]]\nmatch = "Deployment/*/shop"\nignore = ["SL102"]\nreason = "vendored"\n'
        "until = 2999-12-31\n"
    )
    code, _, err = run("a.yaml")
    assert (code, err) == (0, "")
    (folder / "shutdownlint.toml").write_text('[[workloads]]\nmatch = "*"\nignore = ["SL102"]\n')
    code, _, err = run("a.yaml")
    assert code == 2
    assert "ignore needs a reason" in err


UNREADABLE = (
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: a: b%s\nspec: {containers: []}\n"
)


@pytest.mark.parametrize("how", ["comment", "configuration", "baseline"])
def test_a_file_that_is_known_not_to_be_readable(folder: Path, how: str) -> None:
    (folder / "a.yaml").write_text(UNREADABLE % "")
    (folder / "b.yaml").write_text(BAD % ("", ""))
    more: tuple[str, ...] = ("--select", "SL0")
    assert run(*more, ".")[0] == 2
    if how == "comment":
        (folder / "a.yaml").write_text(UNREADABLE % "  # shutdownlint: ignore[SL001] test data")
    elif how == "configuration":
        text = '[[paths]]\nmatch = "a.yaml"\nignore = ["SL001"]\n'
        (folder / "shutdownlint.toml").write_text(text)
    else:
        assert run(*more, "--write-baseline", "base.json", ".")[0] == 0
        (folder / "a.yaml").write_text("# moved\n" + UNREADABLE % "")
        more += ("--baseline", "base.json")
    code, out, _ = run(*more, ".")
    assert (code, "1 could not be read" in out) == (0, True)
    (folder / "b.yaml").unlink()
    code, out, _ = run(*more, ".")
    assert (code, "nothing could be checked" in out) == (2, True)
    (folder / "c.yaml").write_text(UNREADABLE % "")
    assert run(*more, ".")[0] == 2


def test_a_baseline(folder: Path) -> None:
    file = folder / "a.yaml"
    file.write_text(BAD % ("", ""))
    code, _, err = run("--write-baseline", "base.json", "a.yaml")
    assert (code, err) == (0, "shutdownlint: base.json: wrote a baseline with 1 finding\n")
    file.write_text("# moved\n" * 10 + BAD % ("", ""))
    code, out, err = run("--baseline", "base.json", "a.yaml")
    assert (code, out.splitlines()[-1][:25]) == (0, "no new findings; 1 known;")
    (folder / "b.yaml").write_text(BAD % ("2", ""))
    code, out, _ = run("--baseline", "base.json", "--format", "concise", ".")
    assert code == 1
    assert [line.partition(":")[0] for line in out.splitlines()] == ["b.yaml"]
    file.write_text((BAD % ("", "")).replace('"30"', '"5"'))
    code, _, err = run("--baseline", "base.json", "a.yaml")
    assert code == 0
    assert "a.yaml: SL102 of the baseline is no longer reported" in err
    (folder / "base.json").write_text("[]")
    assert run("--baseline", "base.json", "a.yaml")[0] == 2


def test_only_new_of_two_equal_lines(folder: Path) -> None:
    one = BAD % ("", "")
    (folder / "a.yaml").write_text(one)
    run("--write-baseline", "base.json", "a.yaml")
    (folder / "a.yaml").write_text(f"{one}---\n{one}")
    code, out, _ = run("--baseline", "base.json", "--format", "concise", "a.yaml")
    assert (code, len(out.splitlines())) == (1, 1)
