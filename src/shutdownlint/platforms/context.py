"""One run is one world: everything that was read, and what the user said about it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field

from shutdownlint.manifests.resources import Namespace, Resource, Service
from shutdownlint.platforms.homes import Home, home_of, home_of_object
from shutdownlint.platforms.user_facts import AppFacts, UserFacts

_AnyModel = TypeVar("_AnyModel", bound=Resource)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.manifests.workloads import LoadedResource, ObjectId, ObjectIndex, Workload


class _Index(Struct, dict=True):
    """The objects by what they are looked up by."""

    objects: ObjectIndex
    _homes: dict[type[Resource], dict[Home, list[LoadedResource[Any]]]] = field(
        default_factory=dict
    )

    @cached_property
    def namespaces(self) -> dict[str | None, list[dict[str, str]]]:
        """Their labels by name; several where several files tell of one."""
        found: dict[str | None, list[dict[str, str]]] = {}
        for located in self.objects.of(Namespace):
            metadata = located.model.metadata
            found.setdefault(metadata.name, []).append(metadata.labels)
        return found

    def by_home(self, model: type[Resource]) -> dict[Home, list[LoadedResource[Any]]]:
        """The objects of a type by where they live."""
        if model not in self._homes:
            homes: dict[Home, list[LoadedResource[Any]]] = {}
            for located in self.objects.of(model):
                homes.setdefault(home_of_object(located), []).append(located)
            self._homes[model] = homes
        return self._homes[model]

    @cached_property
    def neighbours(self) -> dict[Home, list[Workload]]:
        """The workloads by where they live."""
        found: dict[Home, list[Workload]] = {}
        for workload in self.objects.workloads:
            found.setdefault(home_of(workload), []).append(workload)
        return found

    @cached_property
    def services(self) -> dict[tuple[str | None, str, str, str], list[LoadedResource[Service]]]:
        """Services by their home and the first label of their selector."""
        found: dict[tuple[str | None, str, str, str], list[LoadedResource[Service]]] = {}
        for located in self.objects.of(Service):
            service = located.model
            if not service.spec.selector or service.spec.type == "ExternalName":
                continue
            first = min(service.spec.selector.items())
            found.setdefault((*home_of_object(located), *first), []).append(located)
        return found


class AnalysisContext(Struct):
    """Everything a platform may look at."""

    objects: ObjectIndex
    given: UserFacts = field(default_factory=UserFacts)
    _index: _Index | None = None

    def under(self, given: UserFacts) -> AnalysisContext:
        """The same world, of which the user says something else."""
        return AnalysisContext(self.objects, given, self._looked_up)

    @property
    def _looked_up(self) -> _Index:
        if self._index is None:
            self._index = _Index(self.objects)
        return self._index

    def namespace_labels(self, name: str | None) -> dict[str, str] | None:
        """The labels of a namespace; None when it is not among the files, or told two ways."""
        found = self._looked_up.namespaces.get(name, [])
        return found[0] if found and all(labels == found[0] for labels in found) else None

    def user_facts_for(self, workload: ObjectId) -> Iterator[AppFacts]:
        """What the user said of this workload, the strongest first."""
        return (facts for facts in self.given.apps if facts.matches(workload))

    def near(
        self, model: type[_AnyModel], workload: Workload
    ) -> Sequence[LoadedResource[_AnyModel]]:
        """The objects of a type that are in the workload's namespace."""
        return self._looked_up.by_home(model).get(home_of(workload), ())

    def neighbours(self, workload: Workload) -> Sequence[Workload]:
        """The workloads of its namespace, as far as the files show it."""
        return self._looked_up.neighbours.get(home_of(workload), ())

    def services_for(self, workload: Workload) -> Iterator[LoadedResource[Service]]:
        """The Services that select the workload's pods."""
        labels = workload.template.metadata.labels
        for key in labels.items():
            for located in self._looked_up.services.get((*home_of(workload), *key), ()):
                selector = located.model.spec.selector
                if all(labels.get(name) == value for name, value in selector.items()):
                    yield located
