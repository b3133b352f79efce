"""What each command prints in each format is what was stored."""

from __future__ import annotations

import pytest

from tests.snapshots.cases import CASES, STORED, output_of, path_of

RENEW = "if the change is meant: python -m tests.snapshots"


@pytest.mark.parametrize("name", CASES)
def test_an_output_is_as_stored(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert output_of(name) == path_of(name).read_text(encoding="utf-8"), RENEW


def test_nothing_else_is_stored() -> None:
    assert {*STORED.iterdir()} == {path_of(name) for name in CASES}
