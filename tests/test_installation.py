"""The name of an installation changes with what is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shutdownlint import __version__

ROOT = Path(__file__).resolve().parents[1]
_PRINT = "from shutdownlint.installation import installation_state; print(installation_state())"


def state(folder: Path) -> str:
    return subprocess.run(
        [sys.executable, "-B", "-c", _PRINT],
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder of packages with shutdownlint in it, as an installer leaves it."""
    package = tmp_path / "site-packages" / "shutdownlint"
    without_compiled = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "shutdownlint", package, ignore=without_compiled)
    shutil.copytree(ROOT / "rules", package / "rules")
    (listed(package.parent)).parent.mkdir()
    listed(package.parent).write_text("shutdownlint/__init__.py,sha256=a,1\n")
    return package.parent


def listed(folder: Path) -> Path:
    return folder / f"shutdownlint-{__version__}.dist-info" / "RECORD"


def test_every_installation_has_its_own_name(installed: Path) -> None:
    before = state(installed)
    assert state(installed) == before
    listed(installed).write_text("shutdownlint/__init__.py,sha256=another,1\n")
    assert state(installed) != before


def test_without_the_list_every_file_counts(installed: Path) -> None:
    listed(installed).unlink()
    before = state(installed)
    with (installed / "shutdownlint" / "rules" / "general" / "new.yaml").open("w") as file:
        file.write("id: SL999\n")
    after = state(installed)
    assert after != before
    with (installed / "shutdownlint" / "limits.py").open("a") as file:
        file.write("\n")
    assert state(installed) != after


def test_in_a_checkout_every_file_counts(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in ("rules", "programs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    before = state(tmp_path / "src")
    assert state(tmp_path / "src") == before
    for folder in ("rules", "programs"):
        next((tmp_path / folder).rglob("*.yaml")).write_text("")
        after = state(tmp_path / "src")
        assert after != before
        before = after
