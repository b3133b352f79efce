"""Imports inside of functions: only where the import is the point, each with its reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "shutdownlint"
#: Ruff reports every such import that has no mark.
MARKED = re.compile(r"# noqa: (?:\w+, )*PLC0415(.*)")
FOUND = [
    (f"{path.relative_to(PACKAGE)}:{number}", found[1])
    for path in sorted(PACKAGE.rglob("*.py"))
    for number, line in enumerate(path.read_text().splitlines(), 1)
    if (found := MARKED.search(line))
]


def test_there_are_no_more_of_them() -> None:
    assert 0 < len(FOUND) <= 88


@pytest.mark.parametrize(("place", "reason"), FOUND)
def test_each_has_its_reason(place: str, reason: str) -> None:
    assert re.fullmatch(r" - \w[\w ,.-]+", reason), place
