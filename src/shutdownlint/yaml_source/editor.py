"""Small edits of YAML text at the positions of its nodes; the rest stays as it is written.

An edit never touches what it is not about: comments, quotes, line ends and the rest stay as they
are. What cannot be done so is refused with ``EditError``.
"""

from __future__ import annotations

import io
import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.scalars import read_scalar
from shutdownlint.yaml_source.tree import child, key_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from yaml.nodes import Node

    from shutdownlint.yaml_source.location import KeyPath

Scalar = str | int | bool
Value = Scalar | dict[str, Any]
_STEP: Final = 2


class EditError(Exception):
    """An edit that cannot be made without touching more than it is about."""


class LiteralText(str):
    """Text that is written as a literal block, where blocks are possible."""

    __slots__ = ()


class Edit(Struct, frozen=True, order=True):
    """Replace the characters from ``start`` to ``end`` (offsets in a text) by ``text``."""

    start: int
    end: int
    text: str

    def moved(self, by: int) -> Edit:
        """Return the same edit in a text that begins earlier."""
        return Edit(self.start + by, self.end + by, self.text)


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with these edits. Raises ``EditError`` where two of them collide."""
    out, at = [], 0
    for edit in sorted(set(edits)):
        if edit.start < at:
            raise EditError("two edits of one place")
        out += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*out, text[at:]])


def common_prefix_length(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many items (characters, lines) at the start are the same."""
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def is_json(text: str) -> bool:
    """Whether a text is a JSON object, and not only YAML."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def scalar_text(value: Scalar, quote: str = "") -> str:
    """Return a scalar as YAML, in quotes of that kind, or plain where it reads back the same."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if quote == '"' or any(ord(letter) < 32 for letter in value):
        return json.dumps(value, ensure_ascii=False)
    if not quote and _reads_back(value):
        return value
    return "'" + value.replace("'", "''") + "'"


def _reads_back(value: str) -> bool:
    """Whether a plain scalar of this text is this string, also inside a flow collection."""
    try:
        roots = compose(f"[{value}]")
    except ComposeError:
        return False
    items = roots[0].value if len(roots) == 1 else []
    return len(items) == 1 and isinstance(items[0], ScalarNode) and read_scalar(items[0]) == value


def block_text(value: Value, indent: int, line_end: str, step: int = _STEP) -> str:
    """Return a mapping as block YAML whose lines begin ``indent`` further in."""
    # Only where something is written.
    from ruamel.yaml import YAML  # noqa: PLC0415 - for fixes only
    from ruamel.yaml.scalarstring import LiteralScalarString  # noqa: PLC0415 - the same

    writer = YAML()
    writer.representer.add_representer(
        LiteralText,
        lambda representer, text: representer.represent_literal_scalarstring(
            LiteralScalarString(text)
        ),
    )
    # Its own rules for plain text are those of YAML 1.2, where "no" is a word.
    writer.representer.add_representer(
        str,
        lambda representer, text: representer.represent_scalar(
            "tag:yaml.org,2002:str", text, style=None if _reads_back(text) else "'"
        ),
    )
    writer.indent(mapping=step, sequence=step + 2, offset=step)
    writer.width = 10**6
    out = io.StringIO()
    writer.dump(value, out)
    lines = out.getvalue().splitlines()
    return line_end.join(" " * indent + line if line else line for line in lines)


