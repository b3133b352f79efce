"""An index of the objects that are not workloads, by their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import Struct, field

from shutdownlint.manifests.live_objects import LiveObjects
from shutdownlint.manifests.namespaces import NamespaceSources
from shutdownlint.manifests.resources import Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from shutdownlint.manifests.decoding import FieldError
    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.kinds import KindEntry

_Model_co = TypeVar("_Model_co", covariant=True)
_AnyModel = TypeVar("_AnyModel", bound=Resource)
_Result = TypeVar("_Result")


class LoadedResource(Struct, Generic[_Model_co], frozen=True, eq=False):
    """A typed object that is not a workload, and where it is written."""

    model: _Model_co
    ref: NodeRef


class RawObject(Struct, frozen=True, eq=False):
    """An object that its platform reads from the document itself."""

    entry: KindEntry
    ref: NodeRef


_Object = TypeVar("_Object", RawObject, LoadedResource[Any])


class ObjectIndex(Struct):
    """Every object that gives context.

    ``rejected`` are values that the API server would not take; ``namespaces`` what puts manifests
    into a namespace; ``live`` are objects as a cluster gives them.
    """

    resources: dict[type[Resource], list[LoadedResource[Any]]] = field(default_factory=dict)
    raw: list[RawObject] = field(default_factory=list)
    namespaces: NamespaceSources = field(default_factory=NamespaceSources)
    rejected: list[tuple[NodeRef, FieldError]] = field(default_factory=list)
    live: LiveObjects = field(default_factory=LiveObjects)
    #: The results of functions on objects; copies have the same objects, and share it.
    _read: dict[tuple[Any, Any], Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of objects."""
        return len(self.raw) + sum(len(found) for found in self.resources.values())

    def copy(self) -> ObjectIndex:
        """Return an index with the same objects, to which others can be added."""
        return ObjectIndex(
            {model: list(found) for model, found in self.resources.items()},
            list(self.raw),
            self.namespaces.copy(),
            list(self.rejected),
            self.live.copy(),
            self._read,
        )

    def read(self, obj: _Object, function: Callable[[_Object], _Result]) -> _Result:
        """Return what a function of its platform reads from an object, computed once."""
        key = function, obj
        if key not in self._read:
            self._read[key] = function(obj)
        found: _Result = self._read[key]
        return found

    def all_of(self, model: type[_AnyModel]) -> list[LoadedResource[_AnyModel]]:
        """Every object of this type."""
        return self.resources.get(model, [])

    def add_raw(self, obj: RawObject) -> None:
        """Add an object that its platform reads from the document."""
        self.raw.append(obj)

    def reject(self, ref: NodeRef, errors: Iterable[FieldError]) -> None:
        """Note values of an object that the API server would not take."""
        self.rejected += ((ref, error) for error in errors)

    def add(self, model: type[Resource], loaded: LoadedResource[Any]) -> None:
        """Add an object."""
        self.resources.setdefault(model, []).append(loaded)
