"""The place where a value is edited: an entry of a document, or of YAML in one of its scalars."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from yaml.nodes import MappingNode, ScalarNode

from shutdownlint.manifests.document import EmbeddedNodeRef, NodeRef
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.edit_target import ValueFormat
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.editor import (
    Edit,
    EditError,
    Editor,
    LiteralText,
    apply_edits,
    block_text,
    common_prefix_length,
    scalar_text,
)
from shutdownlint.yaml_source.scalars import read_scalar
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from yaml.nodes import Node

    from shutdownlint.yaml_source.editor import Value
    from shutdownlint.yaml_source.location import KeyPath, SourceLocation


class EditLocation(Struct, frozen=True):
    """An entry at ``ref``; with ``inner``, at that key path of the YAML in the entry's text."""

    ref: NodeRef
    inner: KeyPath | None = None

    @classmethod
    def of(cls, location: SourceLocation | None) -> EditLocation:
        """Return where a location is edited. Raises ``EditError`` for one outside the manifests."""
        if isinstance(location, NodeRef):
            location = location.source
        if isinstance(location, EmbeddedNodeRef):
            location = location.source
            if not location.editable:
                raise EditError("the value is inside the text of another value")
            return cls(location.host, location.key_path)
        if isinstance(location, NodeRef):
            return cls(location)
        raise EditError("the value is not in a manifest")

    @property
    def key_path(self) -> tuple[str | int, ...]:
        """The whole key path, for comparisons."""
        return (*self.ref.key_path, *(("", *self.inner) if self.inner is not None else ()))

    def value(self) -> Node | None:
        """Return the node that is there."""
        if self.inner is None:
            entry = self.ref.document.tree.entry(self.ref.key_path)
            return entry.value if entry else None
        host = self.ref.document.tree.entry(self.ref.key_path)
        if host is None or not isinstance(host.value, ScalarNode):
            return None
        root = _inner_root(host.value)
        node: Node | None = root
        for step in self.inner:
            if not isinstance(node, MappingNode):
                return None
            node = next((v for k, v in reversed(node.value) if k.value == step), None)
        return node

    def beside(self, name: str) -> EditLocation:
        """Return the location of another key beside this one."""
        if self.inner is None:
            return EditLocation(self.ref.parent / name)
        return EditLocation(self.ref, (*self.inner[:-1], name))

    def set(self, value: Value) -> Edit:
        """Write a value. Raises ``EditError``."""
        return self._edit(lambda editor, key_path: editor.set(key_path, value))

    def remove(self) -> Edit:
        """Remove the entry. Raises ``EditError``."""
        if self.inner is not None and self._is_only_entry():
            return EditLocation(self.ref).remove()
        return self._edit(lambda editor, key_path: editor.remove(key_path))

    def rename(self, name: str) -> Edit:
        """Give its key another name. Raises ``EditError``."""
        return self._edit(lambda editor, key_path: editor.rename(key_path, name))

    def quote(self, value_format: ValueFormat = ValueFormat.PLAIN) -> Edit:
        """Make the scalar a string, spelled as it is. Raises ``EditError``."""
        node = self.value()
        if not isinstance(node, ScalarNode):
            raise EditError("the entry is not a scalar")
        value = str(node.value)
        truth = read_scalar(node)
        if value_format is ValueFormat.BOOL_TEXT and isinstance(truth, bool):
            value = scalar_text(truth)
        return self._edit(
            lambda editor, key_path: editor.replace_text(
                key_path, scalar_text(value, '"' if editor.json else "'")
            )
        )

    def set_number(self, number: int) -> Edit:
        """Change the only number of the text. Raises ``EditError``."""
        found = self._match(_ONE_NUMBER, "the value is part of a script")
        return self._set_number(number, f"{found[1]}{number}{found[2]}")

    def set_time(self, seconds: int, *, thousandths: bool) -> Edit:
        """Change the only time of the text. A bare number is of seconds, or of thousandths of them.

        Raises ``EditError``.
        """
        found = self._match(_ONE_TIME, "the value is part of a longer text")
        number = seconds * 1000 if thousandths and not found[2] else seconds
        return self._set_number(number, f"{found[1]}{number}{'s' if found[2] else ''}{found[3]}")

    def _match(self, pattern: re.Pattern[str], otherwise: str) -> re.Match[str]:
        """Return the match of the whole text. Raises ``EditError``, which says ``otherwise``."""
        node = self.value()
        found = pattern.fullmatch(str(node.value)) if isinstance(node, ScalarNode) else None
        if found is None:
            raise EditError(otherwise)
        return found

    def _set_number(self, number: int, text: str) -> Edit:
        """Write a number: as one where the scalar is one, else in its text."""
        node = self.value()
        assert isinstance(node, ScalarNode)
        is_number = node.style not in ("'", '"') and str(node.value).isdigit()
        return self.set(number if is_number else text)

    def _is_only_entry(self) -> bool:
        """Whether the entry is all that the host's text holds."""
        key_path, nothing = self.inner or (), ()
        parents = (
            EditLocation(self.ref, key_path[:length]).value() for length in range(len(key_path))
        )
        return all(len(getattr(node, "value", nothing)) == 1 for node in parents)

    def _edit(self, make: Callable[[Editor, KeyPath], Edit]) -> Edit:
        document = self.ref.document
        editor = Editor(document.text, document.tree.root)
        if self.inner is None:
            return make(editor, self.ref.key_path)
        entry = document.tree.entry(self.ref.key_path)
        if entry is None:
            return self._set_whole_scalar(editor, make)
        host = entry.value
        if not isinstance(host, ScalarNode):
            raise EditError("the entry is not a scalar")
        if not str(host.value).strip():
            return _embed_edit(editor, self.ref.key_path, host, "", self._initial_text(make))
        inner = str(host.value)
        root = _inner_root(host) or _empty()
        edit = make(Editor(inner, root), self.inner)
        return _embed_edit(editor, self.ref.key_path, host, inner, edit)

    def _set_whole_scalar(self, editor: Editor, make: Callable[[Editor, KeyPath], Edit]) -> Edit:
        """Write the whole scalar, which does not exist yet."""
        return editor.set(self.ref.key_path, LiteralText(self._initial_text(make).text))

    def _initial_text(self, make: Callable[[Editor, KeyPath], Edit]) -> Edit:
        """Return the whole text inside, where there was none."""
        inner = apply_edits("{}", [make(Editor("{}", _empty()), self.inner or ())])
        return Edit(0, 0, block_text(Tree(compose(inner)[0]).to_python(), 0, "\n") + "\n")


