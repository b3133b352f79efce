"""The objects that give context to workloads: what a document says of them, as plain data.

A document is described first, which needs its nodes, and then added to the index, which needs the
description only.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from yaml.nodes import MappingNode

from shutdownlint.manifests.decoding import decode, shape_of, value_at
from shutdownlint.manifests.object_index import LoadedResource, ObjectIndex, RawObject
from shutdownlint.manifests.objects import find_objects
from shutdownlint.manifests.prefilter import LIVE_WORDS
from shutdownlint.manifests.workloads import has_workloads
from shutdownlint.yaml_source.location import KeyPath  # noqa: TC001 - kept data is decoded by it
from shutdownlint.yaml_source.tree import child, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.document import Document, NodeRef
    from shutdownlint.manifests.kinds import KindTable
    from shutdownlint.manifests.objects import FoundObject

#: Objects that deploy a folder: where they write its namespace and its path.
_DEPLOYERS: Final = {
    ("argoproj.io", "Application"): (("destination", "namespace"), ("source", "path")),
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): (("targetNamespace",), ("path",)),
}


class DescribedObject(Struct, frozen=True, array_like=True):
    """An object that is read for what it says about shutdown.

    ``data`` are the values that its typed model reads; None where its platform reads the document
    itself.
    """

    group: str
    kind: str
    key_path: KeyPath
    data: Any = None


class DescribedDocument(Struct, frozen=True, array_like=True):
    """The facts that a document states about other objects.

    ``values`` are where Helm values are that some platform reads, each with the number of its entry
    in the table of kinds; ``live`` is where objects of a cluster are, with the parts by which they
    are ordered; ``destinations`` are namespaces with the folders that are deployed into them.
    ``is_object``: it is an object of Kubernetes, be it one that is not read. ``has_workloads`` is
    false where they were not looked for. ``template`` is the file that a Helm rendering names.
    """

    is_object: bool
    has_workloads: bool
    template: str | None
    objects: tuple[DescribedObject, ...] = ()
    values: tuple[tuple[int, KeyPath], ...] = ()
    live: tuple[tuple[KeyPath, dict[str, Any]], ...] = ()
    destinations: tuple[tuple[str, str], ...] = ()

    @property
    def gives_context(self) -> bool:
        """Whether some platform reads a part of it."""
        return bool(self.objects or self.values)


def describe_context(document: Document, kinds: KindTable, *, both: bool) -> DescribedDocument:
    """Read what a document states about other objects. Raises ``BudgetExceededError``.

    ``both``: it may hold workloads as well.
    """
    found = list(find_objects(document.tree.root))
    is_live = any(word.decode() in document.text for word in LIVE_WORDS)
    live = [(each.key_path, _live_data(document, each.key_path)) for each in found if is_live]
    return DescribedDocument(
        bool(found),
        both and has_workloads(document, kinds),
        document.template,
        tuple(_describe_objects(document, found, kinds)),
        () if found else tuple(_find_values(document, kinds)),
        tuple(live),
        tuple(_find_destinations(document, found)),
    )


def add_context(
    document: Document, described: DescribedDocument, index: ObjectIndex, kinds: KindTable
) -> None:
    """Add what a document says to the index. Its nodes are not needed."""
    for key_path, data in described.live:
        index.live.add(document.ref(*key_path), data)
    for each in described.objects:
        _add_object(document.ref(*each.key_path), each, index, kinds)
    for number, key_path in described.values:
        index.raw.append(RawObject(kinds.entries[number], document.ref(*key_path)))
    for namespace, folder in described.destinations:
        _add_destination(document.file, namespace, folder, index)


def _describe_objects(
    document: Document, found: list[FoundObject], kinds: KindTable
) -> Iterator[DescribedObject]:
    for each in found:
        entry = kinds.entry(each.group, each.kind)
        if entry is not None:
            shape = shape_of(entry.load_model()) if entry.model else None
            data = document.tree.to_python(each.key_path, shape) if entry.model else None
            yield DescribedObject(each.group, each.kind, each.key_path, data)


def _live_data(document: Document, at: KeyPath) -> dict[str, Any]:
    """Return the parts of an object by which a cluster's objects are ordered."""
    tree = document.tree
    return {
        "kind": tree.to_python((*at, "kind")),
        "metadata": tree.to_python((*at, "metadata")),
        "spec": {"replicas": tree.to_python((*at, "spec", "replicas"))},
        "status": {"phase": tree.to_python((*at, "status", "phase"))},
    }


def _find_values(document: Document, kinds: KindTable) -> Iterator[tuple[int, KeyPath]]:
    """Helm values that some platform reads: of a chart, or of a chart below an umbrella chart."""
    root = document.tree.root
    parts: list[tuple[KeyPath, Node]] = [((), root)]
    if isinstance(root, MappingNode):
        parts += [((text,), v) for k, v in root.value if (text := key_text(k)) is not None]
    for key_path, node in parts:
        for number, entry in enumerate(kinds.entries):
            if not entry.kind and any(
                all(child(node, word.decode()) is not None for word in words)
                for words in entry.words
            ):
                yield number, key_path


def _find_destinations(document: Document, found: list[FoundObject]) -> Iterator[tuple[str, str]]:
    for each in found:
        routes = _DEPLOYERS.get((each.group, each.kind))
        if routes is not None:
            spec = document.tree.to_python((*each.key_path, "spec"))
            namespace, folder = (value_at(spec, *route) for route in routes)
            if isinstance(namespace, str) and isinstance(folder, str) and namespace:
                yield namespace, folder


def _add_object(ref: NodeRef, found: DescribedObject, index: ObjectIndex, kinds: KindTable) -> None:
    entry = kinds.entry(found.group, found.kind)
    if entry is None:
        return
    if not entry.model:
        index.raw.append(RawObject(entry, ref))
        return
    model = entry.load_model()
    typed, rejected = decode(model, found.data)
    if entry.strict:
        index.rejected += [(ref, error) for error in rejected if not error.unresolved]
    index.add(model, LoadedResource(typed, ref))


def _add_destination(file: str, namespace: str, folder: str, index: ObjectIndex) -> None:
    """Note the namespace into which Argo CD or Flux puts the manifests of a folder.

    Its path is relative to the repository's root, which is some folder above the object's file.
    """
    path = _join(PurePosixPath(), folder)
    parents = PurePosixPath(file.removeprefix("./")).parents
    index.namespaces.add(namespace, {_join(root, path) for root in parents})


def _join(folder: PurePosixPath, path: str) -> str:
    parts: list[str] = list(folder.parts)
    for part in PurePosixPath(path).parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return str(PurePosixPath(*parts)) if parts else "."
