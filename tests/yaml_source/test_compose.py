from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from shutdownlint import limits
from shutdownlint.yaml_source.composer import ComposeError, _may_nest_deep, compose
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.location import EntryPart
from shutdownlint.yaml_source.tree import Tree


def error(text: str) -> ComposeError:
    with pytest.raises(ComposeError) as caught:
        compose(text)
    return caught.value


def test_errors_have_their_place() -> None:
    found = error("a: 1\nb: c: d\n")
    assert (found.line, found.column) == (2, 5)
    assert (error("a:\n\t- 1").line, error("x: [1").reason != "") == (2, True)
    nul = error("a: \x00")
    assert (nul.line, nul.column) == (1, 4)
    assert "U+0000" in nul.reason


@pytest.mark.parametrize("opener", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused_not_crashed(opener: str) -> None:
    assert str(limits.MAX_NESTING) in error(opener * 100_000).reason


def test_an_anchor_may_be_used_twice_as_in_go() -> None:
    (root,) = compose("a: &x 1\nb: &x 2\nc: *x\n")
    assert Tree(root).to_python() == {"a": 1, "b": 2, "c": 2}


def test_equals_sign_is_a_string() -> None:
    (root,) = compose("matchType: =\n")
    assert Tree(root).to_python() == {"matchType": "="}


def test_unknown_tags_are_read_through() -> None:
    (root,) = compose("a: !Ref x\nb: !env_var [1]\n")
    assert Tree(root).to_python() == {"a": "x", "b": [1]}


def test_merge_keys_and_duplicates() -> None:
    text = (
        "base: &b {x: 1, y: 1}\nuse: {<<: *b, y: 2}\nlist: {<<: [*b, {z: 3, x: 9}]}\nd: 1\nd: 2\n"
    )
    (root,) = compose(text)
    plain = Tree(root).to_python()
    assert plain["use"] == {"x": 1, "y": 2}
    assert plain["list"] == {"x": 1, "y": 1, "z": 3}
    assert plain["d"] == 2


def test_recursive_alias_ends() -> None:
    (root,) = compose("a: &a [1, *a]\n")
    assert Tree(root).to_python() == {"a": [1, None]}


def test_alias_bomb_is_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    (root,) = compose("\n".join(lines))
    with pytest.raises(BudgetExceededError):
        Tree(root).to_python()


def test_places() -> None:
    text = 'a: 1\nb:\n  - "two"\n  - c: d\ne: |\n  text\n'
    (root,) = compose(text)
    tree = Tree(root)

    def at(*key_path: str | int, part: EntryPart = EntryPart.VALUE) -> tuple[int, int, int, int]:
        region = tree.region(key_path, part, "f", 11)
        return region.line, region.column, region.end_line, region.end_column

    assert at("a") == (11, 4, 11, 5)
    assert at("a", part=EntryPart.KEY) == (11, 1, 11, 2)
    assert at("b", 0) == (13, 5, 13, 10)
    assert at("b", 1, "c") == (14, 8, 14, 9)
    # a collection shows by its key, a missing key by its parent's, a block by its indicator
    assert at("b") == (12, 1, 12, 2)
    assert at("b", 1, "missing") == (14, 5, 14, 6)
    assert at("missing", "deeper") == (11, 1, 11, 2)
    assert at("e") == (15, 4, 15, 5)


@given(
    st.lists(st.sampled_from(["- ", "? ", "a:\n", "-\n", "[", "{a: "]), min_size=1, max_size=700),
    st.integers(1, 2),
)
def test_text_that_may_nest_deep_is_recognized(openers: list[str], step: int) -> None:
    text, column, flow = "", 0, ""
    for opener in openers:
        if opener in ("[", "{a: "):
            text, flow = text + opener, ("]" if opener == "[" else "}") + flow
        elif not flow:
            text += opener
            column += step if opener.endswith("\n") else 2
            text += " " * column if opener.endswith("\n") else ""
    text += "1" + flow
    if not _may_nest_deep(text):
        assert _depth(text) < limits.MAX_NESTING


def _depth(text: str) -> int:
    depth = deepest = 0
    try:
        for event in yaml.parse(text):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            deepest = max(deepest, depth)
    except yaml.YAMLError:
        pass
    return deepest
