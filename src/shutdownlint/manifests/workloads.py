"""Pod templates at any depth in any kind, and the objects that give them their context."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from msgspec import Struct, field
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from shutdownlint.manifests.decoding import FieldError, decode, shape_of
from shutdownlint.manifests.resources import (
    BackendConfig,
    ConfigMap,
    Gateway,
    GCPBackendPolicy,
    Ingress,
    Kustomization,
    KyvernoPolicy,
    Metadata,
    Namespace,
    NodePool,
    PodDisruptionBudget,
    PodSpec,
    PodTemplate,
    ProxyConfigResource,
    Resource,
    Scaler,
    Service,
    TargetGroupConfiguration,
    WorkloadSpec,
)
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.tree import ALIAS_BUDGET, Tree, child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.document import Document, NodeRef
    from shutdownlint.yaml_source.location import KeyPath

#: Groups whose objects only describe pods: policies, their tests, admission templates.
DESCRIBING_GROUPS: Final = frozenset(
    (
        "kyverno.io",
        "policies.kyverno.io",
        "cli.kyverno.io",
        "chainsaw.kyverno.io",
        "kuttl.dev",
        "templates.gatekeeper.sh",
        "mutations.gatekeeper.sh",
        "admissionregistration.k8s.io",
    )
)
#: istiod's container.
CONTROL_PLANE: Final = "discovery"
KNATIVE_GROUP: Final = "serving.knative.dev"
#: Kinds whose pods run to completion: no Service sends them requests.
BATCH_KINDS: Final = frozenset(
    ("Job", "CronJob", "ScaledJob", "BroadcastJob", "AdvancedCronJob", "AnalysisTemplate")
)
_PATCH_NAME: Final = re.compile(r"(?:^|[-_.])patch(?:es)?(?:[-_.]|$)", re.IGNORECASE)
_ASSERTION_NAME: Final = re.compile(
    r"(?:^|[-_.])(?:assert|errors)(?:[-_.]|$)|^\d+-(?:assert|errors)", re.IGNORECASE
)
_DEEPEST: Final = 64
_AnyModel = TypeVar("_AnyModel", bound=Resource)


class ObjectId(Struct, frozen=True):
    """What an object is called."""

    kind: str
    name: str
    namespace: str | None

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name}"


class Workload(Struct, eq=False):
    """A pod template with the object that holds it."""

    id: ObjectId
    group: str
    ref: NodeRef
    object_ref: NodeRef
    owner: Metadata
    template: PodTemplate
    rejected: list[FieldError] = field(default_factory=list)
    duplicates: list[NodeRef] = field(default_factory=list)
    partial: str | None = None
    #: Whether the object selects its pods: a patch hardly ever says that.
    has_selector: bool = False
    #: Whether a placeholder stands where a whole part of the pod belongs.
    hidden: bool = False
    #: How its pods are replaced; nothing of it for a bare Pod.
    rolling: WorkloadSpec = field(default_factory=WorkloadSpec)
    rolling_rejected: list[FieldError] = field(default_factory=list)
    #: The pod's annotations, where they are not ``metadata.annotations`` of ``ref``.
    annotations_at: NodeRef | None = None
    #: The grace period that whoever makes the pod gives it, and who that is, if none is written.
    usual_grace: tuple[int, str] | None = None
    #: The pod spec, where it is not ``spec`` of ``ref``.
    spec_at: NodeRef | None = None

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
        return self.id.kind in BATCH_KINDS or policy in ("Never", "OnFailure")

    @property
    def knative(self) -> bool:
        """Whether Knative, not this template, decides how its pods stop."""
        return self.group == KNATIVE_GROUP


_Model_co = TypeVar("_Model_co", covariant=True)


class LoadedResource(Struct, Generic[_Model_co], frozen=True, eq=False):
    """A typed object that is no workload, and where it stands."""

    model: _Model_co
    ref: NodeRef


class MeshInstall(Struct, frozen=True, eq=False):
    """Where an installation of Istio keeps its values.

    ``kind`` names the object; ``values`` is the route of its Helm values; ``mesh_config`` that of
    another place for the mesh configuration, where there is one; ``rendered``: the values become
    the mesh's ConfigMap as they are, types included.
    """

    kind: str
    ref: NodeRef
    values: KeyPath
    mesh_config: KeyPath | None = None
    rendered: bool = False
    #: Where the chart's version stands, which is the release.
    release: KeyPath | None = None


class ObjectIndex(Struct):
    """Everything typed that a run has read."""

    workloads: list[Workload] = field(default_factory=list)
    others: dict[type[Resource], list[LoadedResource[Any]]] = field(default_factory=dict)
    mesh_installs: list[MeshInstall] = field(default_factory=list)
    #: istiod's own workloads, which stand among the others too.
    control_planes: list[Workload] = field(default_factory=list)
    patch_files: set[str] = field(default_factory=set)
    #: Values of the other objects that the API server would not take.
    rejected: list[tuple[NodeRef, FieldError]] = field(default_factory=list)

    def of(self, model: type[_AnyModel]) -> list[LoadedResource[_AnyModel]]:
        """Every object of this type."""
        return self.others.get(model, [])

    def add(self, more: ObjectIndex) -> None:
        """Add what was read after these."""
        self.workloads += more.workloads
        for model, found in more.others.items():
            self.others.setdefault(model, []).extend(found)
        self.mesh_installs += more.mesh_installs
        self.control_planes += more.control_planes
        self.patch_files |= more.patch_files
        self.rejected += more.rejected


class _Object(Struct, frozen=True):
    """An object met on the way down, with its route."""

    kind: str
    group: str
    key_path: KeyPath


def collect(document: Document, objects: ObjectIndex) -> None:
    """Add what the document holds to ``objects``. Raises ``BudgetExceededError``."""
    root = document.tree.root
    if document.file.rpartition("/")[2].startswith("kustomization."):
        _kustomization(document, (), objects)
        return
    for found in _objects(root):
        _context(document, found, objects)
    if _text(root, "kind") is None and child(root, "meshConfig") is not None:
        install = MeshInstall("Helm values", document.ref(), (), rendered=True)
        objects.mesh_installs.append(install)
    checked: set[KeyPath] = set()
    for key_path, owner in _templates(root):
        workload = _workload(document, key_path, owner)
        if owner.key_path not in checked:
            checked.add(owner.key_path)
            workload.duplicates = list(_duplicates(document, owner.key_path))
        objects.workloads.append(workload)
        if any(c.name == CONTROL_PLANE for c in workload.template.spec.containers):
            objects.control_planes.append(workload)


def child_at(root: Node, key_path: KeyPath) -> Node | None:
    """The node at a route."""
    entry = Tree(root).entry(key_path)
    return entry.value if entry else None


def mark_incomplete(objects: ObjectIndex) -> None:
    """Tell complete pod templates from patches, assertions and other fragments."""
    for workload in objects.workloads:
        workload.partial = _partial(workload, objects.patch_files)


def _partial(workload: Workload, patch_files: set[str]) -> str | None:
    file = workload.ref.document.file
    if file in patch_files:
        return "kustomize patches"
    stem = file.rpartition("/")[2].rpartition(".")[0]
    if _ASSERTION_NAME.search(stem) or (_PATCH_NAME.search(stem) and not workload.has_selector):
        return "patches and assertions, by the file's name"
    if workload.id.name == "" or any(c.image is None for c in workload.template.spec.containers):
        return "pod templates without images (patches and fragments)"
    return None


def _objects(root: Node) -> Iterator[_Object]:
    """The objects of a document: its root, or the items of a List."""
    top = _as_object(root, ())
    if top is None:
        return
    yield top
    if top.kind.endswith("List"):
        items = child(root, "items")
        if items is not None and isinstance(items.value, SequenceNode):
            for index, item in enumerate(items.value.value):
                found = _as_object(item, ("items", index))
                if found is not None:
                    yield found


def _as_object(node: Node, key_path: KeyPath) -> _Object | None:
    kind, version = _text(node, "kind"), _text(node, "apiVersion")
    if kind is None or version is None:
        return None
    group, _, rest = version.rpartition("/")
    return _Object(kind, group if rest else "", key_path)


def _text(node: Node, key: str) -> str | None:
    entry = child(node, key)
    if entry is None or not isinstance(entry.value, ScalarNode):
        return None
    return str(entry.value.value)


def _templates(root: Node) -> Iterator[tuple[KeyPath, _Object]]:
    """The routes of all pod-shaped places, each with the innermost object around it.

    Raises ``BudgetExceededError`` where aliases multiply what there is to visit.
    """
    stack: list[tuple[Node, KeyPath, _Object | None]] = [(root, (), None)]
    left = ALIAS_BUDGET
    while stack:
        node, key_path, owner = stack.pop()
        left -= 1
        if left < 0:
            raise BudgetExceededError
        if len(key_path) > _DEEPEST:
            continue
        if isinstance(node, SequenceNode):
            items = reversed(list(enumerate(node.value)))
            stack.extend((item, (*key_path, index), owner) for index, item in items)
        elif isinstance(node, MappingNode):
            # The last of duplicate keys is the one that counts.
            entries = {key.value: value for key, value in node.value if type(key) is ScalarNode}
            if ("kind" in entries and "apiVersion" in entries) or "<<" in entries:
                owner = _as_object(node, key_path) or owner
            if owner is not None and _only_describes(owner):
                continue
            if owner is not None and _pod_place(key_path, owner) and _has_containers(node):
                yield key_path[:-1], owner
                continue
            stack += [
                (value, (*key_path, text), owner)
                for text, value in reversed(entries.items())
                if type(value) is not ScalarNode and text != "openAPIV3Schema"
            ]


def _only_describes(owner: _Object) -> bool:
    return owner.kind == "CustomResourceDefinition" or owner.group in DESCRIBING_GROUPS


def _pod_place(key_path: KeyPath, owner: _Object) -> bool:
    """Whether a pod spec belongs here: ``spec`` under a template, or a Pod's own."""
    if not key_path or key_path[-1] != "spec":
        return False
    if key_path[:-1] == owner.key_path:
        return owner.kind == "Pod" or (owner.kind == "Revision" and owner.group == KNATIVE_GROUP)
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


