"""One run is one world: everything that was read, and what the user said about it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field

from shutdownlint.manifests.resources import Namespace, Resource, Service
from shutdownlint.platforms.given import AppFacts, Given

_AnyModel = TypeVar("_AnyModel", bound=Resource)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.manifests.workloads import Located, ObjectId, Objects, Workload


class World(Struct, dict=True):
    """Everything a platform may look at."""

    objects: Objects
    given: Given = field(default_factory=Given)
    _homes: dict[type[Resource], dict[tuple[str | None, str], list[Located[Any]]]] = field(
        default_factory=dict
    )

    def namespace_labels(self, name: str | None) -> dict[str, str] | None:
        """The labels of a namespace; None when it is not among the files, or told two ways."""
        found = self._namespaces.get(name, [])
        return found[0] if found and all(labels == found[0] for labels in found) else None

    @cached_property
    def _namespaces(self) -> dict[str | None, list[dict[str, str]]]:
        found: dict[str | None, list[dict[str, str]]] = {}
        for located in self.objects.of(Namespace):
            metadata = located.model.metadata
            found.setdefault(metadata.name, []).append(metadata.labels)
        return found

    def said_of(self, workload: ObjectId) -> Iterator[AppFacts]:
        """What the user said of this workload, the strongest first."""
        return (facts for facts in self.given.apps if facts.matches(workload))

    def near(self, model: type[_AnyModel], workload: Workload) -> Sequence[Located[_AnyModel]]:
        """The objects of a type that are in the workload's namespace.

        Where no namespace is written, only the same folder counts as the same namespace.
        """
        if model not in self._homes:
            homes: dict[tuple[str | None, str], list[Located[Any]]] = {}
            for located in self.objects.of(model):
                namespace = located.model.metadata.namespace
                folder = "" if namespace else _folder(located.ref.document.file)
                homes.setdefault((namespace, folder), []).append(located)
            self._homes[model] = homes
        return self._homes[model].get(_home(workload), ())

    def neighbours(self, workload: Workload) -> Sequence[Workload]:
        """The workloads of its namespace, as far as the files show it."""
        return self._neighbours.get(_home(workload), ())

    @cached_property
    def _neighbours(self) -> dict[tuple[str | None, str], list[Workload]]:
        found: dict[tuple[str | None, str], list[Workload]] = {}
        for workload in self.objects.workloads:
            found.setdefault(_home(workload), []).append(workload)
        return found

    def services_for(self, workload: Workload) -> Iterator[Located[Service]]:
        """The Services that select the workload's pods.

        Where no namespace is written, only the same folder counts as the same namespace.
        """
        labels = workload.template.metadata.labels
        for key in labels.items():
            for located in self._services_by.get((*_home(workload), *key), ()):
                selector = located.model.spec.selector
                if all(labels.get(name) == value for name, value in selector.items()):
                    yield located

    @cached_property
    def _services_by(self) -> dict[tuple[str | None, str, str, str], list[Located[Service]]]:
        """Services by their home and the first label of their selector."""
        found: dict[tuple[str | None, str, str, str], list[Located[Service]]] = {}
        for located in self.objects.of(Service):
            service = located.model
            if not service.spec.selector or service.spec.type == "ExternalName":
                continue
            namespace = service.metadata.namespace
            folder = "" if namespace else _folder(located.ref.document.file)
            first = min(service.spec.selector.items())
            found.setdefault((namespace, folder, *first), []).append(located)
        return found


def _home(workload: Workload) -> tuple[str | None, str]:
    namespace = namespace_of(workload)
    return namespace, "" if namespace else _folder(workload.ref.document.file)


def _folder(file: str) -> str:
    return file.rpartition("/")[0]


def namespace_of(workload: Workload) -> str | None:
    """The namespace that is written on the workload or its pods."""
    return workload.id.namespace or workload.template.metadata.namespace
