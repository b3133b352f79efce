"""Files that git ignores, found without starting git.

The library walks as ripgrep does and matches patterns in linear time: a pull request can bring a
.gitignore of its own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shutdownlint import files, limits
from shutdownlint.repository_root import find_repository_root, read_regular_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


IGNORE_FILE: Final = ".gitignore"


class IgnoredFiles:
    """The files that git ignores below a folder that the user names.

    The folder itself is read even if git ignores it. Outside of a repository git ignores nothing.
    ``unreadable`` is a file of patterns that is a link, no file, or too large: then nothing is left
    out. git does not follow such links either.
    """

    def __init__(self, root: str, skipped_folders: Iterable[str]) -> None:
        self._root = root
        self._skipped = frozenset(skipped_folders)
        self._repository = find_repository_root(Path(root))
        #: The files that git keeps, relative to the root; None until there are patterns.
        self._kept: set[str] | None = None
        self.unreadable: str | None = None
        if self._repository is not None:
            above = _pattern_files_above(root, self._repository)
            if above:
                self._read(above)

    def enter(self, names: list[str], folders: list[str]) -> None:
        """Note what a folder of the walk has: patterns may be among it."""
        known = self._kept is not None or self.unreadable is not None
        if known or self._repository is None:
            return
        if IGNORE_FILE in names or IGNORE_FILE in folders:
            self._read([])

    def remove(self, folder: str, names: list[str]) -> list[str]:
        """Remove the names in a folder of the walk that git ignores; their paths.

        What has no name in UTF-8 is not ignored.
        """
        if self._kept is None:
            return []
        start = len(self._root.rstrip(os.sep))
        paths = {name: os.path.join(folder, name) for name in names}  # noqa: PTH118 - a fast walk
        removed = {
            name
            for name, path in paths.items()
            if path[start:].lstrip(os.sep) not in self._kept and _is_text(name)
        }
        names[:] = [name for name in names if name not in removed]
        return [paths[name] for name in paths if name in removed]

    def _read(self, above: list[Path]) -> None:
        """Read the patterns, if all of their files can be read."""
        for path in (*above, *self._pattern_files()):
            if read_regular_file(path, limits.MAX_GITIGNORE_BYTES) is None:
                self.unreadable = str(path)
                return
        skipped = "/".join(sorted(self._skipped))
        self._kept = set(files.read(files.KEPT_BY_GIT, self._root, skipped))

    def _pattern_files(self) -> Iterator[Path]:
        """Yield the files of patterns below the root."""
        skipped = tuple(sorted(self._skipped))
        for folder in files.find_folders_with(self._root, IGNORE_FILE, skipped):
            yield Path(folder) / IGNORE_FILE


def _kept_by_git(root: str, skipped: str) -> list[str]:
    """Return the files that git keeps below a folder, relative to it.

    Which files of patterns count (those of worktrees, of repositories in this one) is known to the
    library, so the whole answer is noted.
    """
    import rignore  # noqa: PLC0415 - only where there are patterns

    top = os.path.abspath(root)  # noqa: PTH100 - links stay
    start = len(top.rstrip(os.sep)) + 1
    paths = rignore.walk(
        Path(top),
        ignore_hidden=False,
        read_ignore_files=False,
        read_global_git_ignore=False,
        additional_ignores=[f"{name}/" for name in skipped.split("/")],
    )
    found = []
    while True:
        try:
            found.append(str(next(paths))[start:])
        except StopIteration:
            return sorted(found)
        except ValueError:  # a name that is not UTF-8; the walk goes on
            continue


files.add_kind(files.KEPT_BY_GIT, _kept_by_git, files.short_names)


def _pattern_files_above(root: str, repository: Path) -> list[Path]:
    """Return the files of patterns from the root to the repository's, and the repository's own."""
    folder = Path(files.real_path(root))
    above = [folder, *folder.parents]
    folders = above[: above.index(repository) + 1] if repository in above else above[:1]
    found = [each / IGNORE_FILE for each in folders]
    found.append(repository / ".git" / "info" / "exclude")
    return [path for path in found if files.is_there(path)]


def _is_text(path: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in path)
