"""Expand: from inputs to worlds, the files that are deployed together.

The overlays of one base, and the renderings of one chart for several environments, are variants of
it. Each is read into a world without the others. Variants of the same name are in one world, as
parts of the same environment. Files of no variant are in the first world, which the others know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

from shutdownlint.gitops.words import names_deployments
from shutdownlint.linter.world_files import WorldFiles, add_sources
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.prefilter import Prefilter
from shutdownlint.manifests.read_world import Reading, read_world
from shutdownlint.manifests.reader import ReadStats
from shutdownlint.manifests.world import World, variants_of
from shutdownlint.platforms.registry import PlatformEntry, PlatformWords, kind_table
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
    facts = options.facts
    meshes = {*facts.versions, *(fact.mesh for fact in facts.meshes)} - {NO_MESH}
    words = PlatformWords({*meshes, *named})
    plan = _plan_worlds(inputs.sources, options.search)
    kinds = kind_table(facts.programs)
    reading = Reading(
        kinds,
        Prefilter(kinds.entries),
        words.notice,
        options.on_file,
        facts.namespace,
        options.debug,
    )
    worlds: list[World] = []
    seen: set[str] = set()
    for sources in plan.worlds:
        numbered = _with_repeats(sources, seen)
        worlds.append(read_world(numbered, reading, worlds[0] if worlds else None))
    return Expansion(inputs, tuple(worlds), words.entries, plan.stats)


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
