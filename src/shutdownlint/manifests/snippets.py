"""Parts of a pod without a kind, taken as a pod: a list of containers, a pod spec, a template."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint.manifests.document import Document
from shutdownlint.manifests.objects import as_object
from shutdownlint.manifests.prefilter import AS_POD
from shutdownlint.manifests.skips import NO_PODS, NOT_KUBERNETES, POD_PART, SkipReason
from shutdownlint.yaml_source.tree import Tree, child

if TYPE_CHECKING:
    from yaml.nodes import Node

    from shutdownlint.manifests.inputs import Inputs, InputSource

_STRING: Final = "tag:yaml.org,2002:str"


def why_skipped(document: Document) -> SkipReason:
    """Return why a document without pods is not checked."""
    root = document.tree.root
    if as_object(root, ()) is not None:
        return NO_PODS
    return POD_PART if _wrap(root, document.file) is not None else NOT_KUBERNETES


def as_pods(inputs: Inputs) -> Inputs:
    """Return the same files, with parts of pods in them taken as pods."""
    return replace(inputs, sources=tuple(map(_as_pod, inputs.sources)))


def _as_pod(source: InputSource) -> InputSource:
    return source if source.context else replace(source, transform=wrap_snippet, words=AS_POD)


class SnippetDocument(Document):
    """A part of a pod. Its own nodes keep their places, also for edits."""

    @property
    def tree(self) -> Tree:
        """The nodes, in a pod of the file's name."""
        if self._tree is None:
            root: Node = Document.tree.fget(self).root  # type: ignore[attr-defined]
            self._tree = Tree(_wrap(root, self.file) or root)
        return self._tree


def wrap_snippet(document: Document) -> Document:
    """Return a document as a pod, where it is a part of one."""
    root = document.tree.root
    wrapped = None if as_object(root, ()) is not None else _wrap(root, document.file)
    if wrapped is None:
        return document
    snippet = SnippetDocument(**document.written_fields())
    snippet.set_root(Tree(wrapped))
    return snippet


def _wrap(root: Node, file: str) -> Node | None:
    """Return the nodes of a pod around those of a part of one; None for anything else."""
    entries: list[tuple[str, Node]] = [
        ("apiVersion", _text(root, "v1")),
        ("kind", _text(root, "Pod")),
    ]
    name = Path(file).name.partition(".")[0]
    named = _mapping(root, [("name", _text(root, name or "snippet"))])
    if isinstance(root, SequenceNode):
        of_containers = any(child(item, "image") is not None for item in root.value)
        spec: Node | None = _mapping(root, [("containers", root)]) if of_containers else None
        metadata: Node | None = None
    else:
        written = child(root, "spec")
        spec = written.value if written is not None else root
        above = child(root, "metadata") if written is not None else None
        metadata = above.value if above is not None else None
        spec = spec if child(spec, "containers") is not None else None
    if spec is None:
        return None
    if isinstance(metadata, MappingNode) and child(metadata, "name") is None:
        pairs = [*metadata.value, *named.value]
        metadata = MappingNode(metadata.tag, pairs, metadata.start_mark, metadata.end_mark)
    return _mapping(root, [*entries, ("metadata", metadata or named), ("spec", spec)])


def _text(place: Node, text: str) -> ScalarNode:
    return ScalarNode(_STRING, text, place.start_mark, place.start_mark)


def _mapping(place: Node, entries: list[tuple[str, Node]]) -> MappingNode:
    pairs: list[tuple[Node, Node]] = [(_text(place, name), value) for name, value in entries]
    return MappingNode("tag:yaml.org,2002:map", pairs, place.start_mark, place.end_mark)
