"""Edits of YAML text: the smallest that does it, everything else as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from shutdownlint.fixes.verify import without
from shutdownlint.yaml_source.composer import compose
from shutdownlint.yaml_source.editor import (
    Edit,
    EditError,
    Editor,
    LiteralText,
    apply_edits,
    block_text,
    scalar_text,
)
from shutdownlint.yaml_source.tree import Tree

TEXT = """\
# top
spec:  # the spec
  # the containers
  containers:
    - name: app   # c
      image: i
      env:
        - name: A
          value: "1"
        - name: B
          value: x
      ports: [{containerPort: 80, name: web}]
  flow: {a: 1, b: {c: 2}}
  empty:
  nothing: ~
  quoted: 'yes'
  block: |
    a
    b
  last: z
"""


def edited(text: str, change: Any) -> str:
    (root,) = compose(text)
    return apply_edits(text, [change(Editor(text, root))])


def lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the removed and the added lines."""
    old, new = before.splitlines(), after.splitlines()
    return [line for line in old if line not in new], [line for line in new if line not in old]


@pytest.mark.parametrize(
    ("key_path", "value", "gone", "new"),
    [
        (("spec", "last"), "w", ["  last: z"], ["  last: w"]),
        (("spec", "quoted"), "it's", ["  quoted: 'yes'"], ["  quoted: 'it''s'"]),
        (("spec", "quoted"), 5, ["  quoted: 'yes'"], ["  quoted: 5"]),
        (("spec", "grace"), 40, [], ["  grace: 40"]),
        (("spec", "a", "b"), "no", [], ["  a:", "    b: 'no'"]),
        (
            ("spec", "containers", 0, "lifecycle", "preStop"),
            5,
            [],
            ["      lifecycle:", "        preStop: 5"],
        ),
        (
            ("spec", "flow", "b", "n"),
            "x y",
            ["  flow: {a: 1, b: {c: 2}}"],
            ["  flow: {a: 1, b: {'n': x y, c: 2}}"],
        ),
        (("spec", "empty", "key"), 1, [], ["    key: 1"]),
        (("spec", "nothing", "key"), 1, ["  nothing: ~"], ["  nothing: {key: 1}"]),
        (("new",), 1, [], ["new: 1"]),
        (
            ("spec", "containers", 0, "ports", 0, "name"),
            "http",
            ["      ports: [{containerPort: 80, name: web}]"],
            ["      ports: [{containerPort: 80, name: http}]"],
        ),
    ],
)
def test_set(key_path: Any, value: Any, gone: list[str], new: list[str]) -> None:
    after = edited(TEXT, lambda editor: editor.set(key_path, value))
    assert lines(TEXT, after) == (gone, new)
    assert Tree(compose(after)[0]).to_python(key_path) == value


@pytest.mark.parametrize(
    ("key_path", "gone", "new"),
    [
        (("spec", "last"), ["  last: z"], []),
        (("spec", "block"), ["  block: |", "    a", "    b"], []),
        (("spec", "containers", 0, "env", 0), ["        - name: A", '          value: "1"'], []),
        (
            ("spec", "containers", 0, "env", 1, "name"),
            ["        - name: B", "          value: x"],
            ["        - value: x"],
        ),
        (("spec", "flow", "a"), ["  flow: {a: 1, b: {c: 2}}"], ["  flow: {b: {c: 2}}"]),
        # a collection that would be left empty goes with its last entry
        (("spec", "flow", "b", "c"), ["  flow: {a: 1, b: {c: 2}}"], ["  flow: {a: 1}"]),
        (
            ("spec", "containers", 0, "ports", 0, "containerPort"),
            ["      ports: [{containerPort: 80, name: web}]"],
            ["      ports: [{name: web}]"],
        ),
    ],
)
def test_remove(key_path: Any, gone: list[str], new: list[str]) -> None:
    after = edited(TEXT, lambda editor: editor.remove(key_path))
    assert lines(TEXT, after) == (gone, new)
    assert Tree(compose(after)[0]).entry(key_path) is None or key_path[-1] == 0


def test_rename() -> None:
    after = edited(TEXT, lambda editor: editor.rename(("spec", "last"), "final"))
    assert lines(TEXT, after) == (["  last: z"], ["  final: z"])


@pytest.mark.parametrize(
    ("text", "change", "reason"),
    [
        (TEXT, lambda e: e.remove(("spec", "containers", 0, "name")), "comment"),
        (TEXT, lambda e: e.set(("spec", "block"), "x"), "block of text"),
        (TEXT, lambda e: e.set(("spec", "containers"), 1), "something else"),
        (TEXT, lambda e: e.set(("spec", "containers", 3, "x"), 1), "no such item"),
        (TEXT, lambda e: e.remove(("spec", "absent")), "no such entry"),
        (TEXT, lambda e: e.remove(()), "whole document"),
        ("a: &x {b: 1}\nc: *x\n", lambda e: e.set(("c", "b"), 2), "anchor"),
        ("a: &x {b: 1}\nc: *x\n", lambda e: e.set(("a", "b"), 2), "anchor"),
        ("a: &x {b: 1}\nc: {<<: *x, d: 1}\n", lambda e: e.set(("c", "b"), 2), "merge"),
        ("a: {b: 1} # c\n", lambda e: e.set(("a", "b", "c"), 2), "something else"),
        ("a: [1, # one\n  2]\n", lambda e: e.remove(("a", 0)), "comment"),
    ],
)
def test_refused(text: str, change: Any, reason: str) -> None:
    with pytest.raises(EditError, match=reason):
        edited(text, change)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_line_ends_and_missing_last_ones_stay(line_end: str) -> None:
    text = TEXT.replace("\n", line_end).removesuffix(line_end)
    after = edited(text, lambda editor: editor.set(("spec", "a"), LiteralText("x\ny\n")))
    assert not after.endswith("\n")
    assert after.count("\r\n") == (after.count("\n") if line_end == "\r\n" else 0)
    assert Tree(compose(after)[0]).to_python(("spec", "a")) == "x\ny\n"
    last = edited(text, lambda editor: editor.remove(("spec", "last")))
    assert Tree(compose(last)[0]).entry(("spec", "last")) is None


