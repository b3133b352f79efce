"""The files of a run as kustomizations find them: by path, also beside the paths of the run."""

from __future__ import annotations

import os
import posixpath
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shutdownlint import files
from shutdownlint.kustomize.build import KustomizeTree
from shutdownlint.manifests.discovery import (
    InputFile,
    display_path,
    find_repository,
    is_excluded,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.manifests.inputs import InputSource


#: The files of a run are in few repositories: so many are looked at to find them.
_MOST_FILES: Final = 100


class Repository:
    """The files of a run by their path, and those of the same repository that they name."""

    def __init__(self, sources: Sequence[InputSource], exclude: Sequence[str]) -> None:
        self.sources = {
            posixpath.normpath(source.file.display_path): source
            for source in sources
            if isinstance(source.file, InputFile) and not source.rendered
        }
        self._exclude = exclude
        self._kustomizations = {
            path: source.file
            for path, source in self.sources.items()
            if isinstance(source.file, InputFile) and source.file.is_kustomization
        }
        self._folders: set[str] = set()
        self._in_order: dict[str, int] = {}
        self._sorted: list[str] = []
        self.tree = KustomizeTree(list(self._kustomizations), self.find)

    def find(self, path: str) -> InputFile | None:
        """Return the file of a path; None if it is missing or not in a repository of the run."""
        source = self.sources.get(path)
        if source is not None:
            return source.file if isinstance(source.file, InputFile) else None
        if is_excluded(path, self._exclude) or not files.is_file(path):
            return None
        real = files.real_path(path)
        if not any(real.startswith(f"{folder}{os.sep}") for folder in self._repositories()):
            return None
        return InputFile(Path(path), display_path(path))

    def files_below(self, folder: str) -> list[str]:
        """Return files of the run in a folder and in the folders below it, in the run's order."""
        if folder == ".":
            return list(self.sources)
        if not self._in_order:
            self._in_order = {path: number for number, path in enumerate(self.sources)}
            self._sorted = sorted(self.sources)
        # All that begin with "folder/" are one after the other; "0" follows "/".
        first = bisect_left(self._sorted, f"{folder}/")
        last = bisect_left(self._sorted, f"{folder}0")
        return sorted(self._sorted[first:last], key=self._in_order.__getitem__)

    def _repositories(self) -> set[str]:
        """Return the folders that files may be in."""
        if not self._folders:
            self._folders = {
                str(find_repository(source.file.path))
                for source in [*self.sources.values()][:_MOST_FILES]
                if isinstance(source.file, InputFile) and source.file.path is not None
            }
        return self._folders
