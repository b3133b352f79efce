"""The repository that a folder is in, and its own files beside the manifests."""

from __future__ import annotations

import stat
from pathlib import Path

from shutdownlint import files


def find_repository_root(folder: Path) -> Path | None:
    """The folder with ``.git`` in or above a folder, links resolved; None where there is none."""
    folder = Path(files.real_path(folder))
    for parent in (folder, *folder.parents):
        if files.exists(parent / ".git"):
            return parent
    return None


def read_regular_file(path: Path, most: int) -> bytes | None:
    """The bytes of a regular file that is no link and not larger; None for all others.

    A repository can have links to files of others, and to what never ends.
    """
    try:
        if files.own_type_of(path) != stat.S_IFREG:
            return None
        data = files.read_file(path, most + 1)
    except OSError:
        return None
    return data if len(data) <= most else None
