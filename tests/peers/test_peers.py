"""The reports of shutdownlint on the cases, compared with those of kube-linter and kube-score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.peers.__main__ import SEEN, our_rules, table
from tests.peers.cases import CASES, Case

PAGE = Path(__file__).resolve().parents[2] / "docs" / "comparison.md"
#: Where we differ on purpose, with a reason on the page.
DIFFERENT = {
    "a Service of another namespace",
    "a Service without a selector",
    "no readiness probe, and no Service",
    "readiness is liveness, which is more patient",
    "readiness by a number that is not declared",
    "only a spread",
    "two replicas",
    "an autoscaler down to two",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_mistake_is_reported_and_what_is_none_is_not(case: Case) -> None:
    expected = case.mistake and case.name != "a Service of another namespace"
    assert (case.about[0] in our_rules(case)) == expected


def test_every_difference_is_explained() -> None:
    seen = json.loads(SEEN.read_text(encoding="utf-8"))
    assert set(seen) == {case.name for case in CASES}
    different = {
        name
        for name, reports in seen.items()
        if any(other not in (None, reports["shutdownlint"]) for other in reports.values())
    }
    assert different == DIFFERENT
    page = PAGE.read_text(encoding="utf-8")
    assert [
        name
        for name in different
        if f"**{name}**" not in page.lower() and f"**{name}**" not in page
    ] == []
    assert table(seen) in page
