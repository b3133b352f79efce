"""Every text of the repository is plain technical English: no word of ``mannered_words.txt``."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shutdownlint.cli.app import command_line

ROOT = Path(__file__).resolve().parents[1]
WORDS = ROOT / "tests" / "mannered_words.txt"
#: Not our sentences, or the words as data.
EXEMPT = (
    "tests/mannered_words.txt",
    "tests/test_language.py",
    "tests/fuzz/found/",
    "tests/fixtures/",
    "LICENSE",
    "tests/snapshots/stored/",
)
COMMANDS = ("", "check", "explain", "suggest", "rule", "init", "schema")


def patterns() -> list[re.Pattern[str]]:
    lines = WORDS.read_text(encoding="utf-8").splitlines()
    found = [line.split("  #")[0].strip() for line in lines if not line.startswith("#")]
    return [re.compile(pattern, re.IGNORECASE) for pattern in found if pattern]


def text_files() -> list[Path]:
    """Return every file that belongs to the project, also without git."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
        )
        names = listed.stdout.splitlines()
    else:
        parts = ("src", "rules", "tests", "docs", "pages", "benchmarks", "examples")
        files = [path for part in parts for path in (ROOT / part).rglob("*") if path.is_file()]
        names = [str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.*"), *files)]
    return [
        ROOT / name
        for name in names
        if not name.startswith(EXEMPT) and "/.cache/" not in name and (ROOT / name).is_file()
    ]


def hits(text: str) -> list[str]:
    return [
        f"{number}: {line.strip()[:120]}"
        for number, line in enumerate(text.splitlines(), 1)
        for pattern in patterns()
        if pattern.search(line)
    ]


def test_no_mannered_word_in_a_file() -> None:
    files = text_files()
    assert len(files) > 100
    found = []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a picture, or a test of bytes
        found += [f"{path.relative_to(ROOT)}:{hit}" for hit in hits(text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_mannered_word_in_the_help(command: str) -> None:
    arguments = [*([command] if command else []), "--help"]
    result = CliRunner().invoke(command_line(), arguments, env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert "Usage" in result.stdout
    assert not hits(result.stdout)


def test_the_patterns_find_what_they_are_for() -> None:
    assert hits("this is told twice")
    assert hits("It is a matter of Luck")
    assert not hits("a standard sentence")
