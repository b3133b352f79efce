"""Looks up which team owns a finding; imported where a report names teams."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint import files, limits
from shutdownlint.manifests.discovery import is_excluded
from shutdownlint.patterns import lazy_pattern
from shutdownlint.repository_root import find_repository_root, read_regular_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.owners import Owners
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.platforms.workload_index import WorkloadEntry

#: Where GitHub and GitLab look for the file, in this order (docs.github.com, about code owners).
_PLACES: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_ANY_FOLDERS: Final = "**"
_SECTION: Final = lazy_pattern(r"\^?\[[^\]]*\](?:\[\d+\])?(.*)")
#: Written for a space that is a part of a pattern.
_SPACE: Final = "\0"


class _Section(Struct):
    """Patterns with their owners, the last one that matches counts, and patterns of no owner."""

    rules: list[tuple[str, str]] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)

    def owner_of(self, path: str) -> str:
        """Return the owner of a file, by its path from the repository's root."""
        if any(matches(pattern, path) for pattern in self.excluded):
            return ""
        return next((owner for rule, owner in reversed(self.rules) if matches(rule, path)), "")


class OwnerLookup:
    """The owners of the findings of a run.

    A workload's own annotation or label comes first, then the configuration, then the CODEOWNERS
    file of the repository that the file is in.
    """

    def __init__(self, owners: Owners, entries: Iterable[WorkloadEntry]) -> None:
        self._owners = owners
        self._by_workload: dict[tuple[str, ObjectId], str] = {}
        for entry in entries:
            if entry.owner:
                self._by_workload[(entry.region.file, entry.id)] = entry.owner
        self._sections_of: dict[Path | None, Sequence[_Section]] = {None: ()}
        self._root_of: dict[str, Path | None] = {}
        self._by_file: dict[str, str] = {}

    def owner_of(self, finding: Finding) -> str:
        """Return the owner, as it is written; empty where nothing names one."""
        file = finding.region.file
        if finding.workload is not None:
            found = self._by_workload.get((finding.subject_file, finding.workload))
            if found:
                return found
        return self.owner_of_file(file)

    def owner_of_file(self, file: str) -> str:
        """Return the owner of what is in a file."""
        if file not in self._by_file:
            self._by_file[file] = self._find(file)
        return self._by_file[file]

    def _find(self, file: str) -> str:
        for pattern, owner in self._owners.paths:
            if is_excluded(file, [pattern]):
                return owner
        folder = os.path.dirname(file)  # noqa: PTH120 - a name, perhaps of no file
        if folder not in self._root_of:
            self._root_of[folder] = find_repository_root(Path(folder))
        root = self._root_of[folder]
        if root not in self._sections_of:
            assert root is not None
            self._sections_of[root] = _read_codeowners(root)
        sections = self._sections_of[root]
        if root is None or not sections:
            return ""
        path = os.path.relpath(files.real_path(file), root).replace(os.sep, "/")
        return next((o for each in reversed(sections) if (o := each.owner_of(path))), "")


def _read_codeowners(root: Path) -> Sequence[_Section]:
    """Return the patterns with their owners, from the first of the places."""
    for name in _PLACES:
        data = read_regular_file(root / name, limits.MAX_CODEOWNERS_BYTES)
        if data is not None:
            return _parse_codeowners(data.decode("utf-8", "replace"))
    return ()


def _parse_codeowners(text: str) -> tuple[_Section, ...]:
    """Return the sections. GitLab's may have owners for patterns without; GitHub has one.

    Source: docs.gitlab.com, code owners, syntax (sections, default owners, exclusions).
    """
    sections = [_Section()]
    default = ""
    for line in text.splitlines()[: limits.MAX_CODEOWNERS_LINES]:
        head = _SECTION.match(line)
        if head is not None:
            default = " ".join(head[1].partition("#")[0].split())
            sections.append(_Section())
            continue
        # A backslash in front of a space makes it a part of the pattern.
        words = line.replace("\\ ", _SPACE).partition("#")[0].split()
        if not words:
            continue
        pattern = words[0].replace(_SPACE, " ")
        if pattern.startswith("!"):
            sections[-1].excluded.append(pattern[1:])
        else:
            sections[-1].rules.append((pattern, " ".join(words[1:]) or default))
    return tuple(sections)


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern of CODEOWNERS is about a file (a path from the repository's root).

    Source: docs.github.com, about code owners, CODEOWNERS syntax: as in .gitignore, without
    negation and ranges of characters; ``docs/*`` is not about folders in ``docs``. The time is
    bounded by the lengths, since a pull request can bring patterns.
    """
    steps = pattern.strip("/").split("/")
    if "/" not in pattern.rstrip("/"):  # without a slash: at any depth
        steps = [_ANY_FOLDERS, *steps]
    if pattern.endswith("/"):
        steps += [_ANY_FOLDERS, "*"]
    names = path.split("/")
    # For each number of steps: the numbers of names that they can cover.
    reached = {0}
    for step in steps:
        if step == _ANY_FOLDERS:
            reached = set(range(min(reached), len(names) + 1)) if reached else set()
        else:
            reached = {at + 1 for at in reached if at < len(names) and _fits(names[at], step)}
    if len(names) in reached:
        return True
    # What names a folder is about all files in it; a last step of only * is not.
    return any(at > 0 for at in reached) and steps[-1] != "*"


@lru_cache(maxsize=4096)
def _fits(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern with * and ?; greedy, so without backtracking over both."""
    at = place = 0
    star = -1
    kept = 0
    while at < len(name):
        if place < len(pattern) and pattern[place] in ("?", name[at]) and pattern[place] != "*":
            at, place = at + 1, place + 1
        elif place < len(pattern) and pattern[place] == "*":
            star, kept, place = place, at, place + 1
        elif star >= 0:
            kept += 1
            at, place = kept, star + 1
        else:
            return False
    return pattern[place:].strip("*") == ""
