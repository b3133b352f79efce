"""The kustomizations of a run: what each of them deploys, and what it changes of it."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from yaml.nodes import MappingNode, ScalarNode

from shutdownlint import limits
from shutdownlint.kustomize.layer import read_layer
from shutdownlint.kustomize.object_state import ObjectState
from shutdownlint.kustomize.patches import read_words_as_text
from shutdownlint.kustomize.strategic_merge import ObjectRemoved
from shutdownlint.manifests.discovery import KUSTOMIZATION_NAMES
from shutdownlint.manifests.objects import object_places
from shutdownlint.manifests.parser import Parser
from shutdownlint.manifests.reader import ReadStats, UnreadableInput, read_bytes
from shutdownlint.manifests.splitter import split
from shutdownlint.yaml_source.errors import TOO_MANY_VALUES, BudgetExceededError
from shutdownlint.yaml_source.scalars import read_as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from shutdownlint.kustomize.layer import Layer
    from shutdownlint.manifests.discovery import InputFile
    from shutdownlint.manifests.document import Document
    from shutdownlint.yaml_source.location import KeyPath

    #: The file of a path; None where there is none, or where it may not be read.
    FindFile = Callable[[str], InputFile | None]

#: The group of kustomizations; it need not be written.
API_GROUP: Final = "kustomize.config.k8s.io"


class Member(Struct, eq=False):
    """A manifest that a kustomization deploys, and the kustomizations that change it, in order."""

    file: str
    layers: list[Layer] = field(default_factory=list)

    def transform(self, document: Document) -> Document | None:
        """Return the document as it is deployed; None where all of it is removed.

        Raises ``BudgetExceededError``.
        """
        read_words_as_text(document.tree.root)
        for at in object_places(document):
            state = ObjectState(document, at)
            try:
                for layer in self.layers:
                    layer.apply(state)
            except ObjectRemoved:
                if not at:
                    return None
                continue
            document = state.document
            annotations = document.tree.entry((*at, "metadata", "annotations"))
            if annotations is not None and isinstance(annotations.value, MappingNode):
                for _, value in annotations.value.value:
                    if isinstance(value, ScalarNode):  # kustomize writes all of them in quotes
                        read_as_text(value, words_only=False)
        return document


class Build(Struct, eq=False):
    """The objects that one kustomization deploys.

    ``folders`` are those of all kustomizations in it, ``bases`` of those that it has as resources;
    ``missing`` are files that are named and are not there.
    """

    root: Layer
    members: list[Member] = field(default_factory=list)
    layers: list[Layer] = field(default_factory=list)
    bases: set[str] = field(default_factory=set)
    missing: list[str] = field(default_factory=list)
    #: Kustomizations that name one another in a circle, or too many of them.
    failed: str = ""

    @property
    def files(self) -> set[str]:
        """The manifests and patches in it."""
        named = {member.file for member in self.members}
        return named | {file for layer in self.layers for file in layer.patch_files}


class KustomizeTree:
    """The kustomizations among the files of a run, and those that they name.

    ``find`` gives the files. A file that is not YAML is missing in the tree: reading the manifests
    reports it. ``unreadable`` are kustomizations that cannot be applied.
    """

    def __init__(self, files: list[str], find: FindFile) -> None:
        self.find = find
        self._parser = Parser()
        self._layers: dict[str, Layer | None] = {}
        self.files = files
        self.unreadable: list[UnreadableInput] = []

    def roots(self) -> list[Build]:
        """Build the deployed kustomizations: those that no other one of the run names."""
        own = [layer for file in self.files if (layer := self._layer(file)) is not None]
        named = {path for layer in own for path in (*layer.resources, *layer.components)}
        found = [
            self.build(layer)
            for layer in own
            if not layer.is_component and layer.folder not in named
        ]
        reached = {layer.file for build in found for layer in build.layers}
        for layer in own:  # those that only name one another, in a circle
            if layer.file not in reached and not layer.is_component:
                found.append(self.build(layer))
                reached |= {each.file for each in found[-1].layers}
        return found

    def build(self, layer: Layer) -> Build:
        """Build the objects that a kustomization deploys."""
        build = Build(layer)
        build.members = self._collect(layer, build, [])
        return build

    def with_settings(
        self, document: Document, places: Mapping[str, KeyPath], parts: Sequence[Layer] = ()
    ) -> Member:
        """Return a manifest that settings of another object change, as a kustomization would.

        ``parts`` are components that come before them.
        """
        layer = read_layer(document.file, document, self.documents, places)
        return Member(document.file, [*parts, layer])

    def folder(self, path: str) -> Layer | None:
        """Return the kustomization in a folder."""
        for name in KUSTOMIZATION_NAMES:
            layer = self._layer(posixpath.normpath(posixpath.join(path, name)))
            if layer is not None:
                return layer
        return None

    def text(self, file: InputFile) -> bytes:
        """Return the bytes of a file; none where it cannot be read."""
        return read_bytes(file, ReadStats()) or b""

    def _collect(self, layer: Layer, build: Build, above: list[str]) -> list[Member]:
        """Return the manifests of a kustomization and of those below it."""
        if layer.file in above or len(above) > limits.MAX_KUSTOMIZATION_DEPTH:
            build.failed = f"{layer.file} names itself, by other kustomizations or directly"
            return []
        members = self._resources(layer, build, [*above, layer.file])
        self._add_components(layer, build, members, [*above, layer.file])
        self._add_layer(layer, build, members)
        return members

    def _resources(self, layer: Layer, build: Build, above: list[str]) -> list[Member]:
        members: list[Member] = []
        for path in layer.resources:
            if len(members) + len(build.layers) > limits.MAX_KUSTOMIZATION_FILES:
                build.failed = f"more than {limits.MAX_KUSTOMIZATION_FILES:,} manifests"
                break
            below = self.folder(path)
            if below is not None:
                build.bases.add(below.folder)
                members += self._collect(below, build, above)
            elif self.find(path) is not None:
                members.append(Member(path))
            else:
                build.missing.append(path)
        return members

    def _add_components(
        self, layer: Layer, build: Build, members: list[Member], above: list[str]
    ) -> None:
        for path in layer.components:
            component = self.folder(path)
            if component is None:
                build.missing.append(path)
            elif component.file in above or len(above) > limits.MAX_KUSTOMIZATION_DEPTH:
                build.failed = f"{component.file} names itself, by other kustomizations or directly"
            else:
                inner = [*above, component.file]
                members += self._resources(component, build, inner)
                self._add_components(component, build, members, inner)
                self._add_layer(component, build, members)

    def _add_layer(self, layer: Layer, build: Build, members: list[Member]) -> None:
        build.layers.append(layer)
        for member in members:
            member.layers.append(layer)

    def _layer(self, file: str) -> Layer | None:
        if file not in self._layers:
            self._layers[file] = None
            found = self.find(file)
            if found is not None:
                self._layers[file] = self._read_layer(file, found)
        return self._layers[file]

    def _read_layer(self, file: str, found: InputFile) -> Layer | None:
        for document in self._documents(found):
            try:
                # Flux' own Kustomizations are often in files of the same name.
                version = str(document.tree.to_python(("apiVersion",)) or API_GROUP)
                if version.startswith(API_GROUP):
                    return read_layer(file, document, self.documents)
            except BudgetExceededError:
                self.unreadable.append(UnreadableInput(document.region(()), TOO_MANY_VALUES))
        return None

    def documents(self, path: str) -> list[Document]:
        """Return the documents of a file; none where it cannot be read."""
        found = self.find(path)
        return list(self._documents(found)) if found is not None else []

    def _documents(self, file: InputFile) -> Iterator[Document]:
        """Yield the documents of a file; what is wrong with it is reported where it is checked."""
        ignored = ReadStats()
        for chunk in split(self.text(file)):
            for document in self._parser.documents(file.display_path, chunk, ignored):
                document.cache = None  # its nodes are needed as long as the run
                yield document
