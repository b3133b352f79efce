"""Pod templates at any depth in any kind."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint import limits
from shutdownlint.manifests.decoding import FieldError, decode, shape_of
from shutdownlint.manifests.misspelled import misspelled_keys
from shutdownlint.manifests.object_id import ObjectId
from shutdownlint.manifests.objects import FoundObject, as_object
from shutdownlint.manifests.resources import (
    Metadata,
    PodSpec,
    PodTemplate,
    WorkloadSpec,
)
from shutdownlint.manifests.skips import (
    FRAGMENT,
    PATCH_BY_NAME,
    SkipReason,
)
from shutdownlint.patterns import lazy_pattern
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.tree import Tree, child, value_budget

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.document import Document, NodeRef
    from shutdownlint.manifests.kinds import KindTable
    from shutdownlint.manifests.live_objects import LiveObjects
    from shutdownlint.manifests.misspelled import MisspelledKey
    from shutdownlint.yaml_source.location import KeyPath

_PATCH_NAME: Final = lazy_pattern(r"(?:^|[-_.])patch(?:es)?(?:[-_.]|$)", re.IGNORECASE)
_ASSERTION_NAME: Final = lazy_pattern(
    r"(?:^|[-_.])(?:assert|errors)(?:[-_.]|$)|^\d+-(?:assert|errors)", re.IGNORECASE
)
#: Kinds that the API server takes with a selector only.
_NEED_SELECTOR: Final = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")


class Workload(Struct, frozen=True, eq=False):
    """A pod template with the object that holds it.

    ``owner`` is the metadata of that object. ``incomplete``: why the template is not a complete
    pod. ``unresolved``: a placeholder replaces a whole part of the pod.
    ``annotations_at`` and ``spec_at`` are set where the pod's annotations or spec are not
    ``metadata.annotations`` and ``spec`` of ``ref``. ``default_grace`` is the grace period that
    whoever makes the pod gives it, and who that is, if none is written.
    """

    id: ObjectId
    group: str
    ref: NodeRef
    object_ref: NodeRef
    owner: Metadata
    template: PodTemplate
    rejected: list[FieldError] = field(default_factory=list)
    duplicates: list[NodeRef] = field(default_factory=list)
    misspelled: list[MisspelledKey] = field(default_factory=list)
    incomplete: SkipReason | None = None
    #: Whether the object selects its pods: a patch hardly ever says that.
    has_selector: bool = False
    unresolved: bool = False
    #: The replacement of its pods; empty for a bare Pod.
    update: WorkloadSpec = field(default_factory=WorkloadSpec)
    update_rejected: list[FieldError] = field(default_factory=list)
    owner_rejected: list[FieldError] = field(default_factory=list)
    annotations_at: NodeRef | None = None
    default_grace: tuple[int, str] | None = None
    spec_at: NodeRef | None = None
    batch: bool = False
    #: Whether its template is a pod that exists: nothing is added to that any more.
    created: bool = False
    #: Whether a controller makes it from an object that has no pod template.
    derived: bool = False
    #: The object that describes the pod, if not a pod template: little of it is certain.
    described_by: SkipReason | None = None
    #: Its namespace where something else than the manifest decides it.
    assigned_namespace: str | None = None

    @property
    def spec(self) -> NodeRef:
        """The pod spec."""
        return self.spec_at or self.ref / "spec"

    @property
    def annotations(self) -> NodeRef:
        """The pod's annotations."""
        return self.annotations_at or self.ref / "metadata" / "annotations"

    @property
    def runs_to_completion(self) -> bool:
        """Whether its pods end by themselves."""
        policy = self.template.spec.restartPolicy
        return self.batch or policy in ("Never", "OnFailure")

    @property
    def namespace(self) -> str | None:
        """Its namespace, as far as the files show it."""
        return self.assigned_namespace or self.id.namespace or self.template.metadata.namespace


def find_workloads(document: Document, kinds: KindTable) -> Iterator[Workload]:
    """Yield the pod templates of a document. Raises ``BudgetExceededError``."""
    checked: set[KeyPath] = set()
    for key_path, owner in _templates(document.tree.root, kinds):
        workload = _workload(document, key_path, owner)
        first = owner.key_path not in checked
        checked.add(owner.key_path)
        yield replace(
            workload,
            batch=owner.kind in kinds.batch_kinds,
            duplicates=list(_duplicates(document, owner.key_path)) if first else [],
            misspelled=list(misspelled_keys(workload.template.spec, workload.spec)),
            incomplete=incomplete_reason(workload),
        )


