"""Whether a text differs from another only in what was meant to differ."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from yaml.nodes import MappingNode, ScalarNode

from shutdownlint.fixes.location import EditLocation
from shutdownlint.manifests.reader import decode
from shutdownlint.manifests.splitter import split
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.editor import is_json
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.tree import Tree, iterate_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yaml.nodes import Node

    from shutdownlint.fixes.fix import Change

_Route = tuple[str | int, ...]


class VerificationError(Exception):
    """The changed text is not what it was meant to be."""


class IntendedChange(Struct, frozen=True):
    """An entry of a file's document that a change is about, and the way inside its text."""

    index: int
    number: int
    key_path: _Route
    inner: _Route | None
    #: It is taken out: where it stood in a list, another item stands now.
    removed: bool = False


def expected(changes: Iterable[Change]) -> list[IntendedChange]:
    """The entries that these changes are about."""
    found = []
    for change in changes:
        edit_location = EditLocation.of(change.location)
        document = edit_location.ref.document
        slots = (
            [edit_location, edit_location.beside(str(change.value))]
            if change.action == "rename"
            else [edit_location]
        )
        found += [
            IntendedChange(
                document.index,
                document.number,
                each.ref.key_path,
                each.inner,
                removed=change.action == "remove",
            )
            for each in slots
        ]
    return found


def check_text(old: bytes, new: bytes, meant: Iterable[IntendedChange]) -> None:
    """Compare all values but those that were meant to differ. Raises ``VerificationError``."""
    before, after = list(split(old)), list(split(new))
    if len(before) != len(after):
        raise VerificationError("the text would have another number of documents")
    by_index: dict[int, list[IntendedChange]] = {}
    for each in meant:
        by_index.setdefault(each.index, []).append(each)
    for one, other in zip(before, after, strict=True):
        here = by_index.get(one.index, [])
        if not here:
            if one.data != other.data:
                raise VerificationError("another document would change")
            continue
        check_piece(_text(one.data), _text(other.data), here)


def check_piece(old: str, new: str, meant: Iterable[IntendedChange]) -> None:
    """The same for the text of one piece of a file. Raises ``VerificationError``."""
    before, after = _roots(old), _roots(new)
    _compare(_values(before), _values(after), list(meant))
    if is_json(old) and not is_json(new):
        raise VerificationError("the text would not be JSON any more")
    if _twice(after) > _twice(before):
        raise VerificationError("a key would stand twice")


def _twice(roots: list[Node]) -> int:
    """How many keys stand twice in one mapping."""
    found = 0
    for root in roots:
        for node in iterate_nodes(root):
            if isinstance(node, MappingNode):
                keys = [key.value for key, _ in node.value if isinstance(key, ScalarNode)]
                found += len(keys) - len(set(keys))
    return found


def _text(data: bytes) -> str:
    try:
        return decode(data)
    except UnicodeDecodeError as error:
        raise VerificationError(f"the text would not be UTF-8: {error}") from None


def _roots(text: str) -> list[Node]:
    try:
        return compose(text)
    except ComposeError as error:
        raise VerificationError(f"the text would not parse: {error}") from None


def _values(roots: list[Node]) -> list[Any]:
    try:
        return [Tree(root).plain() for root in roots]
    except BudgetExceededError as error:
        raise VerificationError(f"the text would not parse: {error}") from None


def _compare(before: list[Any], after: list[Any], meant: list[IntendedChange]) -> None:
    if len(before) != len(after):
        raise VerificationError("the text would have another number of documents")
    before, after = copy.deepcopy(before), copy.deepcopy(after)
    for each in meant:
        for side in (before, after):
            if each.inner is not None:
                _open(side[each.number], each.key_path)
    for each in meant:
        inner = ("", *each.inner) if each.inner is not None else ()
        for side in (before, after):
            if side is after and each.removed and isinstance(each.key_path[-1], int):
                continue
            side[each.number] = without(side[each.number], (*each.key_path, *inner))
    if before != after:
        raise VerificationError("a value would change that was not meant to")


def _open(data: Any, key_path: _Route) -> None:
    """Put the YAML that an entry's text is in the entry's place, below an empty key."""
    parent = data
    for step in key_path[:-1]:
        parent = _at(parent, step)
    text = _at(parent, key_path[-1])
    if isinstance(text, str):
        try:
            roots = compose(text)
        except ComposeError as error:
            raise VerificationError(f"the text inside would not parse: {error}") from None
        parent[key_path[-1]] = {"": Tree(roots[0]).plain() if roots else None}


def _at(data: Any, step: str | int) -> Any:
    if isinstance(data, dict):
        return data.get(step)
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return data[step]
    return None


def without(data: Any, key_path: _Route) -> Any:
    """The data without that entry, and without the collections that only led to it."""
    if not key_path:
        return None
    step, rest = key_path[0], key_path[1:]
    below = _at(data, step)
    if below is None and not (isinstance(data, dict) and step in data):
        return data
    if isinstance(data, list):
        assert isinstance(step, int)
        item = without(below, rest)
        return [*data[:step], *([] if _empty(item) else [item]), *data[step + 1 :]]
    item = without(below, rest) if rest else None
    others = {key: value for key, value in data.items() if key != step}
    return others if _empty(item) else {**others, step: item}


def _empty(data: Any) -> bool:
    return data is None or data in ({}, [])
