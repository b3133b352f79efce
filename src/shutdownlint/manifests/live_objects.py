"""Objects as a cluster gives them: a Deployment, its ReplicaSets and its pods are one workload.

The pod that runs shows what policies and meshes have put into it, so it is what is checked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from shutdownlint.manifests.decoding import mappings, value_at
from shutdownlint.manifests.object_id import ObjectId

if TYPE_CHECKING:
    from shutdownlint.manifests.document import NodeRef

_HASH: Final = "pod-template-hash"
#: An owner's owner has an owner at most: Pod, Job, CronJob.
_MOST_OWNERS: Final = 4
_ENDED: Final = ("Succeeded", "Failed")


class _Live(Struct, frozen=True):
    """An object that others own: whether it counts (it is no remainder), its age, its place."""

    counts: bool
    created: str
    id: ObjectId
    ref: NodeRef

    @property
    def rank(self) -> tuple[bool, bool, str, str]:
        """What makes one a better example of its owner than another."""
        return self.id.kind == "Pod", self.counts, self.created, self.id.name


class LiveObjects(Struct):
    """Who owns whom among the objects of a cluster."""

    _owners: dict[ObjectId, ObjectId] = field(default_factory=dict)
    _present: set[ObjectId] = field(default_factory=set)
    _examples: dict[ObjectId, _Live] = field(default_factory=dict)

    def copy(self) -> LiveObjects:
        """The same objects, to which others can be added."""
        return LiveObjects(dict(self._owners), set(self._present), dict(self._examples))

    def add(self, ref: NodeRef, data: Any) -> None:
        """Add an object, with its metadata, ``spec.replicas`` and ``status.phase``."""
        metadata = data.get("metadata")
        kind, name = data.get("kind"), value_at(data, "metadata", "name")
        if not isinstance(metadata, dict) or not isinstance(kind, str) or not isinstance(name, str):
            return
        namespace = metadata.get("namespace")
        identity = ObjectId(kind, name, namespace if isinstance(namespace, str) else None)
        self._present.add(identity)
        owners = mappings(metadata.get("ownerReferences"))
        owner = next((each for each in owners if each.get("controller") is True), None)
        if owner is None:
            return
        self._owners[identity] = ObjectId(
            str(owner.get("kind")), str(owner.get("name")), identity.namespace
        )
        hashed = value_at(metadata, "labels", _HASH)
        replica_set = self._owners[identity]
        if kind == "Pod" and replica_set.kind == "ReplicaSet" and isinstance(hashed, str):
            # Its Deployment is known from the name, also where the ReplicaSet is not there.
            name = replica_set.name.removesuffix(f"-{hashed}")
            deployment = ObjectId("Deployment", name, identity.namespace)
            self._owners.setdefault(replica_set, deployment)
        self._note_example(identity, ref, data)

    def _note_example(self, identity: ObjectId, ref: NodeRef, data: Any) -> None:
        ended = value_at(data, "status", "phase") in _ENDED
        leaving = value_at(data, "metadata", "deletionTimestamp") is not None
        scaled = value_at(data, "spec", "replicas") != 0
        created = str(value_at(data, "metadata", "creationTimestamp") or "")
        live = _Live(scaled and not ended and not leaving, created, identity, ref)
        top = self._top(identity)
        if top not in self._examples or live.rank > self._examples[top].rank:
            self._examples[top] = live

    def _top(self, identity: ObjectId) -> ObjectId:
        for _ in range(_MOST_OWNERS):
            owner = self._owners.get(identity)
            if owner is None:
                break
            identity = owner
        return identity

    def checked_as(self, identity: ObjectId) -> tuple[ObjectId, NodeRef | None] | None:
        """What an object is checked as: its owner, and the pod that shows how it runs.

        None where another object is checked for it.
        """
        top = self._top(identity)
        example = self._examples.get(top)
        if top == identity:
            return top, example.ref if example is not None and example.id.kind == "Pod" else None
        if top in self._present or example is None or example.id != identity:
            return None
        return top, None