def has_workloads(document: Document, kinds: KindTable) -> bool:
    """Whether a document holds a pod template. Raises ``BudgetExceededError``."""
    return next(_templates(document.tree.root, kinds), None) is not None


def child_at(root: Node, key_path: KeyPath) -> Node | None:
    """Return the node at a key path."""
    entry = Tree(root).entry(key_path)
    return entry.value if entry else None


def incomplete_reason(workload: Workload) -> SkipReason | None:
    """Why a pod template is a patch, an assertion or another fragment, if it is one."""
    file = workload.ref.document.file
    stem = file.rpartition("/")[2].rpartition(".")[0]
    lacks_selector = workload.id.kind in _NEED_SELECTOR and not workload.has_selector
    asserts = lacks_selector and _ASSERTION_NAME.search(stem)
    if asserts or (not workload.has_selector and _PATCH_NAME.search(stem)):
        return PATCH_BY_NAME
    # An image of a wrong type is a mistake as well.
    wrong = {e.key_path[2] for e in workload.rejected if e.key_path[3:] == ("image",)}
    images = [
        container.image is not None or number in wrong
        for number, container in enumerate(workload.template.spec.containers)
    ]
    # A patch hardly ever has a selector; the image of an injected container may be left out.
    complete = any(images) if workload.has_selector else all(images)
    # A name of a wrong type is a mistake of its own, and reported.
    named = workload.id.name != "" or any(e.key_path == ("name",) for e in workload.owner_rejected)
    return None if complete and named else FRAGMENT


def _templates(root: Node, kinds: KindTable) -> Iterator[tuple[KeyPath, FoundObject]]:
    """Yield the routes of all pod-shaped places, each with the innermost object around it.

    Raises ``BudgetExceededError`` where aliases multiply what there is to visit.
    """
    stack: list[tuple[Node, KeyPath, FoundObject | None]] = [(root, (), None)]
    left = value_budget(root)
    while stack:
        node, key_path, owner = stack.pop()
        left -= 1
        if left < 0:
            raise BudgetExceededError
        if len(key_path) > limits.MAX_TEMPLATE_DEPTH:
            continue
        if isinstance(node, SequenceNode):
            items = reversed(list(enumerate(node.value)))
            stack.extend((item, (*key_path, index), owner) for index, item in items)
        elif isinstance(node, MappingNode):
            # The last of duplicate keys is the one that counts.
            entries = {key.value: value for key, value in node.value if type(key) is ScalarNode}
            if ("kind" in entries and "apiVersion" in entries) or "<<" in entries:
                owner = as_object(node, key_path) or owner
            if owner is not None and _only_describes(owner, kinds):
                continue
            if (
                owner is not None
                and _holds_pod_spec(key_path, owner, kinds)
                and _has_containers(node)
            ):
                yield key_path[:-1], owner
                continue
            stack += [
                (value, (*key_path, text), owner)
                for text, value in reversed(entries.items())
                if type(value) is not ScalarNode and text != "openAPIV3Schema"
            ]


def _only_describes(owner: FoundObject, kinds: KindTable) -> bool:
    return owner.kind == "CustomResourceDefinition" or owner.group in kinds.describing_groups


def _holds_pod_spec(key_path: KeyPath, owner: FoundObject, kinds: KindTable) -> bool:
    """Whether a pod spec belongs here: ``spec`` under a template, or a Pod's own."""
    if not key_path or key_path[-1] != "spec":
        return False
    if key_path[:-1] == owner.key_path:
        group = "" if owner.kind == "Pod" else owner.group
        return (group, owner.kind) in kinds.pod_kinds
    above = key_path[-2] if len(key_path) > 1 else None
    return isinstance(above, str) and above.lower().endswith("template")


def _has_containers(node: MappingNode) -> bool:
    entry = child(node, "containers")
    if entry is None or not isinstance(entry.value, SequenceNode) or not entry.value.value:
        return False
    return all(
        isinstance(item, MappingNode) and (child(item, "name") or child(item, "image"))
        for item in entry.value.value
    )


