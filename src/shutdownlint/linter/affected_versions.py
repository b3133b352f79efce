"""Versions that behave alike, grouped, and described where a finding affects them.

Versions between which nothing changes are tried once: what changes with a version says so in the
facts and in the rule files.
"""

from __future__ import annotations

from itertools import groupby, product
from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.platforms.registry import platform_title
from shutdownlint.platforms.versions import Version, VersionRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from shutdownlint.platforms.platform import Platform

Combination = tuple[tuple[str, Version], ...]


class VersionGroups(Struct, frozen=True):
    """The supported versions of a platform, in groups between which nothing changes."""

    name: str
    title: str
    groups: tuple[tuple[Version, ...], ...]

    @classmethod
    def of(cls, platform: Platform, ranges: Iterable[VersionRange]) -> VersionGroups:
        """Return the platform's versions, divided where a fact or a rule changes."""
        changes: set[Version] = set()
        for versions in ranges:
            changes |= versions.bounds
        for fact in platform.version_changes:
            value = fact.value
            changes |= {value} if isinstance(value, Version) else value.bounds
        divided = groupby(
            platform.supported_versions,
            key=lambda version: sum(version >= change for change in changes),
        )
        return cls(
            platform.name,
            platform_title(platform.name),
            tuple(tuple(group) for _, group in divided),
        )

    def describe(self, chosen: Sequence[int]) -> str:
        """Describe some of the groups as people write them; empty for all groups."""
        if len(chosen) == len(self.groups):
            return ""
        versions = [version for index in chosen for version in self.groups[index]]
        first, last = versions[0], versions[-1]
        between = {v for group in self.groups for v in group if first <= v <= last}
        if between != set(versions):
            return f"{self.title} {', '.join(str(version) for version in versions)}"
        if first == self.groups[0][0]:
            return f"{self.title} {last} and before"
        if last == self.groups[-1][-1]:
            return f"{self.title} {first} and later"
        return f"{self.title} {first}" if first == last else f"{self.title} {first} to {last}"


def describe_affected(groups: Sequence[VersionGroups], holds: Callable[[Combination], bool]) -> str:
    """For which versions something holds; empty where it does for all or for none."""
    indexes = product(*(range(len(group.groups)) for group in groups))
    affected = {
        chosen
        for chosen in indexes
        if holds(
            tuple(
                (group.name, group.groups[index][-1])
                for group, index in zip(groups, chosen, strict=True)
            )
        )
    }
    return _describe(groups, affected) if affected else ""


def _describe(groups: Sequence[VersionGroups], affected: set[tuple[int, ...]]) -> str:
    if not groups:
        return ""
    first, rest = groups[0], groups[1:]
    rows = {
        index: frozenset(chosen[1:] for chosen in affected if chosen[0] == index)
        for index in range(len(first.groups))
    }
    texts = []
    for row in dict.fromkeys(rows.values()):
        if row:
            own = first.describe([index for index, other in rows.items() if other == row])
            texts.append(" on ".join(part for part in (own, _describe(rest, set(row))) if part))
    return ", and for ".join(texts)
