"""The repository that a folder is in, and its own files beside the manifests."""

from __future__ import annotations

import os
import stat

from shutdownlint import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def find_root(folder: str) -> str | None:
    """Return the folder with ``.git`` in or above a folder, links resolved; None if missing."""
    above = files.real_path(folder)
    while not files.exists(os.path.join(above, ".git")):  # noqa: PTH118 - no pathlib
        if above == os.path.dirname(above):  # noqa: PTH120
            return None
        above = os.path.dirname(above)  # noqa: PTH120
    return above


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder, or in it; both are written in the same way."""
    return path == folder or path.startswith(os.path.join(folder, ""))  # noqa: PTH118


def find_repository_root(folder: Path) -> Path | None:
    """Return the folder with ``.git`` in or above a folder, links resolved; None if missing."""
    root = find_root(os.fspath(folder))
    return type(folder)(root) if root is not None else None


def read_regular_file(path: Path, most: int) -> bytes | None:
    """Return the bytes of a regular file that is not a link and not larger; None for all others.

    A repository can have links to files of others, and to what never ends.
    """
    try:
        if files.own_type_of(path) != stat.S_IFREG:
            return None
        data = files.read_file(path, most + 1)
    except OSError:
        return None
    return data if len(data) <= most else None
