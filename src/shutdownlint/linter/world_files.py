"""The files of each world of a run, while they are collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.manifests.reader import ReadStats

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shutdownlint.manifests.inputs import InputSource


class WorldFiles:
    """The files of a run by world: the first has no variants, and is known to all others.

    ``stats`` counts what kustomizations name and that is missing.
    """

    def __init__(self) -> None:
        self.worlds: list[list[InputSource]] = [[]]
        self.stats = ReadStats()

    def add(self, source: InputSource) -> None:
        """Add a file that is not part of a variant."""
        self.worlds[0].append(source)

    def add_variants(self, groups: Mapping[str, Iterable[InputSource]]) -> None:
        """Add variants, by what they are variants of."""
        known: dict[str, int] = {}
        for sources in groups.values():
            for source in sources:
                name = source.variant
                if name and name not in known:
                    known[name] = len(self.worlds)
                    self.worlds.append([])
                self.worlds[known[name] if name else 0].append(source)


def add_sources(plan: WorldFiles, sources: Iterable[InputSource]) -> None:
    """Add files outside kustomizations; renderings may be variants of a chart."""
    charts: dict[str, list[InputSource]] = {}
    for source in sources:
        if source.variant:
            charts.setdefault(source.rendered, []).append(source)
        else:
            plan.add(source)
    plan.add_variants(charts)