def _flow_text(value: Any, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        inner = (f"{scalar_text(k)}: {_flow_text(v, as_json=False)}" for k, v in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list):
        return f"[{', '.join(_flow_text(item, as_json=False) for item in value)}]"
    return scalar_text(value)


class Editor:
    """Makes edits of one document; ``text`` is what its nodes' marks count in."""

    def __init__(self, text: str, root: Node) -> None:
        self.text = text
        self.root = root
        self.line_end = "\r\n" if "\r\n" in text else "\n"
        #: Whether the text is JSON, and must stay it.
        self.json = is_json(text)

    def set(self, key_path: KeyPath, value: Value) -> Edit:
        """Give the entry at ``key_path`` a value, with whatever is missing above it."""
        node, depth = self.root, 0
        for step in key_path:
            found = self._below(node, step)
            if found is None:
                break
            node, depth = found, depth + 1
        if depth == len(key_path):
            return self._replace(node, value)
        for step in reversed(key_path[depth + 1 :]):
            if not isinstance(step, str):
                raise EditError("there is no such item")
            value = {step: value}
        key = key_path[depth]
        if not isinstance(key, str):
            raise EditError("there is no such item")
        return self._insert(key_path[:depth], node, {key: value})

    def replace_text(self, key_path: KeyPath, text: str) -> Edit:
        """Put this YAML in the place of the value at ``key_path``."""
        node = self._node(key_path)
        return Edit(node.start_mark.index, self._end(node), text)

    def rename(self, key_path: KeyPath, name: str) -> Edit:
        """Give the key of the entry at ``key_path`` another name."""
        key = self._entry(key_path)[1]
        style = getattr(key, "style", None)
        quote = style if style in ("'", '"') else ""
        return Edit(key.start_mark.index, key.end_mark.index, scalar_text(name, quote))

    def remove(self, key_path: KeyPath) -> Edit:
        """Remove the entry at ``key_path``, and a collection that would be left empty."""
        if not key_path:
            raise EditError("the whole document would go")
        parent = self._node(key_path[:-1])
        self._own(parent)
        if len(parent.value) == 1 and len(key_path) > 1:
            return self.remove(key_path[:-1])
        self._node(key_path)
        number = key_path[-1] if isinstance(parent, SequenceNode) else self._entry(key_path)[0]
        assert isinstance(number, int)
        if getattr(parent, "flow_style", False):
            return self._remove_from_flow(parent, number)
        return self._remove_lines(parent, number)

    def _begin(self, parent: Node, number: int) -> int:
        entry = parent.value[number]
        first = entry[0] if isinstance(parent, MappingNode) else entry
        self._own(first)
        return int(first.start_mark.index)

    def _close(self, parent: Node, number: int) -> int:
        entry = parent.value[number]
        return self._end(entry[1] if isinstance(parent, MappingNode) else entry)

    def block_column(self, key_path: KeyPath) -> int | None:
        """Return the column of the entry's key, if a block of text can follow it."""
        for length in range(len(key_path)):
            if getattr(self._node(key_path[:length]), "flow_style", False):
                return None
        key = self._key_of(key_path)
        return None if key is None else int(key.start_mark.column)

    def _node(self, key_path: KeyPath) -> Node:
        node = self.root
        for step in key_path:
            found = self._below(node, step)
            if found is None:
                raise EditError("there is no such entry")
            node = found
        return node

    def _below(self, node: Node, step: str | int) -> Node | None:
        """Return the entry's value, which must be here and nowhere else."""
        found = child(node, step)
        if found is None:
            return None
        if found.key is not None and all(found.key is not key for key, _ in node.value):
            raise EditError("a merge key brings it in from another place")
        self._own(found.value)
        return found.value

    def _own(self, node: Node) -> None:
        if id(node) in _shared(self.root):
            raise EditError("an anchor shares this text with another place")

    def _entry(self, key_path: KeyPath) -> tuple[int, Node]:
        """Return the number and key of a mapping's entry; of duplicates the one that counts."""
        parent = self._node(key_path[:-1])
        if isinstance(parent, MappingNode):
            for number, (key, _) in reversed(list(enumerate(parent.value))):
                if key_text(key) == key_path[-1]:
                    return number, key
        raise EditError("there is no such entry")

    def _replace(self, node: Node, value: Value) -> Edit:
        if isinstance(value, dict) or not isinstance(node, ScalarNode):
            raise EditError("there is something else in that place")
        if node.style in ("|", ">"):
            raise EditError("there is a block of text in that place")
        quote = node.style if node.style in ("'", '"') and isinstance(value, str) else ""
        text = scalar_text(value, '"' if self.json else quote)
        at = node.start_mark.index
        if at == node.end_mark.index and self.text[at - 1 : at] == ":":
            text = f" {text}"  # there is nothing behind the key yet
        return Edit(at, node.end_mark.index, text)

    def _insert(self, above: KeyPath, node: Node, value: dict[str, Any]) -> Edit:
        if isinstance(node, ScalarNode):
            return self._fill(above, node, value)
        if not isinstance(node, MappingNode):
            raise EditError("there is something else in that place")
        if node.flow_style:
            as_json = self.json or self._is_json(node)
            (added, inner) = next(iter(value.items()))
            name = json.dumps(added, ensure_ascii=False) if as_json else scalar_text(added)
            text = f"{name}: {_flow_text(inner, as_json=as_json)}"
            at = node.start_mark.index + 1
            return Edit(at, at, text + (", " if node.value else ""))
        first = node.value[0][0]
        column = first.start_mark.column
        step = self._step(above, column)
        start = first.start_mark.index
        lead = self.text[self._line_start(start) : start]
        if lead.strip(" ") == "":
            # Right below the parent's key, above comments that belong to the first entry.
            key = self._key_of(above)
            if key is not None and key.end_mark.line < first.start_mark.line:
                at = self.line_close(key.end_mark.index)
                return Edit(at, at, self.line_end + block_text(value, column, self.line_end, step))
            at = self._line_start(start)
            return Edit(at, at, block_text(value, column, self.line_end, step) + self.line_end)
        # The first entry of a list's item is behind its dash: go below it and its like.
        at = self.line_close(self._end(node.value[self._last_simple(node)][1]))
        return Edit(at, at, self.line_end + block_text(value, column, self.line_end, step))

    def _last_simple(self, node: MappingNode) -> int:
        """Return the last of the scalars that a mapping begins with, line below line."""
        number = 0
        for number, (_, value) in enumerate(node.value):
            if not isinstance(value, ScalarNode) or value.style in ("|", ">"):
                return max(number - 1, 0)
            if value.start_mark.line != node.start_mark.line + number:
                return max(number - 1, 0)
            if id(value) in _shared(self.root):
                return max(number - 1, 0)
        return number

    def _fill(self, above: KeyPath, node: ScalarNode, value: dict[str, Any]) -> Edit:
        """Fill an empty place after a key."""
        if read_scalar(node) is not None or not above:
            raise EditError("there is something else in that place")
        if node.end_mark.index > node.start_mark.index:
            text = _flow_text(value, as_json=self.json)
            return Edit(node.start_mark.index, node.end_mark.index, text)
        key = self._key_of(above)
        if key is None:
            raise EditError("there is something else in that place")
        indent = key.start_mark.column + _STEP
        at = self.line_close(key.end_mark.index)
        return Edit(at, at, self.line_end + block_text(value, indent, self.line_end))

    def _is_json(self, node: MappingNode) -> bool:
        keys = [key for key, _ in node.value]
        return bool(keys) and all(getattr(key, "style", None) == '"' for key in keys)

    def _key_of(self, key_path: KeyPath) -> Node | None:
        if not key_path or not isinstance(key_path[-1], str):
            return None
        return self._entry(key_path)[1]

    def _step(self, above: KeyPath, column: int) -> int:
        """Return the indentation of this text, as seen at the parent."""
        key = self._key_of(above)
        step = column - key.start_mark.column if key is not None else _STEP
        return step if 1 <= step <= 8 else _STEP

    def _end(self, node: Node) -> int:
        """Return where a node's text ends; marks of block collections reach to the next token."""
        self._own(node)
        if isinstance(node, ScalarNode) or getattr(node, "flow_style", False):
            start: int = node.start_mark.index
            end: int = node.end_mark.index
            if isinstance(node, ScalarNode) and node.style in ("|", ">"):
                return start + len(self.text[start:end].rstrip())
            return end
        last = node.value[-1]
        return self._end(last[1] if isinstance(node, MappingNode) else last)

    def _line_start(self, at: int) -> int:
        return max(self.text.rfind("\n", 0, at), self.text.rfind("\r", 0, at)) + 1

    def line_close(self, at: int) -> int:
        """Return the end of the line (before its break) that this offset is on."""
        found = [i for i in (self.text.find("\r", at), self.text.find("\n", at)) if i >= 0]
        return min(found, default=len(self.text))

    def _remove_from_flow(self, parent: Node, number: int) -> Edit:
        start, end = self._begin(parent, number), self._close(parent, number)
        edit = Edit(start, end, "")
        if number + 1 < len(parent.value):
            edit = Edit(start, self._begin(parent, number + 1), "")
        elif number:
            edit = Edit(self._close(parent, number - 1), end, "")
        if "#" in self.text[edit.start : start] + self.text[end : edit.end]:
            raise EditError("there is a comment in between")
        return edit

    def _remove_lines(self, parent: Node, number: int) -> Edit:
        start, end = self._begin(parent, number), self._close(parent, number)
        begin, close = self._line_start(start), self.line_close(end)
        lead, after = self.text[begin:start].strip(), self.text[end:close].strip()
        if after and not after.startswith("#"):
            raise EditError("there is something else on its line")
        if lead == ("-" if isinstance(parent, SequenceNode) else ""):
            stop = close + (2 if self.text.startswith("\r\n", close) else 1)
            return Edit(begin, min(stop, len(self.text)), "")
        if lead.strip("- ") or number + 1 >= len(parent.value):
            raise EditError("there is something else on its line")
        # The first entry of a list's item: the next one takes its place behind the dash.
        following = self._begin(parent, number + 1)
        if "#" in self.text[end:following]:
            raise EditError("there is a comment in between")
        return Edit(start, following, "")


@lru_cache(maxsize=1)
def _shared(root: Node) -> set[int]:
    """Return the nodes that are reached on more than one way: anchors with their aliases."""
    seen: set[int] = set()
    twice: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            twice.add(id(node))
            continue
        seen.add(id(node))
        if isinstance(node, MappingNode):
            stack.extend(part for entry in node.value for part in entry)
        elif isinstance(node, SequenceNode):
            stack.extend(node.value)
    return twice
