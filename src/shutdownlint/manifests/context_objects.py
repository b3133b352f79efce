"""Objects that give context to workloads, added to the index of a world."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from yaml.nodes import MappingNode

from shutdownlint.manifests.decoding import decode, shape_of, value_at
from shutdownlint.manifests.object_index import LoadedResource, RawObject
from shutdownlint.manifests.objects import find_objects
from shutdownlint.manifests.prefilter import LIVE_WORDS
from shutdownlint.manifests.snippets import why_skipped
from shutdownlint.manifests.workloads import has_workloads
from shutdownlint.yaml_source.tree import child, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.document import Document
    from shutdownlint.manifests.kinds import KindEntry, KindTable
    from shutdownlint.manifests.object_index import ObjectIndex
    from shutdownlint.manifests.objects import FoundObject
    from shutdownlint.manifests.skips import SkipReason
    from shutdownlint.yaml_source.location import KeyPath

#: Objects that deploy a folder: where they write its namespace and its path.
_DEPLOYERS: Final = {
    ("argoproj.io", "Application"): (("destination", "namespace"), ("source", "path")),
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): (("targetNamespace",), ("path",)),
}


class FoundContent(Struct, frozen=True):
    """The content of a document: context, workloads; ``skip_reason`` where it has neither."""

    skip_reason: SkipReason
    gives_context: bool
    has_workloads: bool


def add_context(
    document: Document, index: ObjectIndex, kinds: KindTable, *, both: bool
) -> FoundContent:
    """Add what a document says of other objects to the index.

    ``both``: it may hold workloads as well, which is looked up. Raises ``BudgetExceededError``.
    """
    found = list(find_objects(document.tree.root))
    holds_workloads = both and has_workloads(document, kinds)
    if any(word.decode() in document.text for word in LIVE_WORDS):
        for each in found:
            _add_live(document, each.key_path, index)
    gives_context = False
    for each in found:
        entry = kinds.entry(each.group, each.kind)
        if entry is not None:
            _add_object(document, each.key_path, entry, index)
            gives_context = True
    for entry, key_path in () if found else _find_values(document, kinds):
        gives_context = True
        index.add_raw(RawObject(entry, document.ref(*key_path)))
    for namespace, folder in _find_destinations(document, found):
        _add_destination(document.file, namespace, folder, index)
    return FoundContent(why_skipped(document), gives_context, holds_workloads)


def _add_live(document: Document, at: KeyPath, index: ObjectIndex) -> None:
    """Add the parts of an object by which a cluster's objects are ordered."""
    tree = document.tree
    data = {
        "kind": tree.to_python((*at, "kind")),
        "metadata": tree.to_python((*at, "metadata")),
        "spec": {"replicas": tree.to_python((*at, "spec", "replicas"))},
        "status": {"phase": tree.to_python((*at, "status", "phase"))},
    }
    index.live.add(document.ref(*at), data)


def _add_object(document: Document, at: KeyPath, entry: KindEntry, index: ObjectIndex) -> None:
    ref = document.ref(*at)
    if not entry.model:
        index.add_raw(RawObject(entry, ref))
        return
    model = entry.load_model()
    typed, rejected = decode(model, document.tree.to_python(at, shape_of(model)))
    if entry.strict:
        index.reject(ref, [error for error in rejected if not error.unresolved])
    index.add(model, LoadedResource(typed, ref))


def _find_values(document: Document, kinds: KindTable) -> Iterator[tuple[KindEntry, KeyPath]]:
    """Helm values that some platform reads: of a chart, or of a chart below an umbrella chart."""
    root = document.tree.root
    parts: list[tuple[KeyPath, Node]] = [((), root)]
    if isinstance(root, MappingNode):
        parts += [((text,), v) for k, v in root.value if (text := key_text(k)) is not None]
    for key_path, node in parts:
        for entry in kinds.entries:
            if not entry.kind and any(
                all(child(node, word.decode()) is not None for word in words)
                for words in entry.words
            ):
                yield entry, key_path


def _find_destinations(document: Document, found: list[FoundObject]) -> Iterator[tuple[str, str]]:
    """Yield the namespaces that Argo CD and Flux deploy to, with the folders."""
    for each in found:
        routes = _DEPLOYERS.get((each.group, each.kind))
        if routes is not None:
            spec = document.tree.to_python((*each.key_path, "spec"))
            namespace, folder = (value_at(spec, *route) for route in routes)
            if isinstance(namespace, str) and isinstance(folder, str) and namespace:
                yield namespace, folder


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
