"""Pods with what a policy writes into them: each value keeps the place where it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint.manifests.document import Document, EmbeddedNodeRef, Graft, NodeRef
from shutdownlint.manifests.workloads import read_template
from shutdownlint.yaml_source.scalars import UNTAGGED
from shutdownlint.yaml_source.tree import Tree, child

if TYPE_CHECKING:
    from collections.abc import Sequence

    from yaml.nodes import Node

    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.yaml_source.location import EntryPart, KeyPath, Region


class PatchedDocument(Document):
    """A document with values of other documents in it."""

    base: Document | None = None
    grafts: tuple[Graft, ...] = ()

    @classmethod
    def of(cls, document: Document, grafts: Sequence[Graft]) -> PatchedDocument:
        """Return the document with these values; later ones replace earlier ones."""
        if isinstance(document, PatchedDocument):
            patched = replace(document, grafts=(*document.grafts, *grafts), _tree=None)
        else:
            patched = cls(**document.written_fields(), base=document, grafts=tuple(grafts))
        patched.set_root(_grafted(document.tree, grafts))
        return patched

    def release_nodes(self) -> None:
        """Release the nodes, also those of the document that it was made of."""
        self._tree = None
        if self.base is not None:
            self.base.release_nodes()

    def release(self) -> None:
        """Release the nodes, and keep the text compressed."""
        self.release_nodes()
        self.source_text.compress()

    def grafts_after(self, document: Document) -> tuple[Graft, ...]:
        """Return the values that it has beside those of a document that it was made of."""
        old = len(document.grafts) if isinstance(document, PatchedDocument) else 0
        return self.grafts[old:]

    def grafts_below(self, key_path: KeyPath) -> list[Graft]:
        """Return the values that count below an entry, in the order in which they were written."""
        length, found = len(key_path), []
        for graft in reversed(self.grafts):
            if graft.key_path[:length] == key_path and len(graft.key_path) > length:
                found.append(graft)
            elif graft.key_path == key_path[: len(graft.key_path)]:
                break  # written over as a whole
        return found[::-1]

    @property
    def tree(self) -> Tree:
        """The nodes of the document with the values in their places."""
        if self._tree is None:
            assert self.base is not None
            self.set_root(_grafted(self.base.tree, self.grafts))
        assert self._tree is not None
        return self._tree

    def region(self, key_path: KeyPath, part: EntryPart) -> Region:  # type: ignore[override]
        """Return the region of the entry, in the file that it is written in."""
        return self.source_of(NodeRef(self, key_path, part)).region()

    @property
    def written(self) -> Document:
        """The document that it was made of."""
        assert self.base is not None
        return self.base.written

    def source_of(self, ref: NodeRef) -> NodeRef | EmbeddedNodeRef:
        """Return the entry in the document that it is written in."""
        for graft in reversed(self.grafts):
            length = len(graft.key_path)
            if ref.key_path[:length] == graft.key_path:
                source = graft.source
                for step in ref.key_path[length:]:
                    source /= step
                return replace(source, part=ref.part)
        assert self.base is not None
        return replace(ref, document=self.base)


def _grafted(tree: Tree, grafts: Sequence[Graft]) -> Tree:
    root = tree.root
    for graft in grafts:
        if graft.value is None:
            root = _without(root, graft.key_path)
        else:
            root = _with(root, graft.key_path, graft.value)
    return Tree(root)


def patch_workload(workload: Workload, document: Document) -> Workload:
    """Return the workload as its pods are written in a document with further values."""
    ref = replace(workload.ref, document=document)
    template, rejected = read_template(document, ref.key_path)
    return replace(workload, ref=ref, template=template, rejected=rejected)


def _with(node: Node | None, key_path: KeyPath, value: Node) -> Node:
    """Return a copy of the nodes on the way to an entry, with another value there."""
    if not key_path:
        return value
    step, rest = key_path[0], key_path[1:]
    if isinstance(step, int):
        items = list(node.value) if isinstance(node, SequenceNode) else []
        old = items[step] if step < len(items) else None
        items[step : step + 1] = [_with(old, rest, value)]
        return SequenceNode(_tag(node), items, *_marks(node, value))
    entries = list(node.value) if isinstance(node, MappingNode) else []
    entry = child(node, step) if node is not None else None
    new = _with(entry.value if entry is not None else None, rest, value)
    last = range(len(entries) - 1, -1, -1) if entry is not None else ()
    place = next((place for place in last if entries[place][0].value == step), None)
    if place is not None:
        entries[place] = entries[place][0], new
    else:
        entries.append((ScalarNode(UNTAGGED, step, value.start_mark, value.start_mark), new))
    return MappingNode(_tag(node), entries, *_marks(node, value))


def _without(node: Node, key_path: KeyPath) -> Node:
    """Return a copy of the nodes on the way to an entry of a mapping, without it."""
    step, rest = key_path[0], key_path[1:]
    entry = child(node, step)
    if entry is None:
        return node
    if rest:
        return _with(node, (step,), _without(entry.value, rest))
    entries = [(key, value) for key, value in node.value if key.value != step]
    return MappingNode(_tag(node), entries, *_marks(node, node))


def _tag(node: Node | None) -> str:
    return str(node.tag) if node is not None else UNTAGGED


def _marks(node: Node | None, value: Node) -> tuple[Any, Any]:
    shown = node if node is not None else value
    return shown.start_mark, shown.end_mark
