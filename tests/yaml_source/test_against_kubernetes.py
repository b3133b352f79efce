"""Cases in which our reading of YAML was not that of Kubernetes' own library."""

from __future__ import annotations

from typing import Any

import pytest

from shutdownlint.yaml_source.composer import compose
from shutdownlint.yaml_source.location import EntryPart
from shutdownlint.yaml_source.tree import Tree


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("a: 1e400", {"a": "1e400"}),
        ("a: !!null", {"a": None}),
        ("a: !!odd\n", {"a": ""}),
        ("a: 1\n<<: {a: 2}\n", {"a": 2}),
        ("<<: {a: 2}\na: 1\n", {"a": 1}),
        ("a: 1\n<<: {a: 2}\na: 3\n", {"a": 3}),
        ("<<: [{a: 1}, {a: 2, b: 2}]\n", {"a": 1, "b": 2}),
        ("a: 0\n<<: [{a: 1}, {a: 2}]\n", {"a": 1}),
        ('"<<": {a: 1}\n', {"<<": {"a": 1}}),
    ],
)
def test_what_the_library_reads(text: str, data: Any) -> None:
    tree = Tree(compose(text)[0])
    assert tree.to_python() == data
    for key, value in data.items():
        entry = tree.entry((key,))
        assert entry is not None
        assert Tree(entry.value).to_python() == value


def test_the_place_is_that_of_the_value_that_counts() -> None:
    tree = Tree(compose("a: 1\n<<: {a: 2}\n")[0])
    assert tree.region(("a",), EntryPart.VALUE, "f", 1).line == 2
