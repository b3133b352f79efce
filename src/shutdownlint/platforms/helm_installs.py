"""Helm releases among the files: the chart, and the values that it is installed with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from yaml.nodes import ScalarNode, SequenceNode

from shutdownlint.manifests.document import EmbeddedNodeRef, NodeRef, Source
from shutdownlint.yaml_source.composer import compose
from shutdownlint.yaml_source.location import EntryPart, KeyPath, SourceLocation
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.object_index import RawObject

_CHART: Final[KeyPath] = ("spec", "chart", "spec")


class HelmValues(Struct, frozen=True):
    """Helm values: a part of a document, or the text of one of its scalars (``inside``)."""

    tree: Tree
    key_path: KeyPath
    host: NodeRef
    inside: bool

    def at(self, key_path: KeyPath, part: EntryPart = EntryPart.VALUE) -> Source:
        """Return the location of a key path of the tree."""
        if self.inside:
            return EmbeddedNodeRef(self.host, self.tree, key_path, part)
        return NodeRef(self.host.document, key_path, part)

    def location(self, *steps: str) -> SourceLocation:
        """Return the location of a value."""
        return self.at((*self.key_path, *steps))

    def scalar(self, *steps: str) -> str | None:
        """Return the text of a value, if it is neither a list nor a mapping."""
        return scalar_at(self.tree, (*self.key_path, *steps))

    def value(self, *steps: str) -> object:
        """Return a value as YAML reads it; None if it is missing."""
        return self.tree.to_python((*self.key_path, *steps))


class HelmInstall(Struct, frozen=True, eq=False):
    """A chart's installation. ``kind`` names the object; ``values`` is where its values are.

    ``chart`` is empty and ``release`` (where the chart's version is written) None where the object
    does not say them.
    """

    kind: str
    ref: NodeRef
    values: KeyPath
    chart: str = ""
    release: KeyPath | None = None

    def read_values(self) -> HelmValues:
        """Its values. Raises ``ComposeError`` where they are a text that is not YAML."""
        document = self.ref.document
        entry = document.tree.entry(self.values)
        host = NodeRef(document, self.values)
        if entry is None or not isinstance(entry.value, ScalarNode):
            return HelmValues(document.tree, self.values, host, inside=False)
        roots = compose(str(entry.value.value)) or compose("{}")
        return HelmValues(Tree(roots[0]), (), host, inside=True)

    @property
    def chart_version(self) -> str:
        """The chart's version, empty where it is not written."""
        return scalar_at(self.ref.document.tree, self.release) or "" if self.release else ""


def helm_installs(obj: RawObject) -> Iterator[HelmInstall]:
    """Yield installations of an object: a Flux HelmRelease, an Argo CD Application, or values."""
    ref, tree = obj.ref, obj.ref.document.tree
    if not obj.entry.kind:
        yield HelmInstall("Helm values", ref, ref.key_path)
    elif obj.entry.kind == "HelmRelease":
        chart: KeyPath = (*ref.key_path, *_CHART)
        yield HelmInstall(
            "HelmRelease",
            ref,
            (*ref.key_path, "spec", "values"),
            scalar_at(tree, (*chart, "chart")) or "",
            (*chart, "version"),
        )
    elif obj.entry.kind == "Application":
        yield from _application_installs(ref)


def _application_installs(ref: NodeRef) -> Iterator[HelmInstall]:
    """Every source of an Argo CD Application that has Helm values, as an object or as a text."""
    tree = ref.document.tree
    spec: KeyPath = (*ref.key_path, "spec")
    several = tree.entry((*spec, "sources"))
    node = several.value if several is not None else None
    count = len(node.value) if isinstance(node, SequenceNode) else 0
    for source in ((*spec, "source"), *((*spec, "sources", number) for number in range(count))):
        chart = scalar_at(tree, (*source, "chart")) or ""
        # The revision of a git repository is no release.
        release: KeyPath | None = (*source, "targetRevision") if chart else None
        for name in ("valuesObject", "values"):
            key_path: KeyPath = (*source, "helm", name)
            if tree.entry(key_path) is not None:
                yield HelmInstall("Application", ref, key_path, chart, release)


def scalar_at(tree: Tree, key_path: KeyPath) -> str | None:
    """Return the text at a key path, if it is neither a list nor a mapping."""
    entry = tree.entry(key_path)
    return str(entry.value.value) if entry and isinstance(entry.value, ScalarNode) else None
