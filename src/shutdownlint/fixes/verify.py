"""Whether a text differs from another only where changes are intended."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from yaml.nodes import MappingNode, ScalarNode

from shutdownlint.engine.finding import EditAction
from shutdownlint.fixes.location import EditLocation
from shutdownlint.manifests.reader import decode_text
from shutdownlint.manifests.splitter import split
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.editor import is_json
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.tree import Tree, iterate_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from yaml.nodes import Node

    from shutdownlint.engine.finding import Change
    from shutdownlint.yaml_source.location import KeyPath


class VerificationError(Exception):
    """The changed text differs from what was intended."""


class IntendedChange(Struct, frozen=True):
    """An entry that may differ: the document in the file, the key path, and the one inside it."""

    index: int
    number: int
    key_path: KeyPath
    inner: KeyPath | None
    #: It is removed: in a list, another item follows in its place.
    removed: bool = False


def intended_changes(changes: Iterable[Change]) -> list[IntendedChange]:
    """Return the entries that these changes are about."""
    found = []
    for change in changes:
        location = change.target.location if change.target is not None else None
        edit_location = EditLocation.of(location)
        document = edit_location.ref.document
        entries = [edit_location]
        if change.action is EditAction.RENAME:
            entries.append(edit_location.beside(str(change.value)))
        found += [
            IntendedChange(
                document.index,
                document.number,
                each.ref.key_path,
                each.inner,
                removed=change.action is EditAction.REMOVE,
            )
            for each in entries
        ]
    return found


def check_text(old: bytes, new: bytes, meant: Iterable[IntendedChange]) -> None:
    """Compare all values that must not differ. Raises ``VerificationError``."""
    before, after = list(split(old)), list(split(new))
    if len(before) != len(after):
        raise VerificationError("the number of documents would change")
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
    """Check the text of one piece of a file in the same way. Raises ``VerificationError``."""
    before, duplicates = _read_old(old)
    roots = _roots(new)
    _compare(list(before), _values(roots), list(meant))
    if is_json(old) and not is_json(new):
        raise VerificationError("the result is not JSON any more")
    if _count_duplicates(roots) > duplicates:
        raise VerificationError("duplicate key in the result")


@lru_cache(maxsize=2)
def _read_old(text: str) -> tuple[tuple[Any, ...], int]:
    """Return the values and duplicate keys of a text, cached: its fixes follow one another."""
    roots = _roots(text)
    return tuple(_values(roots)), _count_duplicates(roots)


def _count_duplicates(roots: list[Node]) -> int:
    """Count the keys that a mapping has more than once."""
    found = 0
    for root in roots:
        for node in iterate_nodes(root):
            if isinstance(node, MappingNode) and len(node.value) > 1:
                keys = [key.value for key, _ in node.value if isinstance(key, ScalarNode)]
                found += len(keys) - len(set(keys))
    return found


def _text(data: bytes) -> str:
    try:
        return decode_text(data)
    except UnicodeDecodeError as error:
        raise VerificationError(f"the result is not UTF-8: {error}") from None


def _roots(text: str) -> list[Node]:
    try:
        return compose(text)
    except ComposeError as error:
        raise VerificationError(f"the result is not valid YAML: {error}") from None


def _values(roots: list[Node]) -> list[Any]:
    try:
        return [Tree(root).to_python() for root in roots]
    except BudgetExceededError as error:
        raise VerificationError(f"the result is not valid YAML: {error}") from None


def _compare(before: list[Any], after: list[Any], meant: list[IntendedChange]) -> None:
    if len(before) != len(after):
        raise VerificationError("the number of documents would change")
    for each in meant:
        for side in (before, after):
            if each.inner is not None:
                side[each.number] = _with_embedded(side[each.number], each.key_path)
    for each in meant:
        inner = ("", *each.inner) if each.inner is not None else ()
        for side in (before, after):
            if side is after and each.removed and isinstance(each.key_path[-1], int):
                continue
            side[each.number] = without(side[each.number], (*each.key_path, *inner))
    if before != after:
        raise VerificationError("an unrelated value would change")


def _with_embedded(data: Any, key_path: KeyPath) -> Any:
    """Return the same data with the YAML that an entry's text contains, below an empty key."""
    if not key_path:
        if not isinstance(data, str):
            return data
        try:
            roots = compose(data)
        except ComposeError as error:
            raise VerificationError(f"the embedded text is not valid YAML: {error}") from None
        return {"": Tree(roots[0]).to_python() if roots else None}
    step = key_path[0]
    below = _at(data, step)
    if below is None:
        return data
    item = _with_embedded(below, key_path[1:])
    if isinstance(data, list):
        assert isinstance(step, int)
        return [*data[:step], item, *data[step + 1 :]]
    return {**data, step: item}


def _at(data: Any, step: str | int) -> Any:
    if isinstance(data, dict):
        return data.get(step)
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return data[step]
    return None


def without(data: Any, key_path: KeyPath) -> Any:
    """Return the data without that entry, and without the collections that only led to it."""
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
