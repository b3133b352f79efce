"""The variants of a run: environments that exclude one another, each with its files.

The overlays of one base, and the renderings of one chart for several environments, are variants.
What belongs to none of them is read once, and every variant knows it.
"""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.manifests.discovery import (
    InputFile,
    display_path,
    find_repository,
    is_excluded,
)
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
        listed = _Kustomizations(listed, exclude).expand(plan)
    for source in listed:
        plan.add(source)
    return plan


class _Kustomizations:
    """The kustomizations among the files, with the manifests that they deploy in their place."""

    def __init__(self, sources: list[InputSource], exclude: Sequence[str]) -> None:
        from shutdownlint.kustomize.build import KustomizeTree  # noqa: PLC0415 - seldom needed

        self.sources = sources
        self.exclude = exclude
        self.known: dict[str, InputSource] = {
            _normalize(source.file.display_path): source
            for source in sources
            if isinstance(source.file, InputFile)
        }
        files = [
            path
            for path, source in self.known.items()
            if isinstance(source.file, InputFile) and source.file.is_kustomization
        ]
        self.roots: dict[str, Path] = {}
        self.tree = KustomizeTree(files, self.find)

    def find(self, path: str) -> InputFile | None:
        """The file of a path: one of the run, or another one of the same repository."""
        source = self.known.get(path)
        if source is not None:
            return source.file if isinstance(source.file, InputFile) else None
        if is_excluded(path, self.exclude) or not os.path.isfile(path):  # noqa: PTH113 - strings
            return None
        real = os.path.realpath(path)
        if not any(real.startswith(f"{root}{os.sep}") for root in self._repositories()):
            return None
        return InputFile(Path(path), display_path(path))

    def _repositories(self) -> list[str]:
        """The folders that files may be in: the repositories of the files of the run."""
        if not self.roots:
            for source in self.known.values():
                file = source.file
                if isinstance(file, InputFile) and file.is_kustomization and file.path is not None:
                    self.roots[file.display_path] = find_repository(file.path)
        return [*dict.fromkeys(map(str, self.roots.values()))]

    def expand(self, plan: VariantPlan) -> list[InputSource]:
        """The files of the run, each as every kustomization deploys it."""
        builds = self.tree.roots()
        deployed: set[str] = set()
        made: list[InputSource] = []
        names = _variant_names(builds)
        for build in builds:
            if build.failed:
                region = Region(build.root.file, 1, 1, 1, 1)
                plan.unreadable.append(UnreadableInput(region, build.failed))
                continue
            _note_skipped(build, plan)
            deployed |= build.files
            made += self._members(build, names[build.root.file])
        patches = {file for build in builds for layer in build.layers for file in layer.patch_files}
        kept = []
        for source in self.sources:
            path = _normalize(source.file.display_path)
            if path in patches:
                kept.append(replace(source, patch=True))
            elif path not in deployed:
                kept.append(source)
        return [*kept, *made]

    def _members(self, build: Build, variant: str) -> Iterator[InputSource]:
        context = self.known[build.root.file].context
        words = {id(layer): self._words(layer.file, layer.patch_files) for layer in build.layers}
        for member in build.members:
            file = self.find(member.file)
            if file is not None:
                text = b"\n".join(words[id(layer)] for layer in member.layers)
                yield InputSource(file, context, member.transform, text, variant=variant)

    def _words(self, file: str, patches: Sequence[str]) -> bytes:
        """The text of a kustomization and of its patches."""
        found = [self.find(path) for path in (file, *patches)]
        return b"\n".join(self.tree.text(each) for each in found if each is not None)


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
    """Names for folders by what tells them apart: ``prod`` and ``test`` of ``app/over/prod``."""
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


def _normalize(path: str) -> str:
    return posixpath.normpath(path)
