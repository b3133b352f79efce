"""The objects of a document: its root, or the items of a List."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from yaml.nodes import ScalarNode, SequenceNode

from shutdownlint.yaml_source.tree import child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.document import Document
    from shutdownlint.yaml_source.location import KeyPath


class FoundObject(Struct, frozen=True):
    """An object of a document, with its key path."""

    kind: str
    group: str
    key_path: KeyPath


def object_places(document: Document) -> list[KeyPath]:
    """Return where the objects of a document are: its root, or the items of a List."""
    found = [each.key_path for each in find_objects(document.tree.root)]
    return found[1:] if len(found) > 1 else found


def find_objects(root: Node) -> Iterator[FoundObject]:
    """Yield the root, where it is an object, and the items of a List."""
    top = as_object(root, ())
    if top is None:
        return
    yield top
    if top.kind.endswith("List"):
        items = child(root, "items")
        if items is not None and isinstance(items.value, SequenceNode):
            for index, item in enumerate(items.value.value):
                found = as_object(item, ("items", index))
                if found is not None:
                    yield found


def as_object(node: Node, key_path: KeyPath) -> FoundObject | None:
    """Return the object at a node; None where it writes no kind or no version."""
    kind, version = _text(node, "kind"), _text(node, "apiVersion")
    if kind is None or version is None:
        return None
    group, _, rest = version.rpartition("/")
    return FoundObject(kind, group if rest else "", key_path)


def _text(node: Node, key: str) -> str | None:
    entry = child(node, key)
    if entry is None or not isinstance(entry.value, ScalarNode):
        return None
    return str(entry.value.value)
