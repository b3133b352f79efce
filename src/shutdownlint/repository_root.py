"""The repository that a folder is in."""

from __future__ import annotations

import os
from pathlib import Path


def find_repository_root(folder: Path) -> Path | None:
    """The folder with ``.git`` in or above a folder, links resolved; None where there is none."""
    folder = Path(os.path.realpath(folder))
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists():
            return parent
    return None
