"""Versions of platforms, and ranges of versions."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, field

from shutdownlint.patterns import lazy_pattern

_VERSION: Final = lazy_pattern(r"v?(\d+)\.(\d+)(?:\.(\d+))?")
_CLAUSE: Final = lazy_pattern(r"\s*(>=|<=|==|>|<)\s*(v?\d+\.\d+(?:\.\d+)?)\s*")


class Version(Struct, frozen=True, order=True):
    """A release; a missing patch number means the newest patch of that minor."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read ``1.26``, ``v1.26.3``. Raises ``ValueError``."""
        # Distributions add to the number: v1.33.2-gke.100, 1.30.4-eks-a737599, 1.24.1+rke2r1.
        found = _VERSION.fullmatch(re.sub(r"(?<=\d)[-+].*", "", text.strip()))
        if found is None:
            raise ValueError(f"{text!r} is not a version like 1.26 or 1.26.3")
        major, minor, patch = found.groups()
        return cls(int(major), int(minor), int(patch) if patch else NEWEST_PATCH)

    @classmethod
    def find(cls, text: str) -> Version | None:
        """The version that a tag such as ``1.24.2-distroless`` or ``release-1.24`` begins with."""
        found = re.match(r"(?:v|release-)?(\d+)\.(\d+)(?:\.(\d+))?(?![\d.])", text)
        if found is None:
            return None
        major, minor, patch = found.groups()
        return cls(int(major), int(minor), int(patch) if patch else NEWEST_PATCH)

    def __str__(self) -> str:
        short = f"{self.major}.{self.minor}"
        return short if self.patch == NEWEST_PATCH else f"{short}.{self.patch}"


class WatchedVersion(Version, frozen=True, eq=False, order=False):
    """A version that notes what it is compared with, for every comparison by order.

    Two versions that lie on one side of all of it cannot be told apart by what compared them.
    """

    compared: set[Version] = field(default_factory=set)

    def __lt__(self, other: Version) -> bool:
        return self._note(other) < _order(other)

    def __le__(self, other: Version) -> bool:
        return self._note(other) <= _order(other)

    def __gt__(self, other: Version) -> bool:
        return self._note(other) > _order(other)

    def __ge__(self, other: Version) -> bool:
        return self._note(other) >= _order(other)

    def _note(self, other: Version) -> tuple[int, int, int]:
        self.compared.add(other)
        return _order(self)

    def is_like(self, other: Version) -> bool:
        """Whether every comparison so far would give the same for the other version."""
        own, its = _order(self), _order(other)
        return all(
            (own < bound, own > bound) == (its < bound, its > bound)
            for bound in map(_order, self.compared)
        )


def _order(version: Version) -> tuple[int, int, int]:
    return version.major, version.minor, version.patch


NEWEST_PATCH: Final = 999
#: Means "a release of today" where a version is not known: later than every fixed bug.
CURRENT: Final = Version(1, 999, 0)


class VersionRange(Struct, frozen=True):
    """Clauses joined by commas (and), groups of them joined by ``||`` (or)."""

    text: str
    groups: tuple[tuple[tuple[str, Version], ...], ...]

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """Read ``>=1.12,<1.12.9 || >=1.13,<1.13.5``. Raises ``ValueError``."""
        groups = []
        for group in text.split("||"):
            clauses = []
            for clause in group.split(","):
                found = _CLAUSE.fullmatch(clause)
                if found is None:
                    raise ValueError(f"{clause.strip()!r} is not a version clause like >=1.12")
                bound = _VERSION.fullmatch(found.group(2))
                assert bound is not None
                major, minor, patch = bound.groups()
                # An end without a patch number means the minor's first release.
                clauses.append((found.group(1), Version(int(major), int(minor), int(patch or 0))))
            groups.append(tuple(clauses))
        return cls(text, tuple(groups))

    @property
    def bounds(self) -> set[Version]:
        """The versions at which it begins or ends."""
        return {bound for group in self.groups for _, bound in group}

    def __contains__(self, version: Version) -> bool:
        return any(all(_holds(version, *clause) for clause in group) for group in self.groups)


def _holds(version: Version, operator: str, bound: Version) -> bool:
    match operator:
        case ">=":
            return version >= bound
        case "<=":
            return version <= bound
        case ">":
            return version > bound
        case "<":
            return version < bound
        case _:
            # Comparisons by order, which a watched version notes.
            first, after = (
                Version(bound.major, bound.minor, 0),
                Version(bound.major, bound.minor + 1, 0),
            )
            return first <= version < after
