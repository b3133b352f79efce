"""The sixty mistakes: what shutdownlint reports, and what other tools say where they are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.peers.mistakes import MISTAKES, SOUND, SOUND_IN_MESH, STATEFUL
from tests.peers.others import (
    OURS,
    OURS_WITH_NOTES,
    PEERS,
    SEEN,
    ask,
    installed,
    our_rules,
    table,
)

ROOT = Path(__file__).resolve().parents[2]


def _seen() -> dict[str, dict[str, list[str]]]:
    data: dict[str, dict[str, list[str]]] = json.loads(SEEN.read_text(encoding="utf-8"))
    return data


@pytest.mark.parametrize("text", [SOUND, SOUND_IN_MESH, STATEFUL])
def test_the_sound_manifest_has_no_finding(text: str) -> None:
    assert our_rules(text, None) == set()


def test_each_of_the_sixty_is_found() -> None:
    found = ask(MISTAKES, OURS_WITH_NOTES)
    assert len(found) == 60
    assert [title for title, rules in found.items() if not rules] == []
    assert found == {title: each[OURS_WITH_NOTES] for title, each in _seen().items()}


def test_what_a_run_with_defaults_reports_is_as_recorded() -> None:
    assert ask(MISTAKES, OURS) == {title: each[OURS] for title, each in _seen().items()}


@pytest.mark.slow
@pytest.mark.parametrize("peer", PEERS)
def test_what_other_tools_say_is_as_recorded(peer: str) -> None:
    if peer not in installed():
        pytest.skip(f"{peer} is not installed")
    assert ask(MISTAKES, peer) == {title: each[peer] for title, each in _seen().items()}


def test_the_page_and_the_readme_have_the_table() -> None:
    shown = table(_seen())
    assert shown in (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (row,) = (line for line in readme.splitlines() if line.startswith("| reported of 60 |"))
    total = shown.splitlines()[-1]
    assert sorted(row.split("|")) == sorted(total.split("|"))
