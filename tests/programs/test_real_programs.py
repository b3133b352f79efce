"""Predictions for programs, against what the real ones did."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.programs.cases import CASES, Case
from tests.programs.compare import Result, compare, load
from tests.programs.predict import predict
from tests.programs.run import missing
from tests.shell.conformance.run import can_run

if TYPE_CHECKING:
    from pathlib import Path

MEASURED = load()
#: One of each kind, for every change; ``python -m tests.programs`` runs all.
SAMPLE = CASES[::2]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_predictions_fit_what_was_seen(case: Case, tmp_path: Path) -> None:
    assert Result(case, predict(case, tmp_path), MEASURED[case.name]).problems == []


def test_most_programs_have_a_certain_verdict(tmp_path: Path) -> None:
    certain = [case.name for case in CASES if predict(case, tmp_path).certain]
    # Of the others their own code decides.
    assert len(certain) >= len(CASES) * 7 // 10


@pytest.mark.slow
@pytest.mark.skipif(not can_run(), reason="no pid namespace can be made here")
def test_the_programs_of_this_machine(tmp_path: Path) -> None:
    here = [case for case in SAMPLE if not missing(case)]
    if not here:
        pytest.skip("none of the programs is installed")
    results = compare(here, tmp_path)
    assert [p for result in results for p in result.problems] == []
    assert [result.case.name for result in results if result.seen is None] == []
