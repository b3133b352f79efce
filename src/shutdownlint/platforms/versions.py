"""Versions of platforms, and ranges of versions."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct, field

from shutdownlint.numbers import read_whole
from shutdownlint.patterns import lazy_pattern

#: The suffixes of distributions: v1.33.2-gke.100, 1.30.4-eks-a737599, 1.24.1+rke2r1.
_ADDED: Final = lazy_pattern(r"(?<=\d)[-+].*")
_OPERATORS: Final = (">=", "<=", "==", ">", "<")


def _read_numbers(text: str) -> tuple[int, int, int | None] | None:
    """Return the numbers of ``1.26`` or ``v1.26.3``. Every run reads some, so without a pattern."""
    parts = text.removeprefix("v").split(".")
    if len(parts) not in (2, 3):
        return None
    major, minor, *patch = map(read_whole, parts)
    if major is None or minor is None or patch == [None]:
        return None
    return major, minor, patch[0] if patch else None


class Version(Struct, frozen=True, order=True):
    """A release; a missing patch number means the newest patch of that minor."""

    major: int
    minor: int
    patch: int

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read ``1.26``, ``v1.26.3``. Raises ``ValueError``."""
        text = text.strip()
        found = _read_numbers(_ADDED.sub("", text) if "-" in text or "+" in text else text)
        if found is None:
            raise ValueError(f"{text!r} is not a version like 1.26 or 1.26.3")
        major, minor, patch = found
        return cls(major, minor, NEWEST_PATCH if patch is None else patch)

    @classmethod
    def find(cls, text: str) -> Version | None:
        """Return the version at the start of a tag: ``1.24.2-distroless``, ``release-1.24``."""
        found = re.match(r"(?:v|release-)?(\d+)\.(\d+)(?:\.(\d+))?(?![\d.])", text)
        if found is None:
            return None
        numbers = _read_numbers(".".join(filter(None, found.groups())))
        if numbers is None:
            return None
        major, minor, patch = numbers
        return cls(major, minor, NEWEST_PATCH if patch is None else patch)

    @property
    def text(self) -> str:
        """The same as ``str``, for what is decided by it: a watched version notes that."""
        return str(self)

    def __str__(self) -> str:
        short = f"{self.major}.{self.minor}"
        return short if self.patch == NEWEST_PATCH else f"{short}.{self.patch}"


class WatchedVersion(Version, frozen=True, eq=False, order=False):
    """A version that notes every version that it is compared with by order.

    Another version gives the same answers if it is on the same side of each of them.
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

    @property
    def text(self) -> str:
        """Its text. No other version has the same."""
        self.compared.add(Version(self.major, self.minor, self.patch))
        return str(self)

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


def version_text(version: Version | None) -> str:
    """Return a version as rules read it; empty where it is not known."""
    return version.text if version is not None else ""


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
            for clause in map(str.strip, group.split(",")):
                operator = next(filter(clause.startswith, _OPERATORS), "")
                found = _read_numbers(clause.removeprefix(operator).lstrip())
                if not operator or found is None:
                    raise ValueError(f"{clause!r} is not a version clause like >=1.12")
                # An end without a patch number means the minor's first release.
                clauses.append((operator, Version(found[0], found[1], found[2] or 0)))
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
