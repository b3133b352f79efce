"""The user's own folder for what is kept between runs, and the entries in it.

Only what is imported here at once may be imported.
"""

from __future__ import annotations

import os
import sys

from shutdownlint import files, limits
from shutdownlint.repository_root import find_root, is_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final

#: Names another folder for the cache; empty: nothing is kept.
CACHE_VARIABLE: Final = "SHUTDOWNLINT_CACHE_DIR"


def cache_folder(paths: Iterable[str] = ()) -> str | None:
    """Return the folder; None where nothing is kept.

    One in a repository, in the current folder or in one of the paths is not used: a pull request
    could bring what is kept there.
    """
    folder = _named_folder()
    if not folder:
        return None
    real = files.real_path(folder)
    checked = (".", *(path for path in paths if not path.startswith("-")))
    if find_root(real) or any(is_below(real, files.real_path(path)) for path in checked):
        return None
    return real


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


class CacheEntries:
    """A folder of entries, each with a digest of its data; the least lately used are removed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes | None:
        """Return the data of an entry; None if it is missing, damaged or owned by someone else."""
        path = f"{self._folder}/{name}"
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - no pathlib
                if hasattr(os, "geteuid") and os.fstat(file.fileno()).st_uid != os.geteuid():
                    return None
                entry = file.read(limits.MAX_CACHE_ENTRY_BYTES + 1)
        except OSError:
            return None
        head, _, data = entry.partition(b"\n")
        if head != _HEAD + files.digest(data).encode():
            return None
        try:
            os.utime(path)  # what is used stays for longer
        except OSError:
            return data
        return data

    def write(self, name: str, data: bytes) -> None:
        """Keep an entry, if that is possible and it is not too large."""
        if len(data) > limits.MAX_CACHE_ENTRY_BYTES:
            return
        path = f"{self._folder}/{name}"
        new = f"{path}.{os.getpid()}-{os.urandom(8).hex()}"
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)  # noqa: PTH103
            self._make_room(len(data))
            with open(new, "xb", opener=_open_privately) as file:
                file.write(_HEAD + files.digest(data).encode() + b"\n")
                file.write(data)
            os.replace(new, path)  # noqa: PTH105
        except OSError:
            _remove(new)

    def _make_room(self, size: int) -> None:
        # Counting small entries is much quicker than measuring all. So many of them take at most
        # half of the limit, and a large one is added only while all take less than the other half.
        half = limits.MAX_CACHE_BYTES // 2
        small = size <= half // limits.MAX_CACHE_ENTRIES
        if small and len(os.listdir(self._folder)) < limits.MAX_CACHE_ENTRIES:  # noqa: PTH208
            return
        with os.scandir(self._folder) as entries:
            known = [e for e in entries if e.is_file(follow_symlinks=False)]
            found = [(s.st_mtime_ns, s.st_size, e.path) for e in known for s in (e.stat(),)]
        total, count = size + sum(size for _, size, _ in found), 1 + len(found)
        if total <= half and count <= limits.MAX_CACHE_ENTRIES:
            return
        for _, bytes_of_entry, path in sorted(found):
            if total <= half // 2 and count <= limits.MAX_CACHE_ENTRIES // 2:
                return
            _remove(path)
            total, count = total - bytes_of_entry, count - 1


_HEAD: Final = b"shutdownlint 1 "


def _remove(path: str) -> None:
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:  # it is gone, or was never made
        return


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
