"""The workload index: a small entry for each checked workload, for rules over all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.manifests.decoding import value_at
from shutdownlint.platforms.context import scope_of
from shutdownlint.platforms.locations import source_location
from shutdownlint.shutdown.provenance import OriginKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import Scope
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.yaml_source.location import Region

#: Names the team that a workload belongs to.
OWNER_ANNOTATION: Final = "shutdownlint.dev/owner"


class WorkloadEntry(Struct, frozen=True):
    """One workload. ``replicas`` is None where nodes or an autoscaler decide the number.

    ``port_names`` are those of its containers' ports.

    ``complete`` is false for patches and other fragments, which rules over all workloads count,
    but which is not known. ``derived``: a controller makes it from an object, so it does not show
    that the files have the workloads of its namespace. ``single`` is where one replica is written,
    of a workload that starts a new pod before the old one ends.
    """

    id: ObjectId
    scope: Scope
    labels: dict[str, str]
    region: Region
    replicas: int | None = None
    replicas_written: bool = False
    complete: bool = True
    port_names: frozenset[str] = frozenset()
    derived: bool = False
    single: Region | None = None
    #: The team that its annotation or label names.
    owner: str = ""


class WorkloadIndex:
    """The entries of a run, by where the workloads live.

    That of a variant knows the workloads of ``base`` too; ``entries`` are its own.
    """

    def __init__(self, base: WorkloadIndex | None = None) -> None:
        self._base = base
        self.entries: list[WorkloadEntry] = []
        self._by_scope: dict[Scope, list[WorkloadEntry]] = {}
        self._by_label: dict[tuple[Scope, str, str], list[WorkloadEntry]] = {}
        self._incomplete: set[Scope] = set()
        self._written: set[Scope] = set()
        #: The results for all workloads that a selector selects.
        self.selected: dict[tuple[int, Scope], int | None] = {}

    def add(self, entry: WorkloadEntry) -> None:
        """Add a workload."""
        self.entries.append(entry)
        self._by_scope.setdefault(entry.scope, []).append(entry)
        if not entry.complete:
            self._incomplete.add(entry.scope)
        if not entry.derived:
            self._written.add(entry.scope)
        for name, value in entry.labels.items():
            self._by_label.setdefault((entry.scope, name, value), []).append(entry)

    def in_scope(self, scope: Scope) -> Sequence[WorkloadEntry]:
        """Return the workloads that live there."""
        own = self._by_scope.get(scope, ())
        return own if self._base is None else (*self._base.in_scope(scope), *own)

    def is_complete(self, scope: Scope) -> bool:
        """Whether workloads live there, and all of them are known."""
        chain = [self] if self._base is None else [self, self._base]
        written = any(scope in index._written for index in chain)
        return written and not any(scope in index._incomplete for index in chain)

    def with_labels(self, scope: Scope, labels: Mapping[str, str]) -> Sequence[WorkloadEntry]:
        """Return the workloads there that may have these labels: those with the rarest one."""
        if not labels:
            return self.in_scope(scope)
        found = [self._with_label((scope, *item)) for item in labels.items()]
        return min(found, key=len)

    def _with_label(self, label: tuple[Scope, str, str]) -> Sequence[WorkloadEntry]:
        own = self._by_label.get(label, ())
        return own if self._base is None else (*self._base._with_label(label), *own)


def index_entry(pod: PlannedPod, owner_label: str = "") -> WorkloadEntry:
    """Return the entry of a planned pod's workload; its owner by an annotation, or that label."""
    workload, replicas, spec = pod.workload, pod.replicas, pod.workload.template.spec
    return WorkloadEntry(
        workload.id,
        scope_of(workload),
        workload.template.metadata.labels,
        workload.ref.region(),
        replicas=replicas.value if replicas is not None else None,
        replicas_written=replicas is not None and replicas.origin.written,
        complete=pod.plan is not None,
        port_names=frozenset(
            port.name
            for container in (*spec.containers, *spec.initContainers)
            for port in container.ports
            if port.name
        ),
        derived=workload.derived,
        single=_single_replica(pod),
        owner=_read_owner(workload, owner_label),
    )


def _read_owner(workload: Workload, label: str) -> str:
    both = (workload.template.metadata, workload.owner)
    found = [metadata.annotations.get(OWNER_ANNOTATION) for metadata in both]
    if label:
        found += [each.get(label) for m in both for each in (m.labels, m.annotations)]
    return next((owner for owner in found if owner), "")


def _single_replica(pod: PlannedPod) -> Region | None:
    replicas, update = pod.replicas, pod.workload.update
    if replicas is None or replicas.value != 1 or pod.id.kind != "Deployment":
        return None
    location = source_location(replicas)
    written = replicas.origin.kind is OriginKind.EXPLICIT
    if location is None or not written or value_at(update.strategy, "type") == "Recreate":
        return None
    return location.region()
