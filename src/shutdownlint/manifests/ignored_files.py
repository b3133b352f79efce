"""Files that git ignores, found without starting git.

The library walks as ripgrep does and matches patterns in linear time: a pull request can bring a
.gitignore of its own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shutdownlint.repository_root import find_repository_root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

IGNORE_FILE: Final = ".gitignore"


class IgnoredFiles:
    """What git ignores below a folder that the user names.

    The folder itself is read even if git ignores it. Outside of a repository git ignores nothing.
    """

    def __init__(self, root: str, skipped_folders: Iterable[str]) -> None:
        self._root = root
        self._skipped = [f"{name}/" for name in skipped_folders]
        self._repository = find_repository_root(Path(root))
        #: What git keeps, relative to the root; None until there are patterns.
        self._kept: set[str] | None = None
        if self._repository is not None and _has_patterns_above(root, self._repository):
            self._kept = set(self._walk())

    def enter(self, files: list[str]) -> None:
        """Note the files of a folder of the walk: patterns may be among them."""
        if self._kept is None and self._repository is not None and IGNORE_FILE in files:
            self._kept = set(self._walk())

    def remove(self, folder: str, names: list[str]) -> list[str]:
        """Remove the names in a folder of the walk that git ignores; their paths.

        What has no name in UTF-8 is not ignored.
        """
        if self._kept is None:
            return []
        start = len(self._root.rstrip(os.sep)) + 1
        paths = {name: os.path.join(folder, name) for name in names}  # noqa: PTH118 - a fast walk
        removed = [n for n, path in paths.items() if path[start:] not in self._kept and _is_text(n)]
        names[:] = [name for name in names if name not in removed]
        return [paths[name] for name in removed]

    def _walk(self) -> Iterator[str]:
        import rignore  # noqa: PLC0415 - only where there are patterns

        top = os.path.abspath(self._root)  # noqa: PTH100 - links stay
        start = len(top.rstrip(os.sep)) + 1
        paths = rignore.walk(
            Path(top),
            ignore_hidden=False,
            read_ignore_files=False,
            read_global_git_ignore=False,
            additional_ignores=self._skipped,
        )
        while True:
            try:
                yield str(next(paths))[start:]
            except StopIteration:
                return
            except ValueError:  # a name that is not UTF-8; the walk goes on
                continue


def _has_patterns_above(root: str, repository: Path) -> bool:
    """Whether a folder between the root and the repository's has patterns, or the repository."""
    folder = Path(os.path.realpath(root))
    above = [folder, *folder.parents]
    folders = above[: above.index(repository) + 1] if repository in above else above[:1]
    exclude = repository / ".git" / "info" / "exclude"
    return exclude.is_file() or any((each / IGNORE_FILE).is_file() for each in folders)


def _is_text(path: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in path)
