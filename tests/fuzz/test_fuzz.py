"""A short run of every target, always the same, and everything that was ever found."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.fuzz import values
from tests.fuzz.patterns import collect
from tests.fuzz.targets import TARGETS
from tests.fuzz.whole_runs import run_batch, run_one

FOUND = sorted(path for path in (Path(__file__).parent / "found").iterdir() if path.suffix != ".md")


@pytest.mark.parametrize("name", TARGETS)
def test_a_short_run(name: str) -> None:
    target, share = TARGETS[name]
    rng = Random(name)
    for _ in range(share * 8):
        target.check(target.make(rng))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_found(path: Path) -> None:
    TARGETS[path.name.partition("-")[0]][0].check(path.read_bytes())


@pytest.mark.parametrize("number", range(40))
def test_whole_runs(number: int) -> None:
    assert run_one(f"test-{number}") == ""


@pytest.mark.parametrize("number", range(2))
def test_batches(number: int) -> None:
    assert run_batch(f"test-{number}")[1] == ""


@pytest.mark.parametrize("part", range(4))
def test_hostile_values(part: int) -> None:
    """A sample of the places and values; ``python -m tests.fuzz.values`` runs all of them."""
    runs = [*values.run(0.0006, part)]
    assert len(runs) > 50
    assert not [run for run in runs if run[1]]


def test_every_expression_of_the_program_is_found() -> None:
    assert len(collect()) > 110
