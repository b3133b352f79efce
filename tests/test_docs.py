"""Pages that are made from the code are what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages.generated import PAGES, facts_page


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_generated_pages_are_fresh(path: Path) -> None:
    stale = f"{path.name} is stale: run python -m pages.generated"
    assert path.read_text(encoding="utf-8") == PAGES[path](), stale


def test_facts_are_listed() -> None:
    assert "| termination drain duration | 5s |" in facts_page()
    assert "Gunicorn" in facts_page()