def test_json_stays_json() -> None:
    text = '{\n  "spec": {\n    "a": "x"\n  }\n}\n'
    after = edited(text, lambda editor: editor.set(("spec", "b", "c"), "y"))
    assert json.loads(after) == {"spec": {"a": "x", "b": {"c": "y"}}}
    assert json.loads(edited(after, lambda editor: editor.remove(("spec", "a")))) == {
        "spec": {"b": {"c": "y"}}
    }


@pytest.mark.parametrize(
    ("value", "quote", "text"),
    [
        (True, "", "true"),
        (5, "", "5"),
        ("x", "", "x"),
        ("5", "", "'5'"),
        ("yes", "", "'yes'"),
        ("a: b", "", "'a: b'"),
        ("a, b", "", "'a, b'"),
        ("", "", "''"),
        ("x", '"', '"x"'),
        ("it's", "'", "'it''s'"),
        ("a\nb", "", '"a\\nb"'),
        ("30s", "", "30s"),
    ],
)
def test_scalars(value: Any, quote: str, text: str) -> None:
    assert scalar_text(value, quote) == text
    assert Tree(compose(f"[{text}]")[0]).to_python() == [value]


def test_collisions() -> None:
    with pytest.raises(EditError, match="one place"):
        apply_edits("abcdef", [Edit(0, 3, "x"), Edit(2, 4, "y")])
    assert apply_edits("abc", [Edit(1, 1, "x"), Edit(1, 1, "x")]) == "axbc"


def test_blocks_indent_like_their_neighbours() -> None:
    assert block_text({"a": {"b": 1}}, 4, "\r\n", 4) == "    a:\r\n        b: 1"
    wide = "spec:\n    a: 1\n"
    assert edited(wide, lambda e: e.set(("spec", "b", "c"), 2)) == (
        "spec:\n    b:\n        c: 2\n    a: 1\n"
    )


KEYS = st.sampled_from(["a", "b", "n", "yes", "x y", "é", "'q'", "#h"])
LEAVES = st.integers(-5, 99) | st.booleans() | st.sampled_from(["x", "yes", "5", "", "a: b", "é\n"])
DATA = st.recursive(
    LEAVES,
    lambda inner: (
        st.dictionaries(KEYS, inner, min_size=1, max_size=3)
        | st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Random data, written by another library, with comments here and there."""
    data = draw(st.dictionaries(KEYS, DATA, min_size=1, max_size=4))
    text = yaml.safe_dump(
        data,
        allow_unicode=True,
        sort_keys=False,
        default_flow_style=draw(st.sampled_from([None, True, False])),
        width=10**6,
    )
    if draw(st.booleans()):
        text = "".join(
            f"{line}  # c\n"
            if not line.endswith(("|", "-", "+")) and '"' not in line and draw(st.booleans())
            else f"{line}\n"
            for line in text.splitlines()
        )
    return text


def routes(data: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [above] if above else []
    entries = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in entries:
        found += routes(value, (*above, key))
    return found


@settings(max_examples=600, deadline=None)
@given(documents(), st.data())
def test_an_edit_changes_what_it_is_about_and_nothing_else(text: str, data: st.DataObject) -> None:
    roots = compose(text)
    before = Tree(roots[0]).to_python()
    key_path = data.draw(st.sampled_from(routes(before)))
    remove = data.draw(st.booleans())
    try:
        after = edited(
            text, lambda e: e.remove(key_path) if remove else e.set((*key_path, "new"), 7)
        )
    except EditError:
        return
    left = compose(after)
    if not left:
        assert remove
        return
    root = left[0]
    now = Tree(root).to_python()
    if remove:
        assert _pruned(before, key_path) == _pruned(now, ())
    else:
        assert Tree(root).to_python((*key_path, "new")) == 7
        assert _pruned(now, (*key_path, "new")) == _pruned(before, ())
    assert after.count("# c") == text.count("# c") or remove


def _pruned(data: Any, key_path: tuple[Any, ...]) -> Any:
    """Return the data without the entry at the route, and without what is empty then."""
    return _emptied(without(data, key_path) if key_path else data)


def _emptied(data: Any) -> Any:
    if isinstance(data, dict):
        items = {key: _emptied(value) for key, value in data.items()}
        return {key: value for key, value in items.items() if value not in (None, {}, [])}
    if isinstance(data, list):
        return [value for item in data if (value := _emptied(item)) not in (None, {}, [])]
    return data
