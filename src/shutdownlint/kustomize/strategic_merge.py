"""The entries that a strategic merge patch writes into an object, as kustomize merges.

Sources: the strategic merge patch document of Kubernetes' API conventions (merge keys, ``$patch``
directives, null); kustomize 5.5, measured: the elements of a patched list come in the order of the
patch, then the others; lists of custom resources are replaced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint import limits
from shutdownlint.manifests.document import Graft
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.scalars import read_scalar
from shutdownlint.yaml_source.tree import child, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.document import Document, Source
    from shutdownlint.yaml_source.location import KeyPath

#: Lists whose elements are merged: the keys by which they are found.
_MERGE_KEYS: Final[dict[str, tuple[str, ...]]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "secrets": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "resourceClaims": ("name",),
}
#: ``ports`` of a container and of a Service have other keys.
_CONTAINER_PORT: Final = ("containerPort", "protocol")
_SERVICE_PORT: Final = ("port", "protocol")
#: Groups whose lists are merged; of others kustomize does not know the schema.
_KNOWN_GROUPS: Final = frozenset(("", "apps", "batch", "policy", "extensions"))
_DIRECTIVE: Final = "$patch"


class ObjectRemoved(Exception):  # noqa: N818 - an outcome, no error
    """The patch removes the whole object."""


class Element(Struct, frozen=True):
    """An element of a list that is made: a new one has a source, an old one its index there."""

    node: Node
    source: Source | None = None
    index: int | None = None


def merge_patch(
    patch: Node, document: Document, at: KeyPath, source: Source, group: str
) -> list[Graft]:
    """Return what a patch writes into the object at ``at``, in the order in which it is written.

    ``source`` is the patch, ``group`` the API group of the object. Raises ``ObjectRemoved`` and
    ``BudgetExceededError``.
    """
    if _directive(patch) == "delete":
        raise ObjectRemoved
    entry = document.tree.entry(at)
    merge = _Merge(document, merges_lists=group in _KNOWN_GROUPS)
    return list(merge.merge(patch, entry.value if entry is not None else None, at, at, source))


class _Merge:
    """A merge into a document."""

    def __init__(self, document: Document, *, merges_lists: bool) -> None:
        self.document = document
        self.merges_lists = merges_lists
        self.left = limits.MAX_PATCH_STEPS

    def merge(
        self, patch: Node, target: Node | None, was: KeyPath, at: KeyPath, source: Source
    ) -> Iterator[Graft]:
        """Yield what a part of the patch writes at ``at``. ``target`` is what was at ``was``."""
        self.left -= 1
        if len(at) > limits.MAX_PATCH_DEPTH or self.left < 0:
            raise BudgetExceededError
        if isinstance(patch, MappingNode):
            yield from self._merge_mapping(patch, target, was, at, source)
        elif isinstance(patch, SequenceNode):
            keys = self._keys(at)
            if keys and isinstance(target, SequenceNode):
                yield from self._merge_list(patch, target, was, at, source, keys)
            else:
                yield Graft(at, _without_directives(patch), source)
        else:
            removes = isinstance(patch, ScalarNode) and read_scalar(patch) is None
            yield Graft(at, None if removes else patch, source)

    def _keys(self, at: KeyPath) -> tuple[str, ...]:
        name = at[-1] if at else ""
        if not self.merges_lists or not isinstance(name, str):
            return ()
        if name == "ports":
            return _SERVICE_PORT if at[-2:-1] == ("spec",) else _CONTAINER_PORT
        return _MERGE_KEYS.get(name, ())

    def _merge_mapping(
        self, patch: MappingNode, target: Node | None, was: KeyPath, at: KeyPath, source: Source
    ) -> Iterator[Graft]:
        directive = _directive(patch)
        if directive == "delete":
            yield Graft(at, None, source)
            return
        if directive == "replace" or not isinstance(target, MappingNode):
            target = None
            yield Graft(at, MappingNode(patch.tag, [], patch.start_mark, patch.end_mark), source)
        for key, value in patch.value:
            name = key_text(key)
            if name is None or name.startswith("$"):
                continue
            entry = child(target, name) if target is not None else None
            there = entry.value if entry is not None else None
            yield from self.merge(value, there, (*was, name), (*at, name), source / name)

    def _merge_list(
        self,
        patch: SequenceNode,
        target: SequenceNode,
        was: KeyPath,
        at: KeyPath,
        source: Source,
        keys: tuple[str, ...],
    ) -> Iterator[Graft]:
        left = dict(enumerate(target.value))
        items: list[Element] = []
        patches: list[tuple[int, Node, Node, int, Source]] = []
        for number, element in enumerate(patch.value):
            directive = _directive(element)
            if directive == "replace":  # of the whole list, by its other elements
                left = {}
                continue
            found = next((i for i, item in left.items() if _same(element, item, keys)), None)
            if found is None:
                if directive != "delete":
                    items.append(Element(_without_directives(element), source / number))
                continue
            old = left.pop(found)
            if directive != "delete":
                rest = _without(element, keys[0])
                patches.append((len(items), rest, old, found, source / number))
                items.append(Element(old, index=found))
        items += [Element(item, index=index) for index, item in left.items()]
        if [item.index for item in items] != list(range(len(target.value))):
            yield from list_grafts(self.document, was, at, items)
        for index, element, old, before, own in patches:
            yield from self.merge(element, old, (*was, before), (*at, index), own)


def list_grafts(
    document: Document, was: KeyPath, at: KeyPath, items: list[Element]
) -> Iterator[Graft]:
    """Yield the grafts that turn the list at ``was`` into one of these elements, at ``at``."""
    entry = document.tree.entry(was)
    if entry is None:
        return
    nodes, old = [element.node for element in items], entry.value
    place = document.source_of(document.ref(*was))
    yield Graft(at, SequenceNode(old.tag, nodes, old.start_mark, old.end_mark), place)
    for index, element in enumerate(items):
        if element.source is not None:
            yield Graft((*at, index), element.node, element.source)
        elif element.index is not None:
            old_path = (*was, element.index)
            source = document.source_of(document.ref(*old_path))
            yield Graft((*at, index), element.node, source)
            for graft in document.grafts_below(old_path):
                yield replace(graft, key_path=(*at, index, *graft.key_path[len(old_path) :]))


def _directive(node: Node) -> str:
    entry = child(node, _DIRECTIVE) if isinstance(node, MappingNode) else None
    found = entry is not None and isinstance(entry.value, ScalarNode)
    return str(entry.value.value) if entry is not None and found else ""


def _without(node: Node, name: str) -> Node:
    """Return an element without its own name, which is written where the element is."""
    entries = [(key, value) for key, value in node.value if key_text(key) != name]
    return MappingNode(node.tag, entries, node.start_mark, node.end_mark)


def _without_directives(node: Node) -> Node:
    """Return what a part of a patch adds to an empty place, where directives have no effect."""
    if isinstance(node, MappingNode):
        entries = [
            (key, _without_directives(value))
            for key, value in node.value
            if key_text(key) != _DIRECTIVE
        ]
        return MappingNode(node.tag, entries, node.start_mark, node.end_mark)
    if isinstance(node, SequenceNode):
        items = [_without_directives(n) for n in node.value if _directive(n) == ""]
        return SequenceNode(node.tag, items, node.start_mark, node.end_mark)
    return node


def _same(patch: Node, item: Node, keys: tuple[str, ...]) -> bool:
    """Whether an element of the patch means this element; the first key must be there."""
    for number, key in enumerate(keys):
        wanted, own = child(patch, key), child(item, key)
        if wanted is None or own is None:
            if number == 0:
                return False
            continue
        if str(wanted.value.value) != str(own.value.value):
            return False
    return True