def _workload(document: Document, key_path: KeyPath, owner: _Object) -> Workload:
    shape = shape_of(Metadata)
    metadata, _ = decode(Metadata, document.tree.plain((*owner.key_path, "metadata"), shape))
    data = {
        "metadata": document.tree.plain((*key_path, "metadata"), shape),
        "spec": document.tree.plain((*key_path, "spec"), shape_of(PodSpec)),
    }
    if data["metadata"] is None:
        del data["metadata"]
    template, rejected = decode(PodTemplate, data)
    name = metadata.name or metadata.generateName or ""
    rolling, wrong = _rolling(document, owner)
    return Workload(
        id=ObjectId(owner.kind, name, metadata.namespace),
        group=owner.group,
        ref=document.ref(*key_path),
        object_ref=document.ref(*owner.key_path),
        owner=metadata,
        template=template,
        rejected=[problem for problem in rejected if not problem.hidden],
        hidden=any(problem.hidden for problem in rejected),
        rolling=rolling,
        rolling_rejected=wrong,
        has_selector=document.tree.entry((*owner.key_path, "spec", "selector")) is not None,
    )


def _rolling(document: Document, owner: _Object) -> tuple[WorkloadSpec, list[FieldError]]:
    """How the pods of the object are replaced."""
    if owner.group not in ("apps", "argoproj.io"):
        return WorkloadSpec(), []
    spec = (*owner.key_path, "spec")
    tree = document.tree
    data = {name: tree.plain((*spec, name)) for name in WorkloadSpec.__struct_fields__}
    model, rejected = decode(WorkloadSpec, data)
    return model, [problem for problem in rejected if not problem.hidden]


