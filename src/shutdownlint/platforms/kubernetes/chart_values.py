"""Pods as the values of charts describe them, under the names that charts usually give them.

How a chart uses its values is not known, so only what no chart could make right is reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint import limits
from shutdownlint.manifests.document import EmbeddedNodeRef, Graft, NodeRef
from shutdownlint.manifests.object_id import ObjectId
from shutdownlint.manifests.patched import PatchedDocument
from shutdownlint.manifests.skips import HELM_VALUES
from shutdownlint.manifests.workloads import Workload, read_template
from shutdownlint.platforms.helm_installs import helm_installs
from shutdownlint.platforms.registry import proxy_labels
from shutdownlint.yaml_source.composer import ComposeError
from shutdownlint.yaml_source.scalars import UNTAGGED
from shutdownlint.yaml_source.tree import child, key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.document import Source
    from shutdownlint.manifests.object_index import RawObject
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.helm_installs import HelmInstall, HelmValues
    from shutdownlint.yaml_source.location import KeyPath

_GRACE: Final = "terminationGracePeriodSeconds"
_HOOKS: Final = ("lifecycle", "lifecycleHooks")
_ANNOTATIONS: Final = "podAnnotations"
#: Where the pod is put in the document of the values; no key of values is called so.
_PLACE: Final = "\0pod"


def values_workloads(context: AnalysisContext) -> Iterator[Workload]:
    """Yield the pods that values describe: of whole files, and of parts for subcharts."""
    seen: set[tuple[int, KeyPath]] = set()
    for obj in context.index.raw:
        if not context.index.read(obj, _describes_pods):
            continue
        for install, name, node, place in _all_parts(obj):
            # An object may be read for several reasons.
            key = id(obj.ref.document), (*install.values, name) if name else install.values
            workload = None if key in seen else _pod(obj, name, node, place)
            seen.add(key)
            if workload is not None:
                yield workload


def _describes_pods(obj: RawObject) -> bool:
    """Whether the values of an object say anything about a pod: few do."""
    return any(_says_something(node) for _, _, node, _ in _all_parts(obj))


def _all_parts(obj: RawObject) -> Iterator[tuple[HelmInstall, str, Node, Source]]:
    for install in helm_installs(obj):
        try:
            values = install.read_values()
        except ComposeError:
            continue  # reported by who installs the chart
        for name, node, place in _parts(values):
            yield install, name, node, place


def _parts(values: HelmValues) -> Iterator[tuple[str, Node, Source]]:
    """Yield the values themselves, and those of charts below the chart."""
    entry = values.tree.entry(values.key_path)
    if entry is None or not isinstance(entry.value, MappingNode):
        return
    source = values.location()
    assert isinstance(source, NodeRef | EmbeddedNodeRef)
    yield "", entry.value, source
    for key, value in entry.value.value[: limits.MAX_VALUES_PARTS]:
        name = key_text(key)
        if name is not None and isinstance(value, MappingNode):
            yield name, value, source / name


def _says_something(node: Node) -> bool:
    """Whether values have the annotations of a pod, or its grace period with a hook."""
    annotations = child(node, _ANNOTATIONS)
    written = annotations is not None and isinstance(annotations.value, MappingNode)
    if written and annotations is not None and annotations.value.value:
        return True
    return child(node, _GRACE) is not None and any(child(node, key) for key in _HOOKS)


def _pod(obj: RawObject, name: str, node: Node, place: Source) -> Workload | None:
    """Return the pod that a part of the values describes; None where it says nothing about one."""
    if not _says_something(node):
        return None
    grace, annotations = child(node, _GRACE), child(node, _ANNOTATIONS)
    hook = next(((key, entry) for key in _HOOKS if (entry := child(node, key))), None)
    written = annotations is not None and isinstance(annotations.value, MappingNode)
    mark = node.start_mark

    def text(value: str) -> ScalarNode:
        return ScalarNode(UNTAGGED, value, mark, mark)

    def mapping(**entries: Node) -> MappingNode:
        return MappingNode(UNTAGGED, [(text(k), v) for k, v in entries.items()], mark, mark)

    container = mapping(name=text(name or "app"), image=text("chart"))
    containers = SequenceNode(UNTAGGED, [container], mark, mark)
    skeleton = mapping(metadata=mapping(), spec=mapping(containers=containers))
    at = (_PLACE,)
    grafts = [Graft(at, skeleton, place)]
    if grace is not None:
        grafts.append(Graft((*at, "spec", _GRACE), grace.value, place / _GRACE))
    if hook is not None:
        key, entry = hook
        container_at: KeyPath = (*at, "spec", "containers", 0)
        grafts.append(Graft((*container_at, "lifecycle"), entry.value, place / key))
    if written and annotations is not None:
        graft = Graft((*at, "metadata", "annotations"), annotations.value, place / _ANNOTATIONS)
        grafts.append(graft)
    document = PatchedDocument.of(obj.ref.document, grafts)
    template, _ = read_template(document, at)  # what has another type has another meaning
    labels = proxy_labels(template.metadata.annotations)
    if labels:  # whoever annotates a proxy wants it to be there
        template = replace(template, metadata=replace(template.metadata, labels=labels))
    owner = obj.ref.document.tree.to_python((*obj.ref.key_path, "metadata", "name"))
    return Workload(
        id=ObjectId("HelmValues", _title(owner, name), None),
        group="",
        ref=document.ref(*at),
        object_ref=document.ref(*at),
        owner=template.metadata,
        template=template,
        described_by=HELM_VALUES,
    )


def _title(owner: Any, name: str) -> str:
    parts = [part for part in (owner if isinstance(owner, str) else "", name) if part]
    return "/".join(parts) or "values"
