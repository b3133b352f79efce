"""The data that a platform may use besides a pod: the objects of the run, and the user's facts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

from shutdownlint import limits
from shutdownlint.manifests.mesh_evidence import MeshEvidenceIndex
from shutdownlint.manifests.resources import Namespace, Node, Resource, Service
from shutdownlint.platforms.nearness import are_deployed_together, nearest, nearest_of_each
from shutdownlint.platforms.user_facts import UserFacts
from shutdownlint.platforms.versions import Version
from shutdownlint.programs.images import DEFAULT_REGISTRY, ImageReference
from shutdownlint.programs.known import bundled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.mesh_evidence import MeshEvidence
    from shutdownlint.manifests.namespaces import NamespaceSources
    from shutdownlint.manifests.object_index import LoadedResource, ObjectIndex
    from shutdownlint.manifests.resources import Container
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.programs.images import ImageConfig
    from shutdownlint.programs.known import KnownPrograms

_AnyModel = TypeVar("_AnyModel", bound=Resource)
_State = TypeVar("_State")

#: A namespace, or where none is written the folder.
Scope = tuple[str | None, str]


def scope_of(workload: Workload) -> Scope:
    """Return the scope of a workload."""
    return _scope(workload.namespace, workload.ref.document.file)


def scope_of_object(loaded: LoadedResource[Resource], namespaces: NamespaceSources) -> Scope:
    """Return the scope of another object; a Namespace is in its own scope."""
    metadata, file = loaded.model.metadata, loaded.ref.document.file
    if isinstance(loaded.model, Namespace):
        return _scope(metadata.name, file)
    return _scope(namespaces.of(metadata.namespace, file), file)


def _scope(namespace: str | None, file: str) -> Scope:
    # Where no namespace is written, only the same folder counts as the same namespace.
    return namespace, "" if namespace else file.rpartition("/")[0]


class _Lookup:
    """The objects by what they are looked up by. It depends on the files only."""

    def __init__(self, index: ObjectIndex) -> None:
        self.index = index
        self.read: dict[Any, Any] = {}
        self._by_scope: dict[type[Resource], dict[Scope, list[LoadedResource[Any]]]] = {}
        self.namespace_objects: dict[str | None, list[LoadedResource[Namespace]]] = {}
        self.namespaces: dict[str | None, list[tuple[str, dict[str, str]]]] = {}
        for namespace in index.all_of(Namespace):
            metadata = namespace.model.metadata
            self.namespace_objects.setdefault(metadata.name, []).append(namespace)
            shown = namespace.ref.document.file, metadata.labels
            self.namespaces.setdefault(metadata.name, []).append(shown)
        #: The oldest kubelet among the nodes: what it cannot do some pods will not get.
        self.kubernetes = min(
            (
                version
                for node in index.all_of(Node)
                if (version := Version.find(node.model.kubelet_version)) is not None
            ),
            default=None,
        )
        #: Services by their scope and the label of their selector that is rarest among them.
        self.services: dict[tuple[str | None, str, str, str], list[LoadedResource[Service]]] = {}
        selecting = [
            service
            for service in index.all_of(Service)
            if service.model.spec.selector and service.model.spec.type != "ExternalName"
        ]
        counts = Counter(item for s in selecting for item in s.model.spec.selector.items())
        for service in selecting:
            rarest = min(service.model.spec.selector.items(), key=lambda item: (counts[item], item))
            key = (*scope_of_object(service, index.namespaces), *rarest)
            self.services.setdefault(key, []).append(service)

    def by_scope(self, model: type[Resource]) -> dict[Scope, list[LoadedResource[Any]]]:
        """Return the objects of a type by where they live."""
        if model not in self._by_scope:
            scopes: dict[Scope, list[LoadedResource[Any]]] = {}
            for loaded in self.index.all_of(model):
                scope = scope_of_object(loaded, self.index.namespaces)
                scopes.setdefault(scope, []).append(loaded)
            self._by_scope[model] = scopes
        return self._by_scope[model]


class AnalysisContext:
    """Everything that a platform may look at."""

    def __init__(
        self,
        index: ObjectIndex,
        user_facts: UserFacts | None = None,
        mesh_evidence: MeshEvidenceIndex | None = None,
        _lookup: _Lookup | None = None,
    ) -> None:
        self.index = index
        self.mesh_evidence = mesh_evidence if mesh_evidence is not None else MeshEvidenceIndex()
        self.user_facts = user_facts if user_facts is not None else UserFacts()
        self._lookup = _lookup if _lookup is not None else _Lookup(index)
        self._states: dict[Any, Any] = {}

    @property
    def programs(self) -> KnownPrograms:
        """The records of programs: the user's own, and the bundled ones."""
        return self.user_facts.programs or bundled()

    def image_config(self, container: Container) -> ImageConfig | None:
        """Return the configuration of a container's image, where that is known."""
        return self._find_image(container)[0]

    def image_doubt(self, container: Container) -> str:
        """Return why the known configuration of an image of that name does not count."""
        return self._find_image(container)[1]

    def _find_image(self, container: Container) -> tuple[ImageConfig | None, str]:
        images, name = self.user_facts.images, container.image or ""
        if images is None:
            return None, ""
        found, doubt = images.find(name)
        if found is None and not doubt:
            found = images.built.find(name, known=self._is_public(name))
        return found, doubt

    def _is_public(self, image: str) -> bool:
        """Whether an image's name is that of a public image with a record."""
        try:
            reference = ImageReference.parse(image)
        except ValueError:
            return False
        official, path = reference.official, reference.name.removeprefix(f"{DEFAULT_REGISTRY}/")
        return any(self.programs.of_image(official, path))

    def with_facts(self, user_facts: UserFacts) -> AnalysisContext:
        """Return the same objects, with other facts from the user."""
        return AnalysisContext(self.index, user_facts, self.mesh_evidence, self._lookup)

    def state(self, make: Callable[[AnalysisContext], _State]) -> _State:
        """Return what a platform computes once for the whole run, on first use."""
        if make not in self._states:
            self._states[make] = make(self)
        found: _State = self._states[make]
        return found

    def read_once(self, read: Callable[[ObjectIndex], _State]) -> _State:
        """Return what a platform reads from the files alone; every context of the run shares it."""
        if read not in self._lookup.read:
            self._lookup.read[read] = read(self.index)
        found: _State = self._lookup.read[read]
        return found

    def version_of(self, platform: str, namespace: str | None = None) -> Version | None:
        """Return the version of a platform: the user's, or (of Kubernetes) that of the nodes."""
        configured = self.user_facts.version_of(platform, namespace)
        if configured is None and platform == "kubernetes":
            return self._lookup.kubernetes
        return configured

    def declared_mesh(self, namespace: str | None) -> str | None:
        """Return the mesh (or ``NO_MESH``) that the user says a namespace is in.

        None where it is not configured, and where the files show the namespace: then they decide.
        """
        return None if self.shows_namespace(namespace) else self.user_facts.mesh_of(namespace)

    def evidence_of(self, mesh: str, workload: Workload) -> MeshEvidence | None:
        """Return an object near a workload which makes it likely that its pods are in the mesh."""
        return self.mesh_evidence.likely(mesh, workload.namespace, workload.ref.document.file)

    def hint_of(self, mesh: str, workload: Workload) -> MeshEvidence | None:
        """Return an object near a workload after which its pods may be in the mesh."""
        return self.mesh_evidence.near(mesh, workload.namespace, workload.ref.document.file)

    def is_namespace_known(self, namespace: str | None) -> bool:
        """Whether the files or the user show a namespace, be it with contradictions."""
        return self.shows_namespace(namespace) or self.user_facts.mesh_of(namespace) is not None

    def shows_namespace(self, namespace: str | None) -> bool:
        """Whether a file shows the namespace."""
        return (namespace or "default") in self._lookup.namespaces

    def namespace_labels(self, workload: Workload) -> dict[str, str] | None:
        """Return the labels of a workload's namespace; None where no file shows them.

        Of files that disagree the nearest counts; where two are equally near, none does.
        """
        found = self._lookup.namespaces.get(workload.namespace or "default", [])
        if any(labels != found[0][1] for _, labels in found):
            found = nearest(found, workload.ref.document.file, lambda shown: shown[0])
        labels = [each for _, each in found]
        return labels[0] if labels and all(each == labels[0] for each in labels) else None

    def namespace_ref(self, workload: Workload) -> NodeRef | None:
        """Return where the workload's namespace is written; None if no file shows it."""
        name = workload.namespace or "default"
        found = self._lookup.namespace_objects.get(name, [])
        file = workload.ref.document.file
        found = nearest(found, file, lambda one: one.ref.document.file)
        return found[0].ref / "metadata" / "name" if found else None

    def in_namespace_of(
        self, model: type[_AnyModel], workload: Workload
    ) -> Sequence[LoadedResource[_AnyModel]]:
        """Return the objects of a type that are in the workload's namespace."""
        return self.in_scope(model, scope_of(workload))

    def in_scope(self, model: type[_AnyModel], scope: Scope) -> Sequence[LoadedResource[_AnyModel]]:
        """Return the objects of a type that live there."""
        return self._lookup.by_scope(model).get(scope, ())

    def services_for(self, workload: Workload) -> Iterator[LoadedResource[Service]]:
        """Yield the Services that select the workload's pods; the first ones of very many."""
        labels = workload.template.metadata.labels
        scope = scope_of(workload)
        found: list[LoadedResource[Service]] = []
        names: set[str | None] = set()
        for key in labels.items():
            for loaded in self._lookup.services.get((*scope, *key), ()):
                selector = loaded.model.spec.selector
                if all(labels.get(name) == value for name, value in selector.items()):
                    found.append(loaded)
                    names.add(loaded.model.metadata.name)
                    if len(names) >= limits.MAX_SERVICES_OF_A_POD:
                        break
        yield from nearest_of_each(found, workload.ref.document.file)

    def surely_selects(
        self,
        service: LoadedResource[Service],
        workload: Workload,
        services: Iterable[LoadedResource[Service]],
    ) -> bool:
        """Whether a Service of those that select a workload's pods is deployed with it.

        The default namespace names no application: there the folders have to show it.
        """
        if workload.namespace != "default":
            return True
        name = service.model.metadata.name
        files = {s.ref.document.file for s in services if s.model.metadata.name == name}
        return are_deployed_together(workload.ref.document.file, files)
