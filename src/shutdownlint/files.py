"""Reads of the file system, recorded where a run is to be cached.

A cached run (``cli/run_cache.py``) is valid as long as everything that it read has the same result:
the bytes of files, the names in folders, where links lead, and what does not exist. So all modules
read through this one. Import nothing else at the top: whether a run is unchanged has to be known in
a few milliseconds.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b

from shutdownlint import limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Final

#: A read: its kind, the path, and what else the result depends on.
Read = tuple[str, str, str]

_DIGEST_BYTES: Final = 16
_FOLDER: Final = "folder"
KEPT_BY_GIT: Final = "kept by git"
_SEPARATOR: Final = "/"
#: The names of open files that a shell hands over.
_HANDED_OVER: Final = ("/dev/fd/", "/proc/self/fd/")


class Recording:
    """The reads of a run in their order, with digests of their results.

    ``obstacle`` is the reason why the run cannot be cached; empty if it can.
    """

    def __init__(self) -> None:
        self.reads: dict[Read, str] = {}
        self.obstacle = ""

    def add(self, read: Read, result: str) -> None:
        """Add a read; one that gives another result than before cannot be cached."""
        if any("\0" in part for part in read):  # it separates them where they are stored
            self.disable("a path has a NUL")
        elif self.reads.setdefault(read, result) != result:
            self.disable(f"{read[1]} was changed while it was read")

    def disable(self, reason: str) -> None:
        """Note why the run cannot be cached; the first reason stays."""
        self.obstacle = self.obstacle or reason

    def merge(self, other: Recording) -> None:
        """Add the reads of another process of this run."""
        for read, result in other.reads.items():
            self.add(read, result)
        self.disable(other.obstacle)


_recording: Final[ContextVar[Recording | None]] = ContextVar("recording", default=None)


@contextmanager
def recording() -> Iterator[Recording]:
    """Record the reads inside of the block, and give them."""
    made = Recording()
    token = _recording.set(made)
    try:
        yield made
    finally:
        _recording.reset(token)


@contextmanager
def without_recording() -> Iterator[None]:
    """Record nothing inside of the block: reads of the installation itself."""
    token = _recording.set(None)
    try:
        yield
    finally:
        _recording.reset(token)


def merge_reads(other: Recording) -> None:
    """Add the reads of another process to those that are recorded, if any are."""
    current = _recording.get()
    if current is not None:
        current.merge(other)


def disable_caching(reason: str) -> None:
    """Do not cache this run: it depends on something that is not read through this module."""
    current = _recording.get()
    if current is not None:
        current.disable(reason)


def digest(data: bytes) -> str:
    """Return a short name of some bytes. Others with the same name cannot be made."""
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def is_unchanged(read: Read, result: str) -> bool:
    """Whether a read still has its result."""
    kind, path, more = read
    run, shorten = _KINDS[kind]
    try:
        found = shorten(run(path, more))
    except OSError as error:
        found = _error(error)
    return found == result


def _read(kind: str, path: str | os.PathLike[str], more: str = "") -> Any:
    run, shorten = _KINDS[kind]
    name = os.fspath(path)
    current = _recording.get()
    try:
        value = run(name, more)
    except OSError as error:
        if current is not None:
            current.add((kind, name, more), _error(error))
        raise
    if current is not None:
        current.add((kind, name, more), shorten(value))
    return value


def _error(error: OSError) -> str:
    return f"error {error.errno}"


def read_file(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """Return the bytes of a file, ``most`` of them at most.

    Raises ``OSError``: with ``EFBIG`` for more than ``limits.MAX_FILE_BYTES``, with ``EINVAL`` for
    what is no regular file. A pipe would never end, and a device has no size. Only what a shell
    hands over (``<(command)``) may be a pipe: no repository can name that.
    """
    data: bytes = _read("bytes", path, "" if most < 0 else str(most))
    return data


def _bytes(path: str, most: str) -> bytes:
    handed_over = path.startswith(_HANDED_OVER)
    opener = None if handed_over else _open_at_once
    with open(path, "rb", opener=opener) as file:
        if most:
            return file.read(int(most))
        status = os.fstat(file.fileno())
        if not (handed_over or stat.S_ISREG(status.st_mode)):
            raise OSError(errno.EINVAL, "not a regular file")
        data = file.read(limits.MAX_FILE_BYTES + 1) if handed_over else b""
        if max(status.st_size, len(data)) > limits.MAX_FILE_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return data if handed_over else file.read()


def _open_at_once(path: str, flags: int) -> int:
    """Open a file without waiting for who writes into a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file in UTF-8. Raises ``OSError`` and ``UnicodeDecodeError``."""
    text = read_file(path).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def size_of(path: str | os.PathLike[str]) -> int:
    """Return the size of a file in bytes. Raises ``OSError``."""
    size: int = _read("size", path)
    return size


def _size(path: str, _: str) -> int:
    return os.stat(path).st_size  # noqa: PTH116


def type_of(path: str | os.PathLike[str]) -> int:
    """Return the type of a file, as in ``stat.S_IFMT``, links followed. Raises ``OSError``."""
    found: int = _read("type", path)
    return found


def _type(path: str, _: str) -> int:
    return stat.S_IFMT(os.stat(path).st_mode)  # noqa: PTH116


def own_type_of(path: str | os.PathLike[str]) -> int:
    """Return the type of a file itself, which may be a link. Raises ``OSError``."""
    found: int = _read("own type", path)
    return found


def _own_type(path: str, _: str) -> int:
    return stat.S_IFMT(os.lstat(path).st_mode)


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether there is a regular file, or a link to one."""
    return _is_type(path, stat.S_IFREG)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether there is a folder, or a link to one."""
    return _is_type(path, stat.S_IFDIR)


def _is_type(path: str | os.PathLike[str], wanted: int) -> bool:
    try:
        return type_of(path) == wanted
    except (OSError, ValueError):
        return False


def exists(path: str | os.PathLike[str]) -> bool:
    """Whether there is something, links followed."""
    try:
        type_of(path)
    except (OSError, ValueError):
        return False
    return True


def is_there(path: str | os.PathLike[str]) -> bool:
    """Whether there is something, be it a link that leads nowhere."""
    try:
        own_type_of(path)
    except (OSError, ValueError):
        return False
    return True


def is_link(path: str | os.PathLike[str]) -> bool:
    """Whether there is a symbolic link."""
    try:
        return own_type_of(path) == stat.S_IFLNK
    except (OSError, ValueError):
        return False


def real_path(path: str | os.PathLike[str]) -> str:
    """Return the absolute path with all links followed."""
    found: str = _read("real path", path)
    return found


def _real_path(path: str, _: str) -> str:
    return os.path.realpath(path)


def list_folder(
    path: str | os.PathLike[str], endings: tuple[str, ...] = ("",)
) -> list[tuple[str, bool, bool]]:
    """List a folder's entries by name: whether each is a folder, and whether it is plain.

    A folder and a regular file are plain; links, devices and pipes are not. Of files only those
    with one of the endings (in small letters) are given. Links to folders are folders. Raises
    ``OSError``.
    """
    found: list[tuple[str, bool, bool]] = _read(_FOLDER, path, _SEPARATOR.join(endings))
    return found


def _folder(path: str, endings: str) -> list[tuple[str, bool, bool]]:
    wanted = tuple(endings.split(_SEPARATOR))
    found = []
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                is_below = entry.is_dir()
            except OSError:  # as os.walk has it: then it is no folder
                is_below = False
            if is_below or entry.name.lower().endswith(wanted):
                found.append((entry.name, is_below, _is_plain(entry)))
    found.sort()
    return found


def _is_plain(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _short_folder(found: list[tuple[str, bool, bool]]) -> str:
    return short_names([f"{name}/{below:d}{plain:d}" for name, below, plain in found])


def short_names(names: list[str]) -> str:
    """Return a digest of names."""
    return digest("\0".join(names).encode(errors="surrogateescape"))


def walk(
    root: str | os.PathLike[str],
    endings: tuple[str, ...] = ("",),
    on_error: Callable[[OSError], None] | None = None,
) -> Iterator[tuple[str, list[str], list[str], set[str]]]:
    """Yield each folder from the root down: its path, its folders, its files, and the links.

    The last are the names of those that are not plain (``list_folder``). Links to folders are not
    followed. The caller may remove folders from the list.
    """
    pending = [os.fspath(root)]
    while pending:
        top = pending.pop()
        try:
            entries = list_folder(top, endings)
        except OSError as error:
            if on_error is not None:
                on_error(error)
            continue
        others = {name for name, _, plain in entries if not plain}
        folders = [name for name, below, _ in entries if below]
        yield top, folders, [name for name, below, _ in entries if not below], others
        pending += [os.path.join(top, name) for name in reversed(folders) if name not in others]  # noqa: PTH118


def files_below(root: str | os.PathLike[str], ending: str) -> Iterator[str]:
    """Yield the files with an ending in and below a folder; links to folders are not followed."""
    for top, _, names, _ in walk(root, (ending,)):
        yield from (os.path.join(top, name) for name in names if name.endswith(ending))  # noqa: PTH118


def find_folders_with(
    root: str | os.PathLike[str], name: str, skipped: tuple[str, ...]
) -> list[str]:
    """Return the folders at and below the root with an entry of this name; skip some folders."""
    found: list[str] = _read("folders with", root, _SEPARATOR.join((name, *skipped)))
    return found


def _folders_with(root: str, names: str) -> list[str]:
    name, *skipped = names.split(_SEPARATOR)
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(below for below in folders if below not in skipped)
        if name in files or name in folders:
            found.append(folder)
    return found


#: The kinds of reads: the function, and the one that makes a short text of its result.
_KINDS: Final[dict[str, tuple[Callable[[str, str], Any], Callable[[Any], str]]]] = {
    "bytes": (_bytes, digest),
    "size": (_size, str),
    "type": (_type, str),
    "own type": (_own_type, str),
    "real path": (_real_path, str),
    _FOLDER: (_folder, _short_folder),
    "folders with": (_folders_with, short_names),
}


def add_kind(kind: str, run: Callable[[str, str], Any], shorten: Callable[[Any], str]) -> None:
    """Add a kind of reads that another module defines."""
    _KINDS[kind] = run, shorten


def read(kind: str, path: str, more: str = "") -> Any:
    """Return the result of a read of an added kind. Raises ``OSError``."""
    return _read(kind, path, more)
