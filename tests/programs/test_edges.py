"""Real edges with random settings and requests: 200 requests each, predicted against seen."""

from __future__ import annotations

import pytest

from tests.programs.edges import EDGES, find_case, run_edge
from tests.programs.run import missing
from tests.shell.conformance.run import can_run

pytestmark = pytest.mark.slow

REQUESTS, SEED = 200, 11


@pytest.mark.parametrize("edge", list(EDGES))
def test_an_edge_answers_as_predicted(edge: str) -> None:
    if not can_run():
        pytest.skip("a pid namespace cannot be made here")
    if missing(find_case(edge)):
        pytest.skip(f"{edge} is not installed")
    found = run_edge(edge, REQUESTS, SEED)
    assert found.requests >= REQUESTS
    # A busy machine may delay a request past an event that is half a second away.
    assert len(found.unlike) <= found.requests * 0.01, found.unlike