def _duplicates(document: Document, key_path: KeyPath) -> Iterator[NodeRef]:
    """Keys of the object that stand twice in one mapping."""
    stack: list[tuple[Node | None, KeyPath]] = [(child_at(document.tree.root, key_path), key_path)]
    seen: set[int] = set()
    while stack:
        node, here = stack.pop()
        if len(here) > _DEEPEST or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, SequenceNode):
            stack.extend((item, (*here, index)) for index, item in enumerate(node.value))
        elif isinstance(node, MappingNode):
            keys = [key.value if type(key) is ScalarNode else "" for key, _ in node.value]
            if len(set(keys)) < len(keys):
                twice = (text for text, count in Counter(keys).items() if count > 1)
                yield from (document.ref(*here, text).key for text in twice if text != "<<")
            stack += [
                (value, (*here, text))
                for text, (_, value) in zip(keys, node.value, strict=True)
                if type(value) is not ScalarNode
            ]


_READERS: Final[dict[tuple[str, str], type[Resource]]] = {
    ("", "Service"): Service,
    ("", "Namespace"): Namespace,
    ("", "ConfigMap"): ConfigMap,
    ("networking.istio.io", "ProxyConfig"): ProxyConfigResource,
    ("gateway.networking.k8s.io", "Gateway"): Gateway,
    ("networking.k8s.io", "Ingress"): Ingress,
    ("cloud.google.com", "BackendConfig"): BackendConfig,
    ("networking.gke.io", "GCPBackendPolicy"): GCPBackendPolicy,
    ("gateway.k8s.aws", "TargetGroupConfiguration"): TargetGroupConfiguration,
    ("policy", "PodDisruptionBudget"): PodDisruptionBudget,
    ("autoscaling", "HorizontalPodAutoscaler"): Scaler,
    ("keda.sh", "ScaledObject"): Scaler,
    ("karpenter.sh", "NodePool"): NodePool,
    ("kyverno.io", "ClusterPolicy"): KyvernoPolicy,
    ("kyverno.io", "Policy"): KyvernoPolicy,
}
#: Whose wrong types are told. The others are only asked what they say of pods.
_CHECKED: Final = frozenset((Service, Namespace, ConfigMap, ProxyConfigResource))
#: Where installations of Istio keep Helm values, and a mesh configuration beside them. What
#: istioctl and Sail make of wrong types was not tried; Helm writes the values out as they are.
_INSTALLS: Final[dict[tuple[str, str], tuple[KeyPath, KeyPath | None, bool]]] = {
    ("install.istio.io", "IstioOperator"): (("spec", "values"), ("spec", "meshConfig"), False),
    ("sailoperator.io", "Istio"): (("spec", "values"), None, False),
    ("operator.istio.io", "Istio"): (("spec", "values"), None, False),
    ("helm.toolkit.fluxcd.io", "HelmRelease"): (("spec", "values"), None, True),
}


