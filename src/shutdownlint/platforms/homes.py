"""Which objects a workload may meet: its neighbours', and those that concern every workload.

Where no namespace is written, only the same folder counts as the same namespace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.manifests.resources import (
    ConfigMap,
    KyvernoPolicy,
    Namespace,
    NodePool,
    ProxyConfigResource,
    Resource,
)
from shutdownlint.manifests.workloads import LoadedResource, ObjectIndex, Workload
from shutdownlint.platforms.istio import facts
from shutdownlint.shelf import Entry, Shelf

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A namespace, or where none is written the folder.
Home = tuple[str | None, str]
#: Types whose objects concern pods anywhere, whatever namespace they are in themselves.
_FOR_ALL: Final[frozenset[type[Resource]]] = frozenset(
    (ProxyConfigResource, NodePool, KyvernoPolicy)
)
#: So many workloads are brought back at once. What is judged in one go is shared between processes.
_AT_ONCE: Final = 600


def namespace_of(workload: Workload) -> str | None:
    """The namespace that is written on the workload or its pods."""
    return workload.id.namespace or workload.template.metadata.namespace


def home_of(workload: Workload) -> Home:
    """Where a workload lives."""
    namespace = namespace_of(workload)
    return namespace, "" if namespace else _folder(workload.ref.document.file)


def home_of_object(located: LoadedResource[Resource]) -> Home:
    """Where another object lives; a Namespace is at home in itself."""
    metadata = located.model.metadata
    namespace = metadata.name if isinstance(located.model, Namespace) else metadata.namespace
    return namespace, "" if namespace else _folder(located.ref.document.file)


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


class Packed(Struct):
    """Objects that were read together: those for all, and by home those that are put away."""

    shared: ObjectIndex
    homes: dict[Home, tuple[int, bytes]]


def packed(objects: ObjectIndex) -> Packed:
    """The objects as they are put away."""
    import pickle  # noqa: PLC0415 - most runs keep everything in memory

    homes: dict[Home, ObjectIndex] = {}
    shared = ObjectIndex(
        mesh_installs=objects.mesh_installs,
        control_planes=objects.control_planes,
        patch_files=objects.patch_files,
        rejected=objects.rejected,
    )
    for workload in objects.workloads:
        homes.setdefault(home_of(workload), ObjectIndex()).workloads.append(workload)
    for model, found in objects.others.items():
        for located in found:
            for_all = _for_all(located)
            to = shared if for_all else homes.setdefault(home_of_object(located), ObjectIndex())
            to.others.setdefault(model, []).append(located)
    return Packed(
        shared,
        {
            home: (len(own.workloads), pickle.dumps(own, pickle.HIGHEST_PROTOCOL))
            for home, own in homes.items()
        },
    )


class Homes:
    """What was read, brought back home by home, so that memory need not hold all of it.

    A run of few files keeps it as it is.
    """

    def __init__(self) -> None:
        #: What every part is given: all that was read, if nothing is put away.
        self.shared = ObjectIndex()
        self._shelf = Shelf()
        self._kept: dict[Home, _CacheEntry] = {}

    def add(self, packed: Packed) -> None:
        """Take what was read, after all that was taken before."""
        self.shared.add(packed.shared)
        for home, (workloads, data) in packed.homes.items():
            kept = self._kept.setdefault(home, _CacheEntry())
            kept.lots.append(self._shelf.put(data))
            kept.workloads += workloads

    def parts(self) -> Iterator[ObjectIndex]:
        """All workloads, some at a time, each with every object that it may meet."""
        if not self._kept:
            yield self.shared
            return
        import pickle  # noqa: PLC0415

        part, count = self._new_part(), 0
        for kept in self._kept.values():
            for location in kept.lots:
                part.add(pickle.loads(self._shelf.get(location)))
            count += kept.workloads
            if count >= _AT_ONCE:
                yield part
                part, count = self._new_part(), 0
        yield part

    def close(self) -> None:
        """Nothing is brought back any more."""
        self._shelf.close()

    def _new_part(self) -> ObjectIndex:
        part = ObjectIndex()
        part.add(self.shared)
        return part


def _for_all(located: LoadedResource[Resource]) -> bool:
    model = located.model
    if not isinstance(model, ConfigMap):
        return type(model) in _FOR_ALL
    # A mesh configuration, or what a class of Gateways starts from.
    return facts.MESH_KEY in model.data or facts.OVERRIDES_KEY in model.data


class _CacheEntry(Struct):
    """What is kept of one home."""

    lots: list[Entry] = field(default_factory=list)
    workloads: int = 0
