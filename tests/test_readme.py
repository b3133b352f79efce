"""The README shows real screens; run this file as a script to update them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
SCREEN = re.compile(r"<!-- screen: shutdownlint (.+?) -->\n```text\n(.*?)```", re.DOTALL)


def screen(arguments: str) -> str:
    """Return the output of the command for a user who runs it in the project's folder."""
    done = subprocess.run(
        [sys.executable, "-m", "shutdownlint", *shlex.split(arguments)],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=False,
    )
    return done.stdout


def test_the_screens_are_real() -> None:
    screens = SCREEN.findall(README.read_text(encoding="utf-8"))
    assert len(screens) >= 2
    for arguments, shown in screens:
        assert shown == screen(arguments), f"stale: run python {Path(__file__).name}"


def test_the_commands_that_set_up_stand_where_ci_finds_them() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(re.findall(r"^python3 -m venv .*pytest -n auto$", text, re.MULTILINE)) == 1
    assert len(re.findall(r"^python3 -m venv .* check examples/$", text, re.MULTILINE)) == 1


def write() -> None:
    """Put the real screens into the README."""
    text = README.read_text(encoding="utf-8")

    def fresh(found: re.Match[str]) -> str:
        arguments = found.group(1)
        return f"<!-- screen: shutdownlint {arguments} -->\n```text\n{screen(arguments)}```"

    README.write_text(SCREEN.sub(fresh, text), encoding="utf-8")


if __name__ == "__main__":
    write()
