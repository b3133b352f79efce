"""The variants of a run: environments that exclude one another, each with its files.

The overlays of one base, and the renderings of one chart for several environments, are variants.
What belongs to none of them is read once, and every variant knows it.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.loader import InputSource
from shutdownlint.manifests.reader import UnreadableInput
from shutdownlint.manifests.skips import (
    KUSTOMIZE_PATCH,
    MISSING_RESOURCES,
    NOT_APPLIED,
    REMOTE_RESOURCES,
    SkipReason,
)
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.kustomize.build import Build
    from shutdownlint.kustomize.layer import Layer
    from shutdownlint.kustomize.repository import Repository


class VariantPlan(Struct):
    """The files of a run by variant: the first has no name, and is what all others know.

    ``skipped`` and ``unreadable`` are what kustomizations name and is not there.
    """

    sources: dict[str, list[InputSource]] = field(default_factory=lambda: {"": []})
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    unreadable: list[UnreadableInput] = field(default_factory=list)

    def add(self, source: InputSource) -> None:
        """Add a file to its variant."""
        self.sources.setdefault(source.variant, []).append(source)


def plan_variants(sources: Iterable[InputSource], exclude: Sequence[str]) -> VariantPlan:
    """Which files each variant has, and as what they are deployed."""
    listed = list(sources)
    plan = VariantPlan()
    if any(isinstance(s.file, InputFile) and s.file.is_kustomization for s in listed):
        _expand(listed, plan, exclude)
    else:
        for source in listed:
            plan.add(source)
    return plan


def _expand(sources: list[InputSource], plan: VariantPlan, exclude: Sequence[str]) -> None:
    """Add the files of the run to a plan, each as every kustomization deploys it."""
    from shutdownlint.kustomize.origins import KustomizationOrigins  # noqa: PLC0415 - seldom used
    from shutdownlint.kustomize.repository import Repository  # noqa: PLC0415

    repository = Repository(sources, exclude)
    builds = repository.tree.roots()
    names = _variant_names(builds)
    rendered = {source.rendered: source for source in sources if source.rendered}
    deployed: set[str] = set()
    patches = {file for build in builds for layer in build.layers for file in layer.patch_files}
    made: list[InputSource] = []
    for build in builds:
        variant = names[build.root.file]
        deployed |= build.files if not build.failed else set()
        source = rendered.pop(build.root.folder, None)
        if source is not None:
            origins = KustomizationOrigins(build, repository.tree)
            made.append(replace(source, transform=origins.transform, variant=variant))
        elif build.failed:
            region = Region(build.root.file, 1, 1, 1, 1)
            plan.unreadable.append(UnreadableInput(region, build.failed))
        else:
            _note_skipped(build, plan)
            made += _members(build, repository, variant)
    for source in sources:
        path = posixpath.normpath(source.file.display_path)
        if path in patches:
            plan.add(replace(source, patch=True))
        elif path not in deployed and source.rendered not in names_of(builds):
            plan.add(source)
    for source in made:
        plan.add(source)


def names_of(builds: Sequence[Build]) -> set[str]:
    """The folders of kustomizations, as renderings name them."""
    return {build.root.folder for build in builds}


def _members(build: Build, repository: Repository, variant: str) -> Iterator[InputSource]:
    """The manifests of a kustomization, as it deploys them."""
    context = repository.sources[build.root.file].context
    words = {id(layer): _words(layer, repository) for layer in build.layers}
    for member in build.members:
        file = repository.find(member.file)
        if file is not None:
            text = b"\n".join(words[id(layer)] for layer in member.layers)
            yield InputSource(file, context, member.transform, text, variant=variant)


def _words(layer: Layer, repository: Repository) -> bytes:
    """The text of a kustomization and of its patches."""
    found = [repository.find(path) for path in (layer.file, *layer.patch_files)]
    return b"\n".join(repository.tree.text(each) for each in found if each is not None)


def _note_skipped(build: Build, plan: VariantPlan) -> None:
    for layer in build.layers:
        plan.skipped[REMOTE_RESOURCES] += bool(layer.remote)
        plan.skipped[NOT_APPLIED] += bool(layer.unapplied)
    plan.skipped[MISSING_RESOURCES] += len(build.missing)
    if not build.members:
        plan.skipped[KUSTOMIZE_PATCH] += sum(len(layer.patch_files) for layer in build.layers)
    for reason in [reason for reason, count in plan.skipped.items() if not count]:
        del plan.skipped[reason]


def _variant_names(builds: Sequence[Build]) -> dict[str, str]:
    """The variant of each kustomization: those that have a base in common are variants of it."""
    names: dict[str, str] = {}
    groups: list[tuple[set[str], list[str]]] = []
    for build in builds:
        bases, files = set(build.bases), [build.root.file]
        apart = []
        for group in groups:
            if group[0] & bases:
                bases |= group[0]
                files = [*group[1], *files]
            else:
                apart.append(group)
        groups = [*apart, (bases, files)]
    for _, files in groups:
        folders = [posixpath.dirname(file) for file in files]
        labels = name_variants(folders) if len(folders) > 1 else [""]
        names.update(zip(files, labels, strict=True))
    return names


def name_variants(folders: Sequence[str]) -> list[str]:
    """Names for folders by the parts that differ: ``prod`` and ``test`` of ``app/over/prod``."""
    split = [folder.split("/") for folder in folders]
    start = 0
    while all(len(parts) > start + 1 for parts in split) and len({p[start] for p in split}) == 1:
        start += 1
    end = 0
    while (
        all(len(parts) > start + end + 1 for parts in split)
        and len({parts[-1 - end] for parts in split}) == 1
    ):
        end += 1
    return ["/".join(parts[start : len(parts) - end]) for parts in split]