def _workload(document: Document, key_path: KeyPath, owner: FoundObject) -> Workload:
    shape = shape_of(Metadata)
    written = document.tree.to_python((*owner.key_path, "metadata"), shape)
    metadata, owner_rejected = decode(Metadata, written)
    template, rejected = read_template(document, key_path)
    name = metadata.name or metadata.generateName or ""
    update, update_rejected = _update_spec(document, owner)
    return Workload(
        id=ObjectId(owner.kind, name, metadata.namespace),
        group=owner.group,
        ref=document.ref(*key_path),
        object_ref=document.ref(*owner.key_path),
        owner=metadata,
        template=template,
        rejected=[error for error in rejected if not error.unresolved],
        unresolved=any(error.unresolved for error in rejected),
        update=update,
        update_rejected=update_rejected,
        owner_rejected=[error for error in owner_rejected if not error.unresolved],
        has_selector=document.tree.entry((*owner.key_path, "spec", "selector")) is not None,
    )


def read_template(document: Document, key_path: KeyPath) -> tuple[PodTemplate, list[FieldError]]:
    """Return pod template at ``key_path``, and the values that the API server would not take."""
    data = {
        "metadata": document.tree.to_python((*key_path, "metadata"), shape_of(Metadata)),
        "spec": document.tree.to_python((*key_path, "spec"), shape_of(PodSpec)),
    }
    if data["metadata"] is None:
        del data["metadata"]
    return decode(PodTemplate, data)


def as_it_runs(workload: Workload, live: LiveObjects) -> Workload | None:
    """Return the workload as a cluster runs it; None where another object is checked for it."""
    file = workload.ref.document.file
    found = live.checked_as(workload.id, file)
    if found is None:
        return None
    owner, pod = found
    if pod is None:
        return replace(workload, id=owner, created=live.holds_pod(workload.id, file))
    ref = live.running(pod)
    template, rejected = read_template(ref.document, ref.key_path)
    return replace(
        workload,
        ref=ref,
        template=template,
        rejected=rejected,
        duplicates=[],
        misspelled=[],
        created=True,
    )


def _update_spec(document: Document, owner: FoundObject) -> tuple[WorkloadSpec, list[FieldError]]:
    """Read how the pods of the object are replaced."""
    if owner.group not in ("apps", "argoproj.io"):
        return WorkloadSpec(), []
    spec = (*owner.key_path, "spec")
    tree = document.tree
    data = {name: tree.to_python((*spec, name)) for name in WorkloadSpec.__struct_fields__}
    model, rejected = decode(WorkloadSpec, data)
    return model, [error for error in rejected if not error.unresolved]


def _has_duplicates(root: Node) -> bool:
    """Whether a mapping has a key twice; quicker than finding out where."""
    stack, seen = [root], set[int]()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if type(node) is MappingNode:
            keys = [key.value for key, _ in node.value if type(key) is ScalarNode]
            if len(set(keys)) < len(keys):
                return True
            stack += [value for _, value in node.value if type(value) is not ScalarNode]
        elif type(node) is SequenceNode:
            stack += [item for item in node.value if type(item) is not ScalarNode]
    return False


def _duplicates(document: Document, key_path: KeyPath) -> Iterator[NodeRef]:
    """Keys of the object that are in one mapping twice."""
    root = child_at(document.tree.root, key_path)
    if root is None or not _has_duplicates(root):
        return
    stack: list[tuple[Node | None, KeyPath]] = [(root, key_path)]
    seen: set[int] = set()
    while stack:
        node, here = stack.pop()
        if len(here) > limits.MAX_TEMPLATE_DEPTH or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, SequenceNode):
            stack.extend((item, (*here, index)) for index, item in enumerate(node.value))
        elif isinstance(node, MappingNode):
            entries = [(k.value, value) for k, value in node.value if type(k) is ScalarNode]
            counts = Counter(text for text, _ in entries)
            twice = (text for text, count in counts.items() if count > 1)
            yield from (document.ref(*here, text).key for text in twice if text != "<<")
            stack += [
                (value, (*here, text)) for text, value in entries if type(value) is not ScalarNode
            ]
