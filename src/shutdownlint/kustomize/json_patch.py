"""The entries that a JSON patch (RFC 6902) writes into an object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint.kustomize.strategic_merge import Element, list_grafts
from shutdownlint.manifests.document import Graft
from shutdownlint.numbers import read_whole
from shutdownlint.yaml_source.tree import child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.document import Document, Source
    from shutdownlint.yaml_source.location import KeyPath


class JsonPatchError(Exception):
    """An operation that cannot be applied: kustomize fails on it. The text says why."""


class Operation:
    """One operation of a patch. Raises ``JsonPatchError`` if it is not one."""

    def __init__(self, node: Node, source: Source) -> None:
        self.source = source / "value"
        self.place = source / "path"
        self.name = _text(node, "op")
        self.path = _pointer(_text(node, "path"))
        self.start = _text(node, "from")
        value = child(node, "value") if isinstance(node, MappingNode) else None
        self.value = value.value if value is not None else None

    def grafts(self, document: Document, root: KeyPath) -> Iterator[Graft]:
        """Yield what it writes into the object at ``root``. Raises ``JsonPatchError``."""
        if self.name == "test":
            return
        if self.name in ("add", "replace") and self.value is not None:
            key_path = _resolve(document, root, self.path)
            yield from _write(
                document, key_path, self.value, self.source, inserts=self.name == "add"
            )
        elif self.name == "remove":
            yield from _remove(document, _resolve(document, root, self.path), self.place)
        elif self.name in ("copy", "move"):
            origin = _resolve(document, root, _pointer(self.start))
            entry = document.tree.entry(origin)
            if entry is None and self.name == "copy" and isinstance(origin[-1], str):
                # The library that kustomize uses copies nothing then.
                yield Graft(_resolve(document, root, self.path), None, self.place)
                return
            if entry is None:
                raise JsonPatchError(f"{self.start} does not exist")
            source = document.source_of(document.ref(*origin))
            target = _resolve(document, root, self.path)
            if self.name == "move":
                if target[: len(origin)] == origin or isinstance(origin[-1], int):
                    raise JsonPatchError(f"{self.start} cannot be moved")
                yield from _remove(document, origin, self.place)
            yield from _write(document, target, entry.value, source, inserts=True)
        else:
            raise JsonPatchError(f"{self.name or 'nothing'} is not an operation with a value")


def read_operations(node: Node, source: Source) -> list[Operation]:
    """Return the operations of a patch. Raises ``JsonPatchError``."""
    if not isinstance(node, SequenceNode):
        raise JsonPatchError("it is not a list of operations")
    return [Operation(each, source / number) for number, each in enumerate(node.value)]


def _text(node: Node, key: str) -> str:
    entry = child(node, key) if isinstance(node, MappingNode) else None
    return str(entry.value.value) if entry and isinstance(entry.value, ScalarNode) else ""


def _pointer(text: str) -> list[str]:
    if not text.startswith("/"):
        return []
    return [step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/")]


def _resolve(document: Document, root: KeyPath, pointer: list[str]) -> KeyPath:
    """Return the key path of a pointer; everything above its last step has to be there."""
    text = "/" + "/".join(pointer)
    if not pointer:
        raise JsonPatchError("an operation has no path")
    key_path = root
    for number, step in enumerate(pointer):
        entry = document.tree.entry(key_path)
        if entry is None:
            raise JsonPatchError(f"{text} does not exist")
        if isinstance(entry.value, SequenceNode):
            length = len(entry.value.value)
            last = number == len(pointer) - 1
            index = length if step == "-" and last else _index(step)
            if index > length or (index == length and not last):
                raise JsonPatchError(f"{text} does not exist")
            key_path = (*key_path, index)
        elif isinstance(entry.value, MappingNode):
            key_path = (*key_path, step)
        else:
            raise JsonPatchError(f"{text} does not exist")
    return key_path


def _index(step: str) -> int:
    number = read_whole(step, 6)
    if number is None:
        raise JsonPatchError(f"{step} is not the number of an element")
    return number


def _elements(document: Document, at: KeyPath) -> list[Element]:
    entry = document.tree.entry(at)
    if entry is None or not isinstance(entry.value, SequenceNode):
        raise JsonPatchError(f"{_shown(at)} is not a list")
    return [Element(node, index=index) for index, node in enumerate(entry.value.value)]


def _write(
    document: Document, key_path: KeyPath, value: Node, source: Source, *, inserts: bool
) -> Iterator[Graft]:
    step = key_path[-1]
    if isinstance(step, int) and inserts:
        items = _elements(document, key_path[:-1])
        items.insert(step, Element(value, source))
        yield from list_grafts(document, key_path[:-1], key_path[:-1], items)
    elif isinstance(step, str) or document.tree.entry(key_path) is not None:
        # The library that kustomize uses also replaces keys that are not there.
        yield Graft(key_path, value, source)
    else:
        raise JsonPatchError(f"{_shown(key_path)} does not exist")


def _remove(document: Document, key_path: KeyPath, source: Source) -> Iterator[Graft]:
    if document.tree.entry(key_path) is None:
        raise JsonPatchError(f"{_shown(key_path)} does not exist")
    step, above = key_path[-1], key_path[:-1]
    if isinstance(step, int):
        items = _elements(document, above)
        del items[step]
        yield from list_grafts(document, above, above, items)
    else:
        yield Graft(key_path, None, source)


def _shown(key_path: KeyPath) -> str:
    return "/" + "/".join(map(str, key_path))