_ONE_NUMBER: Final = lazy_pattern(
    r"(\s*(?:exec +)?(?:(?:/[\w/]+/)?sleep +)?)[0-9]+(?:\.[0-9]+)?s?(\s*)"
)


#: A flag and its value, or the value alone.
_ONE_TIME: Final = lazy_pattern(
    r"(\s*(?:--?[A-Za-z][\w.-]*+(?:=|\s+))?)[0-9]+(?:\.[0-9]+)?(ms|s|m|h)?(\s*)"
)


def _empty() -> Node:
    return compose("{}")[0]


def _inner_root(host: ScalarNode) -> Node | None:
    try:
        roots = compose(str(host.value))
    except ComposeError as error:
        raise EditError(f"the text inside is not YAML: {error.reason}") from None
    return roots[0] if roots else None


def _embed_edit(
    editor: Editor, key_path: KeyPath, host: ScalarNode, inner: str, edit: Edit
) -> Edit:
    """Return an edit of the text inside a scalar, as an edit of the document."""
    text = editor.text
    start, end = host.start_mark.index, host.end_mark.index
    changed = apply_edits(inner, [edit])
    if host.style == "|":
        found = _embed_in_block(text, start, end, inner, changed)
        if found is not None:
            return found
    elif host.style != ">" and "\n" not in changed:
        quote = host.style if host.style in ("'", '"') else ""
        raw = text[start + len(quote) : end - len(quote)]
        literal = raw == inner and not set(edit.text) & set(_ESCAPED.get(quote, ""))
        if literal and (quote or scalar_text(changed) == changed):
            return edit.moved(start + len(quote))
    return _rewrite_scalar(editor, key_path, host, changed)


_ESCAPED: Final = {"'": "'", '"': '"\\'}


def _rewrite_scalar(editor: Editor, key_path: KeyPath, host: ScalarNode, text: str) -> Edit:
    """Rewrite the scalar, as a block where blocks are possible. A comment keeps its line."""
    column = editor.block_column(key_path)
    start, end = host.start_mark.index, host.end_mark.index
    if column is None or text != text.strip(" ") or "\t" in text:
        return editor.replace_text(key_path, json.dumps(text, ensure_ascii=False))
    lines = text.rstrip("\n").split("\n")
    indent = " " * (column + 2)
    head = "|" if text.endswith("\n") else "|-"
    if host.style == ">":
        header = editor.text[start : editor.line_close(start)]
        end = start + len(editor.text[start:end].rstrip())
    else:
        header = editor.text[end : editor.line_close(end)]
        end = editor.line_close(end) if "#" in header else end
    if "#" in header:
        head += f"  {header[header.index('#') :].rstrip()}"
    elif start == host.end_mark.index and editor.text[start - 1 : start] == ":":
        head = f" {head}"  # the key has no value yet
    body = (indent + line if line else "" for line in lines)
    return Edit(start, end, editor.line_end.join([head, *body]))


def _embed_in_block(text: str, start: int, end: int, inner: str, changed: str) -> Edit | None:
    """Return the lines of a literal block that change; None if it is not literal line by line."""
    header = text.find("\n", start) + 1
    if header <= 0:
        return None
    body = text[header:end].splitlines(keepends=True)
    old, new = inner.split("\n"), changed.split("\n")
    if old[-1] == "" and new[-1] == "":
        del old[-1], new[-1]
    first = next((i for i, line in enumerate(old) if line.strip()), None)
    if first is None or len(body) < len(old):
        return None
    indent = len(body[first]) - len(body[first].lstrip(" "))
    indent -= len(old[first]) - len(old[first].lstrip(" "))
    if any(own.rstrip("\r\n")[indent:] != line for own, line in zip(body, old, strict=False)):
        return None
    above = common_prefix_length(old, new)
    below = common_prefix_length(old[above:][::-1], new[above:][::-1])
    line_end = "\r\n" if body[0].endswith("\r\n") else "\n"
    begin = header + sum(map(len, body[:above]))
    close = begin + sum(map(len, body[above : len(old) - below]))
    lines = new[above : len(new) - below]
    written = "".join(f"{' ' * indent}{line}{line_end}" for line in lines)
    if not text[begin:close].endswith(("\n", "\r")) and close > begin:
        written = written.removesuffix(line_end)  # the text's last line has no end
    return Edit(begin, close, written)
