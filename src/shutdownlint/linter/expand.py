"""Expand: from inputs to worlds, the files that are deployed together.

The overlays of one base, and the renderings of one chart for several environments, are variants of
it. Each is read into a world without the others. Variants of the same name are in one world, as
parts of the same environment. Files of no variant are in the first world, which the others know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.gitops.words import names_deployments
from shutdownlint.linter.world_files import WorldFiles, add_sources
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.prefilter import Prefilter
from shutdownlint.manifests.read_world import Reading, read_world
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.manifests.world import World, variants_of
from shutdownlint.platforms.registry import (
    PlatformEntry,
    PlatformWords,
    kind_table,
    mesh_names,
)
from shutdownlint.platforms.user_facts import NO_MESH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.linter.options import LintOptions
    from shutdownlint.manifests.discovery import FileSearch
    from shutdownlint.manifests.inputs import Inputs, InputSource


class Expansion(Struct, frozen=True):
    """The worlds of a run, and the platforms that are among their files.

    ``stats`` counts what kustomizations and deployments name and that is missing.
    """

    inputs: Inputs
    worlds: tuple[World, ...]
    platforms: tuple[PlatformEntry, ...]
    stats: ReadStats = field(default_factory=ReadStats)

    @property
    def has_input(self) -> bool:
        """Whether there is anything to check, or to report."""
        return bool(self.stats.unreadable) or any(world.has_input for world in self.worlds)

    @property
    def read_stats(self) -> list[ReadStats]:
        """The counts of the reading, the first world's first."""
        first, *others = self.worlds
        return [first.stats, self.stats, *(world.stats for world in others)]

    @property
    def variants_of(self) -> dict[str, set[str]]:
        """The variants that each file is part of, or changes."""
        return variants_of(self.worlds)


def expand(inputs: Inputs, options: LintOptions, named: Iterable[str] = ()) -> Expansion:
    """Apply overlays, charts and Applications, and read the files of each world for their context.

    ``named`` are platforms that are used whatever the files have. Bad input never raises.
    """
    words = _chosen_platforms(options, named)
    plan = _plan_worlds(inputs.sources, options.search)
    reading = _reading(options, words)
    worlds: list[World] = []
    seen: set[str] = set()
    for sources in plan.worlds:
        numbered = _with_repeats(sources, seen)
        worlds.append(read_world(numbered, reading, worlds[0] if worlds else None))
    return Expansion(inputs, tuple(worlds), words.entries, plan.stats)


class EditedFile:
    """One file that is edited again and again, among others that stay as they are.

    The others are read once. What concerns several workloads together (a Service that selects
    two) is found among those of this file only.
    """

    def __init__(self, inputs: Inputs, source: InputSource, options: LintOptions) -> None:
        self._inputs = inputs
        self._source = source
        self._words = _chosen_platforms(options, mesh_names())
        self._reading = _reading(options, self._words)
        others = [replace(s, context=True) for s in inputs.sources if s is not source]
        self._first = read_world(((other, False) for other in others), self._reading)

    @classmethod
    def find(cls, inputs: Inputs, name: str, options: LintOptions) -> EditedFile | None:
        """Return the file of a run with this name.

        None where there is none, or where kustomizations and deployments decide what becomes of
        it.
        """
        found = [s for s in inputs.sources if s.file.display_path == name and not s.context]
        plan = _plan_worlds(inputs.sources, options.search)
        same = [s for s in plan.worlds[0] if s.file.display_path == name]
        is_plain = len(found) == 1 and same == found and isinstance(found[0].file, InputFile)
        others = any(s.file.display_path == name for world in plan.worlds[1:] for s in world)
        return cls(inputs, found[0], options) if is_plain and not others else None

    def expand(self, data: bytes) -> Expansion:
        """Return the file with this text as a run of its own that knows the others."""
        assert isinstance(self._source.file, InputFile)
        source = replace(self._source, file=replace(self._source.file, data=data))
        world = read_world([(source, False)], self._reading, self._first)
        return Expansion(self._inputs, (world,), self._words.entries)


def _chosen_platforms(options: LintOptions, named: Iterable[str]) -> PlatformWords:
    """Return the platforms that are used whatever the files have."""
    facts = options.facts
    meshes = {*facts.versions, *(fact.mesh for fact in facts.meshes)} - {NO_MESH}
    return PlatformWords({*meshes, *named})


def _reading(options: LintOptions, words: PlatformWords) -> Reading:
    kinds = kind_table(options.facts.programs)
    return Reading(
        kinds,
        Prefilter(kinds.entries),
        words.notice,
        options.on_file,
        options.facts.namespace,
        options.debug,
    )


def _plan_worlds(sources: Sequence[InputSource], search: FileSearch) -> WorldFiles:
    """Return the files of each world, each as it is deployed."""
    files = [source.file for source in sources if isinstance(source.file, InputFile)]
    plan = WorldFiles()
    if any(file.is_kustomization or names_deployments(file) for file in files):
        from shutdownlint.linter.deployed_files import DeployedFiles  # noqa: PLC0415 - seldom used

        DeployedFiles(sources, search, plan).add_all()
    else:
        add_sources(plan, sources)
    return plan


def _with_repeats(
    sources: Iterable[InputSource], seen: set[str]
) -> Iterator[tuple[InputSource, bool]]:
    """Yield the sources with whether their file was seen before: overlays share their base."""
    for source in sources:
        name = source.file.display_path
        yield source, name in seen
        if isinstance(source.file, InputFile):
            seen.add(name)
