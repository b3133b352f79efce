"""The manifests in the guides give the findings that their comments name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers import check_text, rule_lines

GUIDES = [Path(__file__).parents[1] / "docs" / "model-servers.md"]
MANIFESTS = [
    text
    for guide in GUIDES
    for text in re.findall(r"```yaml\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
]


@pytest.mark.parametrize("text", MANIFESTS)
def test_manifests_of_guides(text: str) -> None:
    expected = [
        (found[1], number)
        for number, line in enumerate(text.splitlines(), 1)
        if (found := re.search(r"# (SL\d+)$", line))
    ]
    assert expected
    assert rule_lines([f for f in check_text(text).findings if f.severity != "note"]) == expected
