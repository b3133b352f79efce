"""A sample of the comparison with a real node, where its programs are there (``-m cluster``)."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from tests.cluster.binaries import VERSION, missing
from tests.cluster.inside import results_file
from tests.cluster.node import ROOT, inside
from tests.cluster.table import RESULT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.cluster
#: Seeds of their own, so that a sample does not replace the results of a long run.
_FIRST = 900_000


@pytest.fixture
def run_suite() -> Callable[[str, int], Any]:
    """Return a function that runs cases of a suite in a node of their own."""
    lacking = missing() if os.geteuid() == 0 else ["root"]
    if lacking:
        pytest.skip(f"no node: {', '.join(lacking)} not there (python -m tests.cluster build)")

    def run(suite: str, count: int) -> Any:
        file = results_file(suite, VERSION, _FIRST)
        file.unlink(missing_ok=True)
        words = inside(suite, VERSION, str(_FIRST), str(count))
        done = subprocess.run(words, cwd=ROOT, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        found = msgspec.json.decode(file.read_bytes(), type=RESULT_TYPES[suite])
        file.unlink()
        return found

    return run


def test_random_pods_end_as_explain_says(run_suite: Callable[[str, int], Any]) -> None:
    found = run_suite("pods", 20)
    assert sum(not pod.failure for pod in found) >= 18, [pod.failure for pod in found]
    events = [event for pod in found for event in pod.events]
    late = [event for pod in found for event in pod.wrong_events]
    # A machine that does other things too is late now and then; what is wrong is wrong by seconds.
    assert len(events) > 50
    assert len(late) <= len(events) / 20, late
    assert not [event for event in late if event[3] is None or event[3] < event[2] - 1]


def test_rollouts_leave_as_many_pods_as_explain_says(run_suite: Callable[[str, int], Any]) -> None:
    found = run_suite("rollouts", 6)
    assert not [(each.seed, each.failure or each.misses) for each in found if each.misses]
    assert any(each.is_exact for each in found)


def test_drains_are_blocked_where_explain_says_so(run_suite: Callable[[str, int], Any]) -> None:
    found = run_suite("drains", 6)
    assert not [(each.seed, each.misses) for each in found if each.misses]
    assert sum(not each.failure for each in found) == len(found)
