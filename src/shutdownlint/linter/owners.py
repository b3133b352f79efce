"""Which team owns a finding: by an annotation or label, the configuration, or CODEOWNERS."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint import limits
from shutdownlint.manifests.discovery import is_excluded
from shutdownlint.repository_root import find_repository_root

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.platforms.workload_index import WorkloadEntry

#: Where GitHub and GitLab look for the file, in this order (docs.github.com, about code owners).
_PLACES: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
_ANY_FOLDERS: Final = "**"


class Owners(Struct, frozen=True):
    """What the configuration says about owners: a label's name, and teams by files' patterns."""

    label: str = ""
    paths: tuple[tuple[str, str], ...] = ()


class OwnerLookup:
    """The owners of the findings of a run.

    A workload's own annotation or label comes first, then the configuration, then the CODEOWNERS
    file of the repository that the current folder is in.
    """

    def __init__(self, owners: Owners, entries: Iterable[WorkloadEntry]) -> None:
        self._owners = owners
        self._by_workload: dict[tuple[str, ObjectId], str] = {}
        for entry in entries:
            if entry.owner:
                self._by_workload[(entry.region.file, entry.id)] = entry.owner
        self._root = find_repository_root(Path())
        self._rules = _read_codeowners(self._root) if self._root is not None else ()

    def owner_of(self, finding: Finding) -> str:
        """The owner, as it is written; empty where nothing names one."""
        file = finding.region.file
        if finding.workload is not None:
            own = (finding.subject_region or finding.region).file
            found = self._by_workload.get((own, finding.workload))
            if found:
                return found
        return self.owner_of_file(file)

    def owner_of_file(self, file: str) -> str:
        """The owner of what is in a file."""
        for pattern, owner in self._owners.paths:
            if is_excluded(file, [pattern]):
                return owner
        if self._root is None or not self._rules:
            return ""
        path = os.path.relpath(os.path.realpath(file), self._root).replace(os.sep, "/")
        # The last line that matches counts.
        return next((owner for rule, owner in reversed(self._rules) if matches(rule, path)), "")


def _read_codeowners(root: Path) -> Sequence[tuple[str, str]]:
    """The patterns with their owners, from the first of the places."""
    for name in _PLACES:
        path = root / name
        try:
            if not path.is_file() or path.stat().st_size > limits.MAX_CODEOWNERS_BYTES:
                continue
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        return tuple(_parse_codeowners(text))
    return ()


def _parse_codeowners(text: str) -> Iterable[tuple[str, str]]:
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        # A section of GitLab is no pattern.
        if words and not words[0].startswith(("[", "^[")):
            yield words[0], " ".join(words[1:])


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
