"""One kustomization: what it names, and what it does to objects.

Sources: kustomize's reference of the kustomization file, and kustomize 5.5, measured: the order of
the steps, the fields that labels, annotations and namespaces are written to.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint.kustomize.json_patch import JsonPatchError
from shutdownlint.kustomize.patches import Selector, read_patches
from shutdownlint.manifests.document import EmbeddedNodeRef, Graft
from shutdownlint.manifests.reader import TransformError
from shutdownlint.patterns import lazy_pattern
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.scalars import UNTAGGED
from shutdownlint.yaml_source.tree import Tree, iterate_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from yaml.nodes import Node

    from shutdownlint.kustomize.object_state import ObjectState
    from shutdownlint.kustomize.patches import Patch
    from shutdownlint.manifests.document import Document, NodeRef, Source
    from shutdownlint.yaml_source.location import KeyPath

    #: The documents of a file that a kustomization names.
    ReadFile = Callable[[str], list[Document]]

#: A resource that is fetched.
_REMOTE: Final = lazy_pattern(r"://|^git@|^github\.com/|\?ref=|^git::")
#: The features that are not applied: they may change the objects.
_UNAPPLIED: Final = ("transformers", "replacements", "vars", "configurations")
_TEMPLATED: Final = (
    "Deployment",
    "ReplicaSet",
    "DaemonSet",
    "StatefulSet",
    "Job",
    "ReplicationController",
)
_SELECTING: Final = ("Deployment", "ReplicaSet", "DaemonSet", "StatefulSet")
_SCALED: Final = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")
#: Kinds that are renamed. kustomize renames others too, and what refers to them; their names stay
#: as they are written, so that references still find them.
_RENAMED: Final = (*_TEMPLATED, "Pod", "CronJob", "Rollout", "HorizontalPodAutoscaler")
_IMAGE: Final = lazy_pattern(r"([^@]*?)(?::([^:/@]*))?(?:@(.*))?")


class Layer(Struct, eq=False):
    """A kustomization, or settings of Argo CD or Flux that act as one.

    Paths are normalized, and relative to the current folder. ``places`` are where its settings are
    in the document, for those that are not at the top of it under their own name.

    ``unapplied`` are the features that are not applied; ``missing`` what it names and does not
    exist, ``remote`` what would have to be fetched.
    """

    file: str
    document: Document
    data: dict[str, Any]
    places: Mapping[str, KeyPath] = field(default_factory=dict)
    resources: list[str] = field(default_factory=list)
    components: list[str] = field(default_factory=list)
    patches: list[Patch] = field(default_factory=list)
    merge_patches: list[Patch] = field(default_factory=list)
    json_patches: list[Patch] = field(default_factory=list)
    patch_files: list[str] = field(default_factory=list)
    unapplied: list[str] = field(default_factory=list)
    remote: list[str] = field(default_factory=list)
    _by_name: dict[str, dict[str | None, list[tuple[int, Patch]]]] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Its folder."""
        return posixpath.dirname(self.file) or "."

    @property
    def is_component(self) -> bool:
        """Whether it only changes what others name."""
        return self.data.get("kind") == "Component"

    def apply(self, state: ObjectState) -> None:
        """Do to an object what the kustomization says, in kustomize's order.

        Raises ``ObjectRemoved``, ``TransformError`` and ``BudgetExceededError``.
        """
        for patch in self._patches_for("first", (*self.merge_patches, *self.patches), state):
            self._patch(patch, state)
        self._set_namespace(state)
        self._rename(state)
        self._add_labels(state)
        self._write_all(state, "commonAnnotations", _annotation_places(state))
        for patch in self._patches_for("last", self.json_patches, state):
            self._patch(patch, state)
        self._set_replicas(state)
        self._set_images(state)

    def _patches_for(self, when: str, patches: Sequence[Patch], state: ObjectState) -> list[Patch]:
        """Return the patches that may be for an object, in their order: most name one object."""
        if when not in self._by_name:
            by_name: dict[str | None, list[tuple[int, Patch]]] = {}
            for number, patch in enumerate(patches):
                by_name.setdefault(patch.plain_name, []).append((number, patch))
            self._by_name[when] = by_name
        known = self._by_name[when]
        found = [each for name in {None, *state.names} for each in known.get(name, ())]
        return [patch for _, patch in sorted(found, key=lambda each: each[0])]

    def _patch(self, patch: Patch, state: ObjectState) -> None:
        if not patch.concerns(state):
            return
        try:
            patch.apply(state)
        except JsonPatchError as error:
            reason = f"the patch does not apply to {state}: {error}"
            raise TransformError(patch.source.region(), reason) from None

    def note_unapplied(self, what: str) -> None:
        """Note a feature that was not applied."""
        if what not in self.unapplied:
            self.unapplied.append(what)

    def ref(self, key: str, *below: str | int) -> NodeRef:
        """Return the place of a setting, or of a part of it."""
        return self.document.ref(*self.places.get(key, (key,)), *below)

    def _node(self, key: str, *below: str | int) -> Node | None:
        entry = self.document.tree.entry(self.ref(key, *below).key_path)
        return entry.value if entry is not None else None

    def _write(self, state: ObjectState, path: KeyPath, value: Node, source: Source) -> None:
        state.write([Graft((*state.at, *path), value, source)])

    def _set_namespace(self, state: ObjectState) -> None:
        node = self._node("namespace")
        if not isinstance(node, ScalarNode) or not node.value:
            return
        place = "name" if state.kind == "Namespace" and not state.group else "namespace"
        self._write(state, ("metadata", place), node, self.ref("namespace"))
        names = state.names if place == "name" else state.namespaces
        names.append(str(node.value))

    def _rename(self, state: ObjectState) -> None:
        prefix, suffix = (str(self.data.get(key) or "") for key in ("namePrefix", "nameSuffix"))
        if (not prefix and not suffix) or state.kind not in _RENAMED:
            return
        places: list[KeyPath] = [("metadata", "name")]
        if state.kind == "HorizontalPodAutoscaler":
            places.append(("spec", "scaleTargetRef", "name"))
        for place in places:
            entry = state.document.tree.entry((*state.at, *place))
            if entry is not None and isinstance(entry.value, ScalarNode):
                new = _scalar(f"{prefix}{entry.value.value}{suffix}", entry.value)
                source = state.document.source_of(state.document.ref(*state.at, *place))
                self._write(state, place, new, source)
        state.names.append(str(state.value("metadata", "name") or ""))

    def _add_labels(self, state: ObjectState) -> None:
        self._write_all(
            state, "commonLabels", [("metadata", "labels"), *_label_places(state, selectors=True)]
        )
        entries = self.data.get("labels")
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict):
                selectors = entry.get("includeSelectors") is True
                places: list[KeyPath] = [("metadata", "labels")]
                if selectors or entry.get("includeTemplates") is True:
                    places += _label_places(state, selectors=selectors)
                self._write_all(state, "labels", places, number, "pairs")

    def _write_all(
        self, state: ObjectState, key: str, places: list[KeyPath], *below: str | int
    ) -> None:
        """Write every entry of a mapping of the kustomization to several places of the object."""
        node = self._node(key, *below)
        if not isinstance(node, MappingNode):
            return
        for name, value in node.value:
            if isinstance(name, ScalarNode) and isinstance(value, ScalarNode):
                for place in places:
                    source = self.ref(key, *below, str(name.value))
                    self._write(state, (*place, str(name.value)), value, source)

    def _set_replicas(self, state: ObjectState) -> None:
        entries = self.data.get("replicas")
        if state.kind not in _SCALED:
            return
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict) and entry.get("name") in state.names:
                count = self._node("replicas", number, "count")
                if count is not None:
                    ref = self.ref("replicas", number, "count")
                    self._write(state, ("spec", "replicas"), count, ref)

    def _set_images(self, state: ObjectState) -> None:
        entries = self.data.get("images")
        if not isinstance(entries, list) or not entries:
            return
        root = state.document.tree.entry(state.at)
        if root is None:
            return
        for path, node in list(_images(root.value, ())):
            image = _IMAGE.fullmatch(str(node.value))
            for number, entry in enumerate(entries):
                if image is None or not isinstance(entry, dict) or entry.get("name") != image[1]:
                    continue
                new = str(entry.get("newName") or image[1])
                if entry.get("digest"):
                    new += f"@{entry['digest']}"
                elif entry.get("newTag") is not None:
                    new += f":{entry['newTag']}"
                elif image[2]:
                    new += f":{image[2]}"
                self._write(state, path, _scalar(new, node), self.ref("images", number))


