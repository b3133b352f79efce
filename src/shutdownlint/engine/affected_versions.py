"""For which releases a finding holds, where the versions are not known.

Releases between which nothing changes are tried once: what changes with a version says so in the
facts and in the rule files.
"""

from __future__ import annotations

from itertools import groupby, product
from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.platforms.facts import Fact
from shutdownlint.platforms.istio import facts as istio
from shutdownlint.platforms.kubernetes import facts as kubernetes
from shutdownlint.platforms.versions import Range, Version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import ModuleType

    from shutdownlint.engine.rule import Rule


class ReleaseGroups(Struct, frozen=True):
    """Releases that a run tries: ``kinds`` of a system's minors between which nothing changes."""

    name: str
    kinds: tuple[tuple[Version, ...], ...]

    @classmethod
    def of(
        cls, name: str, tried: Sequence[Version], module: ModuleType, ranges: Iterable[Range]
    ) -> ReleaseGroups:
        """The tried releases, parted where a fact or a rule changes."""
        changes = {bound for versions in ranges for group in versions.groups for _, bound in group}
        for fact in vars(module).values():
            value = fact.value if isinstance(fact, Fact) else None
            if isinstance(value, Version):
                changes.add(value)
            elif isinstance(value, Range):
                changes |= {bound for group in value.groups for _, bound in group}
        parted = groupby(tried, key=lambda version: sum(version >= change for change in changes))
        return cls(name, tuple(tuple(group) for _, group in parted))

    def told(self, chosen: Sequence[int]) -> str:
        """Some of the kinds, as people write it; empty for all of them."""
        if len(chosen) == len(self.kinds):
            return ""
        versions = [version for index in chosen for version in self.kinds[index]]
        first, last = versions[0], versions[-1]
        whole = {v for kind in self.kinds for v in kind if first <= v <= last}
        if whole != set(versions):
            return f"{self.name} {', '.join(str(version) for version in versions)}"
        if first == self.kinds[0][0]:
            return f"{self.name} {last} and before"
        if last == self.kinds[-1][-1]:
            return f"{self.name} {first} and later"
        return f"{self.name} {first}" if first == last else f"{self.name} {first} to {last}"


def releases(rules: Iterable[Rule]) -> tuple[ReleaseGroups, ReleaseGroups]:
    """The releases of Istio and of Kubernetes that are tried."""
    since = list(rules)
    return (
        ReleaseGroups.of(
            "Istio",
            istio.SUPPORTED_VERSIONS.value,
            istio,
            [s.istio for s in since if s.istio is not None],
        ),
        ReleaseGroups.of(
            "Kubernetes",
            kubernetes.SUPPORTED_VERSIONS.value,
            kubernetes,
            [s.kubernetes for s in since if s.kubernetes is not None],
        ),
    )


def format_affected_versions(
    meshes: ReleaseGroups, clusters: ReleaseGroups, holds: Callable[[Version, Version], bool]
) -> str:
    """For which of them something holds, in words; empty where for all or for none."""
    indexes = product(range(len(meshes.kinds)), range(len(clusters.kinds)))
    held = {(m, c): holds(meshes.kinds[m][-1], clusters.kinds[c][-1]) for m, c in indexes}
    if all(held.values()) or not any(held.values()):
        return ""
    rows = {
        m: tuple(c for c in range(len(clusters.kinds)) if held[m, c])
        for m in range(len(meshes.kinds))
    }
    told = []
    for row in dict.fromkeys(rows.values()):
        if row:
            mesh = meshes.told([m for m, own in rows.items() if own == row])
            told.append(" on ".join(part for part in (mesh, clusters.told(row)) if part))
    return ", and for ".join(told)
