"""What a platform may look at besides a pod: the objects of the run, and what the user said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from shutdownlint.manifests.resources import Namespace, Resource, Service
from shutdownlint.platforms.user_facts import UserFacts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from shutdownlint.manifests.object_index import LoadedResource, ObjectIndex
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.versions import Version

_AnyModel = TypeVar("_AnyModel", bound=Resource)
_State = TypeVar("_State")

#: A namespace, or where none is written the folder.
Home = tuple[str | None, str]


def home_of(workload: Workload) -> Home:
    """Where a workload lives."""
    return _home(workload.namespace, workload.ref.document.file)


def home_of_object(loaded: LoadedResource[Resource]) -> Home:
    """Where another object lives; a Namespace lives in itself."""
    metadata = loaded.model.metadata
    namespace = metadata.name if isinstance(loaded.model, Namespace) else metadata.namespace
    return _home(namespace, loaded.ref.document.file)


def _home(namespace: str | None, file: str) -> Home:
    # Where no namespace is written, only the same folder counts as the same namespace.
    return namespace, "" if namespace else file.rpartition("/")[0]


class _Lookup:
    """The objects by what they are looked up by. It depends on the files only."""

    def __init__(self, index: ObjectIndex) -> None:
        self.index = index
        self._by_home: dict[type[Resource], dict[Home, list[LoadedResource[Any]]]] = {}
        self.namespaces: dict[str | None, list[dict[str, str]]] = {}
        for namespace in index.all_of(Namespace):
            metadata = namespace.model.metadata
            self.namespaces.setdefault(metadata.name, []).append(metadata.labels)
        #: Services by their home and the first label of their selector.
        self.services: dict[tuple[str | None, str, str, str], list[LoadedResource[Service]]] = {}
        for service in index.all_of(Service):
            spec = service.model.spec
            if spec.selector and spec.type != "ExternalName":
                first = min(spec.selector.items())
                key = (*home_of_object(service), *first)
                self.services.setdefault(key, []).append(service)

    def by_home(self, model: type[Resource]) -> dict[Home, list[LoadedResource[Any]]]:
        """The objects of a type by where they live."""
        if model not in self._by_home:
            homes: dict[Home, list[LoadedResource[Any]]] = {}
            for loaded in self.index.all_of(model):
                homes.setdefault(home_of_object(loaded), []).append(loaded)
            self._by_home[model] = homes
        return self._by_home[model]


class AnalysisContext:
    """Everything that a platform may look at."""

    def __init__(
        self,
        index: ObjectIndex,
        user_facts: UserFacts | None = None,
        _lookup: _Lookup | None = None,
    ) -> None:
        self.index = index
        self.user_facts = user_facts if user_facts is not None else UserFacts()
        self._lookup = _lookup if _lookup is not None else _Lookup(index)
        self._states: dict[Any, Any] = {}

    def with_facts(self, user_facts: UserFacts) -> AnalysisContext:
        """The same objects, with something else said by the user."""
        return AnalysisContext(self.index, user_facts, self._lookup)

    def state(self, make: Callable[[AnalysisContext], _State]) -> _State:
        """What a platform works out once for the whole run, made when it is first asked for."""
        if make not in self._states:
            self._states[make] = make(self)
        found: _State = self._states[make]
        return found

    def version_of(self, platform: str, namespace: str | None = None) -> Version | None:
        """The version that the user says a platform has."""
        return self.user_facts.version_of(platform, namespace)

    def declared_mesh(self, namespace: str | None) -> str | None:
        """The mesh (or ``NO_MESH``) that the user says a namespace is in.

        None where it is not said, and where the files show the namespace: then they decide.
        """
        return None if namespace in self._lookup.namespaces else self.user_facts.mesh_of(namespace)

    def namespace_labels(self, name: str | None) -> dict[str, str] | None:
        """The labels of a namespace; None where no file shows them, or two files disagree."""
        found = self._lookup.namespaces.get(name, [])
        return found[0] if found and all(labels == found[0] for labels in found) else None

    def in_namespace_of(
        self, model: type[_AnyModel], workload: Workload
    ) -> Sequence[LoadedResource[_AnyModel]]:
        """The objects of a type that are in the workload's namespace."""
        return self.in_home(model, home_of(workload))

    def in_home(self, model: type[_AnyModel], home: Home) -> Sequence[LoadedResource[_AnyModel]]:
        """The objects of a type that live there."""
        return self._lookup.by_home(model).get(home, ())

    def services_for(self, workload: Workload) -> Iterator[LoadedResource[Service]]:
        """The Services that select the workload's pods."""
        labels = workload.template.metadata.labels
        home = home_of(workload)
        for key in labels.items():
            for loaded in self._lookup.services.get((*home, *key), ()):
                selector = loaded.model.spec.selector
                if all(labels.get(name) == value for name, value in selector.items()):
                    yield loaded
