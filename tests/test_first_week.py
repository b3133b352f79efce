"""The first week, from an installed wheel: every command does what the page shows."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.first_week import DAYS, PAGE, ROOT, install, page_commands, run_week


def test_the_page_has_every_command() -> None:
    commands = [step.command for steps in DAYS.values() for step in steps]
    assert page_commands() == commands


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="the commands are those of a shell")
def test_the_week_is_as_the_page_shows(tmp_path: Path) -> None:
    helm = shutil.which("helm") or (ROOT / "tests" / ".cache" / "bin" / "helm").exists()
    page, failures = run_week(install(tmp_path), tmp_path / "repository")
    if not helm:
        failures = [failure for failure in failures if "--render" not in failure]
    assert failures == []
    if helm:
        assert page == PAGE.read_text(encoding="utf-8")