def _context(document: Document, found: _Object, objects: ObjectIndex) -> None:
    ref = document.ref(*found.key_path)
    known = (found.group, found.kind)
    if known == ("kustomize.config.k8s.io", "Kustomization"):
        _kustomization(document, found.key_path, objects)
    elif known in _INSTALLS:
        values, beside, rendered = _INSTALLS[known]
        install = MeshInstall(
            found.kind,
            ref,
            (*found.key_path, *values),
            (*found.key_path, *beside) if beside else None,
            rendered,
        )
        objects.mesh_installs.append(install)
    elif known == ("argoproj.io", "Application"):
        objects.mesh_installs += _applications(document, found, ref)
    elif known in _READERS:
        model = _READERS[known]
        typed, rejected = decode(model, document.tree.plain(found.key_path, shape_of(model)))
        if model in _CHECKED:
            objects.rejected += [(ref, problem) for problem in rejected if not problem.hidden]
        objects.others.setdefault(model, []).append(LoadedResource(typed, ref))


def _applications(document: Document, found: _Object, ref: NodeRef) -> Iterator[MeshInstall]:
    """Every source of an Argo Application that has Helm values, as an object or as a text."""
    spec: KeyPath = (*found.key_path, "spec")
    several = child_at(document.tree.root, (*spec, "sources"))
    count = len(several.value) if isinstance(several, SequenceNode) else 0
    for source in ((*spec, "source"), *((*spec, "sources", number) for number in range(count))):
        chart = document.tree.entry((*source, "chart")) is not None
        # The revision of a git repository is no release.
        release: KeyPath | None = (*source, "targetRevision") if chart else None
        for name in ("valuesObject", "values"):
            key_path: KeyPath = (*source, "helm", name)
            if document.tree.entry(key_path) is not None:
                yield MeshInstall(found.kind, ref, key_path, None, rendered=True, release=release)


def _kustomization(document: Document, key_path: KeyPath, objects: ObjectIndex) -> None:
    model, _ = decode(Kustomization, document.tree.plain(key_path))
    folder = PurePosixPath(document.file).parent
    for entries in (model.patches, model.patchesStrategicMerge, model.patchesJson6902):
        for entry in entries if isinstance(entries, list) else ():
            path = entry.get("path") if isinstance(entry, dict) else entry
            if isinstance(path, str) and "\n" not in path:
                objects.patch_files.add(_joined(folder, path))


def _joined(folder: PurePosixPath, path: str) -> str:
    parts: list[str] = list(folder.parts)
    for part in PurePosixPath(path).parts:
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return str(PurePosixPath(*parts)) if parts else "."