def read_layer(
    file: str, document: Document, read: ReadFile, places: Mapping[str, KeyPath] | None = None
) -> Layer:
    """Return kustomization of a document with its patches, or the settings at these ``places``."""
    data = document.tree.to_python()
    if places is not None:
        data = {key: document.tree.to_python(place) for key, place in places.items()}
    layer = Layer(file, document, data if isinstance(data, dict) else {}, places or {})
    for key in ("resources", "bases"):
        for name in _strings(layer.data.get(key)):
            _add_path(layer, layer.resources, name)
    for name in _strings(layer.data.get("components")):
        _add_path(layer, layer.components, name)
    typed = ("resources", "bases", "components", "patches", "images", "replicas", "labels")
    if any(not isinstance(layer.data.get(key, []), list | None) for key in typed):
        layer.note_unapplied("fields of a wrong type")
    layer.remote += [key for key in ("helmCharts", "generators") if layer.data.get(key)]
    layer.unapplied += [key for key in _UNAPPLIED if layer.data.get(key)]
    for key, found in (
        ("patchesStrategicMerge", layer.merge_patches),
        ("patches", layer.patches),
        ("patchesJson6902", layer.json_patches),
    ):
        entries = layer.data.get(key)
        for number, entry in enumerate(entries if isinstance(entries, list) else ()):
            try:
                patches = list(_read_entry(layer, layer.ref(key, number), entry, read))
                found += [patch for patch in patches if patch.is_readable]
                if any(not patch.is_readable for patch in patches):
                    layer.note_unapplied("patches with regular expressions")
            except (JsonPatchError, ComposeError):
                layer.note_unapplied("patches that are not readable")
    return layer


