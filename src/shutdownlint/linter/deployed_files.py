"""The files of a run as kustomizations, Argo CD and Flux deploy them."""

from __future__ import annotations

import posixpath
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.gitops.deployment import distinct_names, name_variants
from shutdownlint.gitops.read import read_deployments
from shutdownlint.gitops.substitution import substitute
from shutdownlint.kustomize.build import Build, Member
from shutdownlint.kustomize.origins import KustomizationOrigins
from shutdownlint.kustomize.repository import Repository
from shutdownlint.linter.world_files import WorldFiles, add_sources
from shutdownlint.manifests.decoding import mappings
from shutdownlint.manifests.discovery import CHART_FILE, IgnoredInput, InputFile, discover
from shutdownlint.manifests.inputs import InputSource
from shutdownlint.manifests.reader import UnreadableInput, manifest_bytes
from shutdownlint.manifests.skips import (
    EXCLUDED,
    GIT_IGNORED,
    KUSTOMIZE_PATCH,
    REMOTE_RESOURCES,
    depends_on_more,
    deployed_elsewhere,
    missing_resource,
    not_applied,
    unrendered_chart,
)
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from shutdownlint.gitops.deployment import Deployment
    from shutdownlint.kustomize.layer import Layer
    from shutdownlint.manifests.discovery import FileSearch
    from shutdownlint.manifests.document import Document
    from shutdownlint.manifests.inputs import Transform


#: The generators of objects that are not in a manifest.
_GENERATORS: Final = ("configMapGenerator", "secretGenerator")


class _Way(Struct):
    """One way to deploy a folder: its variant, and its own settings.

    ``layers`` act as a part of its kustomization; ``files`` hold the settings.
    """

    variant: str
    layers: list[Layer] = field(default_factory=list)
    transforms: list[Transform] = field(default_factory=list)
    namespace: str | None = None
    files: tuple[str, ...] = ()


