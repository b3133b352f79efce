"""The user's own folder for what is kept between runs."""

from __future__ import annotations

import os
import sys

from shutdownlint import files
from shutdownlint.repository_root import find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

#: Names another folder for the cache; empty: nothing is kept.
CACHE_VARIABLE: Final = "SHUTDOWNLINT_CACHE_DIR"


def cache_folder(paths: Iterable[str] = ()) -> str | None:
    """The folder; None where nothing is kept.

    One in a repository, in the current folder or in one of the paths is not used: a pull request
    could bring what is kept there.
    """
    folder = _named_folder()
    if not folder:
        return None
    real = files.real_path(folder)
    checked = (".", *(path for path in paths if not path.startswith("-")))
    if find_root(real) or any(_is_below(real, files.real_path(path)) for path in checked):
        return None
    return real


def _is_below(folder: str, other: str) -> bool:
    return folder == other or folder.startswith(os.path.join(other, ""))  # noqa: PTH118


def _named_folder() -> str | None:
    named = os.environ.get(CACHE_VARIABLE)
    if named is not None:
        return named
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return f"{local}\\shutdownlint\\cache" if local else None
    home = os.path.expanduser("~")  # noqa: PTH111 - no pathlib
    if home == "~":  # there is no home folder
        return None
    if sys.platform == "darwin":
        return f"{home}/Library/Caches/shutdownlint"
    return f"{os.environ.get('XDG_CACHE_HOME') or f'{home}/.cache'}/shutdownlint"
