"""The files of each world of a run, while they are collected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.manifests.reader import ReadStats

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.manifests.inputs import InputSource


class WorldFiles:
    """The files of a run by world: the first has no variants, and is known to all others.

    ``stats`` counts what kustomizations name and that is missing.
    """

    def __init__(self) -> None:
        self.worlds: list[list[InputSource]] = [[]]
        self.stats = ReadStats()
        self._numbers: dict[str, int] = {"": 0}

    def add(self, source: InputSource) -> None:
        """Add a file to the world of its variant."""
        name = source.variant
        if name not in self._numbers:
            self._numbers[name] = len(self.worlds)
            self.worlds.append([])
        self.worlds[self._numbers[name]].append(source)


def add_sources(plan: WorldFiles, sources: Iterable[InputSource]) -> None:
    """Add files outside kustomizations; renderings may be variants of a chart."""
    charts: dict[str, list[InputSource]] = {}
    for source in sources:
        if source.variant:
            charts.setdefault(source.rendered, []).append(source)
        else:
            plan.add(source)
    for variants in charts.values():
        for source in variants:
            plan.add(source)