def _read_entry(layer: Layer, ref: NodeRef, entry: Any, read: ReadFile) -> Iterator[Patch]:
    """Yield the patches of one entry: a path, text, or a mapping with one of them and a target."""
    selector, path, text = None, entry, None
    if isinstance(entry, dict):
        target = entry.get("target")
        selector = Selector.of(target) if isinstance(target, dict) and target else None
        path, text = entry.get("path"), entry.get("patch")
        ref /= "patch"
    elif isinstance(entry, str) and "\n" in entry:
        path, text = None, entry
    if isinstance(text, str):
        for root in compose(text):
            yield from read_patches(root, EmbeddedNodeRef(ref, Tree(root), ()), selector)
    elif isinstance(path, str) and path:
        file = posixpath.normpath(posixpath.join(layer.folder, path))
        layer.patch_files.append(file)
        for document in read(file):
            yield from read_patches(document.tree.root, document.ref(), selector)


def _add_path(layer: Layer, found: list[str], name: str) -> None:
    if _REMOTE.search(name):
        layer.remote.append(name)
    elif not posixpath.isabs(name):
        found.append(posixpath.normpath(posixpath.join(layer.folder, name)))


def _strings(items: Any) -> list[str]:
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []


def _scalar(text: str, like: ScalarNode) -> ScalarNode:
    return ScalarNode(UNTAGGED, text, like.start_mark, like.end_mark)


def _annotation_places(state: ObjectState) -> list[KeyPath]:
    places: list[KeyPath] = [("metadata", "annotations")]
    if state.kind in _TEMPLATED:
        places.append(("spec", "template", "metadata", "annotations"))
    if state.kind == "CronJob":
        places.append(("spec", "jobTemplate", "spec", "template", "metadata", "annotations"))
    return places


def _label_places(state: ObjectState, *, selectors: bool) -> list[KeyPath]:
    places: list[KeyPath] = []
    if state.kind in _TEMPLATED:
        places.append(("spec", "template", "metadata", "labels"))
    if state.kind == "CronJob":
        places.append(("spec", "jobTemplate", "spec", "template", "metadata", "labels"))
    if not selectors:
        return places
    if state.kind in _SELECTING:
        places.append(("spec", "selector", "matchLabels"))
    if state.kind == "Service" and not state.group:
        places.append(("spec", "selector"))
    if state.kind == "PodDisruptionBudget" and isinstance(
        state.value("spec", "selector", "matchLabels"), dict
    ):
        places.append(("spec", "selector", "matchLabels"))
    return places


def _images(node: Node, at: KeyPath) -> Iterator[tuple[KeyPath, ScalarNode]]:
    """Yield the images of all containers below a node."""
    stack: list[tuple[Node, KeyPath]] = [(node, at)]
    left = sum(1 for _ in iterate_nodes(node)) * 4  # aliases may multiply what there is to visit
    while stack and left > 0:
        current, here = stack.pop()
        left -= 1
        if isinstance(current, MappingNode):
            for key, value in current.value:
                if not isinstance(key, ScalarNode):
                    continue
                path = (*here, str(key.value))
                if key.value == "image" and here[-2:-1] in (("containers",), ("initContainers",)):
                    if isinstance(value, ScalarNode):
                        yield path, value
                elif not isinstance(value, ScalarNode):
                    stack.append((value, path))
        elif isinstance(current, SequenceNode):
            stack += [(item, (*here, index)) for index, item in enumerate(current.value)]
