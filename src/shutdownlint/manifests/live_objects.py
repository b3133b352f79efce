"""Objects as a cluster gives them: a Deployment, its ReplicaSets and its pods are one workload.

The pod that runs shows what policies and meshes have put into it, so it is what is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.manifests.decoding import mappings, value_at
from shutdownlint.manifests.object_id import ObjectId

if TYPE_CHECKING:
    from shutdownlint.manifests.document import Document, NodeRef

#: The source of a running pod, in place of a template.
OWNER: Final = "the owner of the pod"
_HASH: Final = "pod-template-hash"
_ENDED: Final = ("Succeeded", "Failed")
#: Controllers whose pods are alike; pods of others (a Node, a custom resource) are single.
_CONTROLLERS: Final = (
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "ReplicationController",
)
#: The makers of objects that make pods.
_MADE_BY: Final = (
    ("ReplicaSet", "Deployment"),
    ("ReplicaSet", "Rollout"),
    ("Job", "CronJob"),
)


class _Live(Struct, frozen=True):
    """An object that others own: whether it counts (it is not a remainder), its age, its place."""

    counts: bool
    created: str
    id: ObjectId
    ref: NodeRef

    @property
    def file(self) -> str:
        """The file that it is in."""
        return self.ref.document.file

    @property
    def rank(self) -> tuple[bool, bool, str, str]:
        """The rank by which one is a better example of its owner than another."""
        return self.id.kind == "Pod", self.counts, self.created, self.id.name


class _Dump(Struct):
    """The objects of one file: who owns whom, and the best example of what each owner makes."""

    owners: dict[ObjectId, ObjectId] = field(default_factory=dict)
    present: set[ObjectId] = field(default_factory=set)
    examples: dict[ObjectId, _Live] = field(default_factory=dict)
    #: The best example of what each direct maker makes.
    made: dict[ObjectId, _Live] = field(default_factory=dict)

    def add(self, identity: ObjectId, ref: NodeRef, data: Any) -> None:
        self.present.add(identity)
        owners = mappings(value_at(data, "metadata", "ownerReferences"))
        owner = next((each for each in owners if each.get("controller") is True), None)
        if owner is None or not _makes(str(owner.get("kind")), identity.kind):
            return
        maker = ObjectId(str(owner.get("kind")), str(owner.get("name")), identity.namespace)
        self.owners[identity] = maker
        hashed = value_at(data, "metadata", "labels", _HASH)
        if maker.kind == "ReplicaSet" and isinstance(hashed, str):
            # Its Deployment is known from the name, also where the ReplicaSet is not there.
            name = maker.name.removesuffix(f"-{hashed}")
            self.owners.setdefault(maker, ObjectId("Deployment", name, identity.namespace))
        ended = value_at(data, "status", "phase") in _ENDED
        leaving = value_at(data, "metadata", "deletionTimestamp") is not None
        scaled = value_at(data, "spec", "replicas") != 0
        created = str(value_at(data, "metadata", "creationTimestamp") or "")
        live = _Live(scaled and not ended and not leaving, created, identity, ref)
        for known, key in ((self.examples, self.top(identity)), (self.made, maker)):
            if key not in known or live.rank > known[key].rank:
                known[key] = live

    def top(self, identity: ObjectId) -> ObjectId:
        """Return the object that owns the others."""
        for _ in range(limits.MAX_OWNERS):
            owner = self.owners.get(identity)
            if owner is None:
                break
            identity = owner
        return identity


class LiveObjects(Struct):
    """The dumps of clusters among the files. Two files may be of two clusters.

    Only where one file has no owner for its objects, another one of the folder is looked at.
    """

    _dumps: dict[str, _Dump] = field(default_factory=dict)
    _documents: dict[int, Document] = field(default_factory=dict)

    def running(self, pod: NodeRef) -> NodeRef:
        """Return a pod of the cluster as the template of its owner: it is not what is edited."""
        document = pod.document
        if id(document) not in self._documents:
            self._documents[id(document)] = replace(document, template=OWNER)
        return replace(pod, document=self._documents[id(document)])

    def copy(self) -> LiveObjects:
        """Return the same dumps, to which others can be added."""
        return LiveObjects(dict(self._dumps), dict(self._documents))

    def add(self, ref: NodeRef, data: Any) -> None:
        """Add an object, with its metadata, ``spec.replicas`` and ``status.phase``."""
        kind, name = data.get("kind"), value_at(data, "metadata", "name")
        namespace = value_at(data, "metadata", "namespace")
        if isinstance(kind, str) and isinstance(name, str):
            identity = ObjectId(kind, name, namespace if isinstance(namespace, str) else None)
            self._dumps.setdefault(ref.document.file, _Dump()).add(identity, ref, data)

    def holds_pod(self, identity: ObjectId, file: str) -> bool:
        """Whether an object is a pod of a cluster."""
        dump = self._dumps.get(file)
        return identity.kind == "Pod" and dump is not None and identity in dump.present

    def checked_as(self, identity: ObjectId, file: str) -> tuple[ObjectId, NodeRef | None] | None:
        """Return the identity to check an object as: its owner, and the pod that shows how it runs.

        None where another object is checked for it.
        """
        dump = self._dumps.get(file)
        if dump is None or identity not in dump.present:
            return identity, None
        top = dump.top(identity)
        if top == identity:
            example = dump.examples.get(top) or self._elsewhere(top, file)
            return top, example.ref if example is not None and example.id.kind == "Pod" else None
        # Without the owner it is not known which of several templates is the current one.
        maker = dump.owners[identity]
        alone = identity.kind == "Pod" and maker not in dump.present
        best = dump.made.get(maker) if alone else dump.examples.get(top)
        if top in dump.present or best is None or best.id != identity:
            return None
        return (top, None) if self._contested(top, file) else None

    def _elsewhere(self, top: ObjectId, file: str) -> _Live | None:
        """Return an example of what an owner makes in the only other file that has one."""
        found = [
            dump.examples[top]
            for dump in self._beside(file)
            if top in dump.examples and dump.examples[top].id.kind == "Pod"
        ]
        return found[0] if len(found) == 1 and not self._contested(top, found[0].file) else None

    def _contested(self, top: ObjectId, file: str) -> bool:
        """Whether several files could hold the owner of the objects of a file."""
        return sum(top in dump.present for dump in self._beside(file)) != 1

    def _beside(self, file: str) -> list[_Dump]:
        """Return the other files of a folder."""
        folder = file.rpartition("/")[0]
        return [
            dump
            for other, dump in self._dumps.items()
            if other != file and other.rpartition("/")[0] == folder
        ]


def _makes(owner: str, kind: str) -> bool:
    """Whether an owner makes objects of a kind as its own workload."""
    return owner in _CONTROLLERS if kind == "Pod" else (kind, owner) in _MADE_BY
