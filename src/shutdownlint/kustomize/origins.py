"""The places where a built kustomization's entries are written: a base, a patch or another file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint.manifests.objects import object_places
from shutdownlint.manifests.reader import TransformError
from shutdownlint.manifests.rendered import RenderedDocument
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.location import EntryPart, Region
from shutdownlint.yaml_source.scalars import read_scalar
from shutdownlint.yaml_source.tree import child

if TYPE_CHECKING:
    from yaml.nodes import Node

    from shutdownlint.kustomize.build import Build, KustomizeTree
    from shutdownlint.manifests.document import Document
    from shutdownlint.yaml_source.location import KeyPath

    #: An object of a document.
    _Place = tuple[Document, KeyPath]


class KustomizationOrigins:
    """The sources of one kustomization. ``tree`` reads the files of its members."""

    def __init__(self, build: Build, tree: KustomizeTree) -> None:
        self.build = build
        self._tree = tree
        self._objects: dict[tuple[str, ...], _Place] | None = None

    def transform(self, document: Document) -> Document:
        """Return the document, shown where it is written."""
        return RenderedDocument.of(document, self)

    def template_file(self, document: Document) -> str:
        """Return the file of the object; the kustomization's own if the kustomization makes it."""
        place = self._place(document)
        return place[0].file if place is not None else self.build.root.file

    def value_path(self, document: Document, key_path: KeyPath) -> tuple[str, ...]:
        """Return the chart value that sets an entry: always empty."""
        return ()

    def region(self, document: Document, key_path: KeyPath, part: EntryPart) -> Region:
        """Return where an entry is written."""
        place = self._place(document)
        if place is None:
            return self._maker()
        written, at = place
        entry, rendered = written.tree.entry(at), document.tree.root
        node = entry.value if entry is not None else None
        path = list(at)
        for step in key_path:
            own = _same_step(node, rendered, step)
            below = child(node, own) if node is not None and own is not None else None
            if below is None:
                part = EntryPart.KEY
                break
            path.append(own)  # type: ignore[arg-type]
            node = below.value
            there = child(rendered, step)
            if there is None:
                break
            rendered = there.value
        else:
            if node is not None and not _same_value(node, rendered):
                return self._changer()
        return written.region(tuple(path), part)

    def _changer(self) -> Region:
        """Return setting of a kustomization that changes the written value, where it is known."""
        for layer in reversed(self.build.layers):
            for feature in layer.unapplied:
                key = "patches" if feature.startswith("patches") else feature
                if layer.document.tree.entry((key,)) is not None:
                    return layer.document.region((key,), EntryPart.KEY)
        return self.build.root.document.region(("resources",), EntryPart.KEY)

    def _maker(self) -> Region:
        """Return the entry of the kustomization that makes an object which no file holds."""
        root = self.build.root
        for layer in (root, *self.build.layers):
            for key in ("helmCharts", "generators", "configMapGenerator", "secretGenerator"):
                if layer.data.get(key):
                    return layer.document.region((key,), EntryPart.KEY)
        for layer in self.build.layers:
            if layer.remote:
                return layer.document.region(("resources",), EntryPart.KEY)
        return root.document.region(("resources",), EntryPart.KEY)

    def _place(self, document: Document) -> _Place | None:
        if self._objects is None:
            self._objects = {}
            for member in self.build.members:
                for written in self._tree.documents(member.file):
                    try:
                        self._add(member.transform(written))
                    except (TransformError, BudgetExceededError):
                        continue
        return self._objects.get(_identity(document, ()))

    def _add(self, document: Document | None) -> None:
        assert self._objects is not None
        for at in object_places(document) if document is not None else ():
            assert document is not None
            self._objects.setdefault(_identity(document, at), (document, at))


def _identity(document: Document, at: KeyPath) -> tuple[str, ...]:
    """Return the identity of an object; the version of its API does not count."""
    value = [document.tree.to_python((*at, *path)) for path in _NAMING]
    return (str(value[0]).partition("/")[0] if "/" in str(value[0]) else "", *map(str, value[1:]))


_NAMING = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))


def _same_value(written: Node, rendered: Node) -> bool:
    """Whether a value is what was rendered, as far as it is one."""
    if not isinstance(written, ScalarNode) or not isinstance(rendered, ScalarNode):
        return type(written) is type(rendered)
    return str(read_scalar(written)) == str(read_scalar(rendered))


def _same_step(node: Node | None, rendered: Node, step: str | int) -> str | int | None:
    """Return the step in the written list that means the same element, by its name."""
    if not isinstance(step, int) or not isinstance(rendered, SequenceNode):
        return step
    item = rendered.value[step] if step < len(rendered.value) else None
    name = child(item, "name") if isinstance(item, MappingNode) else None
    if name is None or not isinstance(node, SequenceNode):
        return step
    wanted = name.value.value
    for index, each in enumerate(node.value):
        own = child(each, "name") if isinstance(each, MappingNode) else None
        if own is not None and isinstance(own.value, ScalarNode) and own.value.value == wanted:
            return index
    return None
