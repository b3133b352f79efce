"""The assignment of files to the worlds of a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shutdownlint.manifests.loader import InputSource
    from shutdownlint.manifests.reader import UnreadableInput
    from shutdownlint.manifests.skips import SkipReason


class VariantPlan(Struct):
    """The files of a run by world: the first has no variants, and is what all others know.

    ``skipped`` and ``unreadable`` are what kustomizations name and is not there.
    """

    worlds: list[list[InputSource]] = field(default_factory=lambda: [[]])
    skipped: Counter[SkipReason] = field(default_factory=Counter)
    unreadable: list[UnreadableInput] = field(default_factory=list)

    def add(self, source: InputSource) -> None:
        """Add a file that is not a variant."""
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


def add_sources(plan: VariantPlan, sources: Iterable[InputSource]) -> None:
    """Add files that are not part of a kustomization; renderings may be variants of a chart."""
    charts: dict[str, list[InputSource]] = {}
    for source in sources:
        if source.variant:
            charts.setdefault(source.rendered, []).append(source)
        else:
            plan.add(source)
    plan.add_variants(charts)