class DeployedFiles:
    """The files of a run, each as everything that deploys it does."""

    def __init__(
        self, sources: Sequence[InputSource], search: FileSearch, plan: WorldFiles
    ) -> None:
        self.sources = sources
        self.plan = plan
        self.search = search
        self.repository = Repository(sources, search.exclude)
        files = [s.file for s in sources if isinstance(s.file, InputFile) and not s.context]
        self.deployments: dict[str, list[Deployment]] = {}
        for each in read_deployments(files):
            file = each.ref.document.file
            if each.folder:
                self.deployments.setdefault(each.folder, []).append(each)
            else:
                plan.stats.skipped[deployed_elsewhere(each.title, file)] += 1
            if each.folder and each.unknown:
                reason = depends_on_more(each.title, file, ", ".join(each.unknown))
                plan.stats.skipped[reason] += 1
        self.made: dict[str, list[InputSource]] = {}
        self._made_of: list[InputSource] = []
        self.deployed: set[str] = set()

    def add_all(self) -> None:
        """Add every file to the plan."""
        tree = self.repository.tree
        builds = tree.roots()
        roots = {build.root.folder for build in builds}
        for folder in self.deployments:
            layer = tree.folder(folder)
            if layer is not None and layer.folder not in roots and not layer.is_component:
                builds.append(tree.build(layer))
        self._deploy_folders_below(builds)
        groups = _variants(builds)
        rendered = {source.rendered: source for source in self.sources if source.rendered}
        for build in builds:
            group, name = groups[build.root.file]
            self._made_of = self.made.setdefault(group, [])
            self._add_build(build, name, rendered.get(build.root.folder))
        self._add_plain_folders()
        patches = {file for build in builds for layer in build.layers for file in layer.patch_files}
        folders = {build.root.folder for build in builds}
        others: list[InputSource] = []
        for source in self.sources:
            path = posixpath.normpath(source.file.display_path)
            if path in patches:
                others.append(replace(source, patch=True))
            elif path not in self.deployed and source.rendered not in folders:
                others.append(source)
        add_sources(self.plan, others)
        self.plan.stats.unreadable += tree.unreadable
        for deployed in self.made.values():
            for source in deployed:
                self.plan.add(source)

    def _deploy_folders_below(self, builds: Sequence[Build]) -> None:
        """Note which kustomizations Flux deploys with a folder above them that has none."""
        above = {
            folder: below
            for folder, deployments in self.deployments.items()
            if self.repository.tree.folder(folder) is None
            and (below := [each for each in deployments if each.with_folders_below])
        }
        known = {build.root.folder for build in builds}
        for build in builds if above else ():
            for folder in _folders_above(build.root.folder):
                if folder in above:
                    self.deployments.setdefault(build.root.folder, []).extend(above[folder])
                if folder in above or folder in known:
                    break

    def _add_build(self, build: Build, variant: str, rendered: InputSource | None) -> None:
        """Add what a kustomization deploys, for every object that deploys it."""
        self.deployed |= build.files if not build.failed else set()
        if rendered is not None:
            origins = KustomizationOrigins(build, self.repository.tree)
            deployments = self.deployments.get(build.root.folder, [])
            for way in self._ways(variant, deployments):
                settings = [Member(build.root.file, way.layers).transform] if way.layers else []
                transforms = [origins.transform, *settings, *way.transforms]
                self._made_of.append(
                    replace(
                        rendered,
                        transform=partial(_in_turn, transforms),
                        changed_by=way.files,
                        variant=way.variant,
                        namespace=way.namespace,
                    )
                )
        elif build.failed:
            region = Region(build.root.file, 1, 1, 1, 1)
            self.plan.stats.unreadable.append(UnreadableInput(region, build.failed))
        else:
            _note_skipped(build, self.repository, self.plan)
            self.plan.stats.unreadable += _patches_without_target(build, self.repository)
            self._add_members(build, variant, self.deployments.get(build.root.folder, []))

    def _add_members(self, build: Build, variant: str, deployments: list[Deployment]) -> None:
        for_context = self._is_context(build.root.file)
        words = {id(layer): _words(layer, self.repository) for layer in build.layers}
        changed_by = {id(layer): _files(layer, self.repository) for layer in build.layers}
        for way in self._ways(variant, deployments):
            for member in build.members:
                file = self.repository.find(member.file)
                if file is not None:
                    text = b"\n".join(words[id(layer)] for layer in member.layers)
                    names = [name for layer in member.layers for name in changed_by[id(layer)]]
                    changed = Member(member.file, [*member.layers, *way.layers])
                    self._made_of.append(
                        InputSource(
                            file,
                            for_context and not self._is_checked(member.file),
                            partial(_in_turn, [changed.transform, *way.transforms]),
                            text,
                            (*names, *way.files),
                            variant=way.variant,
                            namespace=way.namespace,
                        )
                    )

    def _ways(self, variant: str, deployments: Sequence[Deployment]) -> Iterator[_Way]:
        """Yield the ways in which a folder is deployed: one for everything that deploys it."""
        tree = self.repository.tree
        if not deployments:
            yield _Way(variant)
        for name, each in zip(distinct_names(deployments), deployments, strict=True):
            way = _Way("/".join(filter(None, (variant, name))), namespace=each.namespace)
            way.files = (each.ref.document.file,)
            if each.components or each.overrides:
                parts = [
                    part
                    for name in each.components
                    if (part := tree.folder(posixpath.join(each.folder, name))) is not None
                ]
                way.layers = tree.with_settings(each.ref.document, each.places, parts).layers
            if each.variables is not None:
                way.transforms.append(partial(substitute, variables=each.variables))
            yield way

    def _add_plain_folders(self) -> None:
        """Add the manifests of folders that Flux or Argo CD deploys with settings of its own."""
        tree = self.repository.tree
        for folder, deployments in self.deployments.items():
            changing = [
                each for each in deployments if each.overrides or each.components or each.variables
            ]
            if tree.folder(folder) is not None:
                continue
            here = self.repository.files_below(folder)
            if here and not changing:
                continue
            if self._is_chart(folder):
                rendered = any(_is_in(each.rendered, folder) for each in self.sources)
                if not here and not rendered:
                    self.plan.stats.skipped[unrendered_chart(folder)] += 1
                continue
            files = [
                path
                for path in here or self._files_below(folder)
                if path not in self.deployed and not self._is_context(path)
            ]
            root = tree.with_settings(deployments[0].ref.document, {}).layers[0]
            build = Build(root, [Member(path) for path in files])
            self.deployed |= set(files)
            self._made_of = self.made.setdefault(folder, [])
            self._add_members(build, "", deployments)

    def _files_below(self, folder: str) -> Iterator[str]:
        """Yield the manifests of a folder that is not among the paths of the run."""
        for found in discover([folder], self.search):
            if isinstance(found, IgnoredInput):
                self.plan.stats.skipped[EXCLUDED if found.excluded else GIT_IGNORED] += 1
            elif isinstance(found, InputFile) and not found.is_kustomization:
                yield posixpath.normpath(found.display_path)

    def _is_context(self, path: str) -> bool:
        source = self.repository.sources.get(path)
        return source is not None and source.context

    def _is_checked(self, path: str) -> bool:
        source = self.repository.sources.get(path)
        return source is not None and not source.context

    def _is_chart(self, folder: str) -> bool:
        return self.repository.find(posixpath.join(folder, CHART_FILE)) is not None


def _folders_above(folder: str) -> Iterator[str]:
    """Yield the folders above one, the nearest first, up to ``.`` or the root."""
    while folder not in (".", "/", "//", ""):
        folder = posixpath.dirname(folder) or "."
        yield folder


def _is_in(path: str, folder: str) -> bool:
    return folder == "." or path.startswith(f"{folder}/")


def _in_turn(transforms: Sequence[Transform], document: Document) -> Document | None:
    """Return a document changed by transforms, one after the other."""
    changed: Document | None = document
    for transform in transforms:
        changed = transform(changed) if changed is not None else None
    return changed


def _files(layer: Layer, repository: Repository) -> list[str]:
    """Return a kustomization and its patches, as reports write them."""
    found = [repository.find(path) for path in (layer.file, *layer.patch_files)]
    return [file.display_path for file in found if file is not None]


def _words(layer: Layer, repository: Repository) -> bytes:
    """Return the text of a kustomization and of its patches."""
    found = [repository.find(path) for path in (layer.file, *layer.patch_files)]
    return b"\n".join(repository.tree.text(each) for each in found if each is not None)


def _text_of(paths: Sequence[str], repository: Repository) -> bytes:
    found = [repository.find(path) for path in dict.fromkeys(paths)]
    return b"\n".join(manifest_bytes(each) for each in found if each is not None)


def _patches_without_target(build: Build, repository: Repository) -> Iterator[UnreadableInput]:
    """Patches and replicas for names that nothing in a kustomization has: kustomize refuses them.

    Only where all that it deploys is there as it is written.
    """
    layers = build.layers
    open_ended = any(
        layer.remote
        or layer.unapplied
        or layer.data.get("namePrefix")
        or layer.data.get("nameSuffix")
        for layer in layers
    )
    if open_ended or build.missing or not build.members:
        return
    members = _text_of([member.file for member in build.members], repository)
    made = any(layer.data.get(key) for layer in layers for key in _GENERATORS)
    everything = members + _text_of([layer.file for layer in layers], repository)
    for layer in layers:
        for patch in (*layer.patches, *layer.merge_patches):
            name = patch.plain_name if patch.selector is None else None
            region = patch.source.region()
            in_file = region.file in layer.patch_files
            # A patch in the text of the kustomization names itself there.
            if name is None or (made and not in_file):
                continue
            text = everything if in_file else members
            if name.encode(errors="surrogateescape") not in text:
                yield UnreadableInput(region, _no_resource(layer, name))
        # api/builtins ReplicaCountTransformer: a name that matches nothing is an error.
        for number, entry in enumerate(mappings(layer.data.get("replicas"))):
            name = str(entry.get("name"))
            if name.encode(errors="surrogateescape") not in members:
                region = layer.ref("replicas", number, "name").region()
                yield UnreadableInput(region, _no_resource(layer, name))


def _no_resource(layer: Layer, name: str) -> str:
    return f"no resource of {layer.file} is called {name}: kustomize build refuses it"


def _note_skipped(build: Build, repository: Repository, plan: WorldFiles) -> None:
    for layer in build.layers:
        for file in layer.patch_files:
            if repository.find(file) is None:
                plan.stats.skipped[missing_resource(file, layer.file)] += 1
        plan.stats.skipped[REMOTE_RESOURCES] += bool(layer.remote)
        if layer.unapplied:
            plan.stats.skipped[not_applied(layer.file, ", ".join(layer.unapplied))] += 1
    for file in build.missing:
        plan.stats.skipped[missing_resource(file, build.root.file)] += 1
    if not build.members:
        plan.stats.skipped[KUSTOMIZE_PATCH] += sum(len(layer.patch_files) for layer in build.layers)
    for reason in [reason for reason, number in plan.stats.skipped.items() if not number]:
        del plan.stats.skipped[reason]


def _variants(builds: Sequence[Build]) -> dict[str, tuple[str, str]]:
    """For each kustomization what it is a variant of, and its name; no name: it is the only one.

    Those that have a base in common are variants of it.
    """
    groups: list[tuple[set[str], list[str]]] = []
    for build in builds:
        # An overlay excludes its base, where that is deployed as well.
        bases, files = {*build.bases, build.root.folder}, [build.root.file]
        apart = []
        for group in groups:
            if group[0] & bases:
                bases |= group[0]
                files = [*group[1], *files]
            else:
                apart.append(group)
        groups = [*apart, (bases, files)]
    named: list[tuple[list[str], list[str]]] = []
    for _, files in groups:
        folders = [posixpath.dirname(file) for file in files]
        named.append((files, name_variants(folders) if len(folders) > 1 else [""]))
    environments = {
        label for _, labels in named if len(labels) > 1 for label in labels if "/" not in label
    }
    found: dict[str, tuple[str, str]] = {}
    for files, labels in named:
        for file, label in zip(files, _as_environments(files, labels, environments), strict=True):
            found[file] = files[0], label
    return found


def _as_environments(files: list[str], labels: list[str], known: Collection[str]) -> list[str]:
    """Return the labels of a group, by the names of environments that other groups have.

    ``overlays/prod`` beside ``preview`` is ``prod``, and so is the only overlay of a base in such a
    folder or right below it (``prod/shop``).
    """
    paths = [label or posixpath.dirname(file) for file, label in zip(files, labels, strict=True)]
    parts = [[part for part in path.split("/")[-2:] if part in known] for path in paths]
    names = [found[0] if len(found) == 1 else "" for found in parts]
    return [
        name if name and names.count(name) == 1 and name not in labels else label
        for name, label in zip(names, labels, strict=True)
    ]
