"""All that a check reads of the file system goes through here, so that it can be noted.

A run is kept with what it has read (``cli/run_cache.py``), and is valid as long as everything that
it asked gives the same answers: the bytes of files, the names in folders, where links lead, and
what does not exist. Only what is imported here at once may be imported: a run that is unchanged
has to be known for one in a few milliseconds.
"""

from __future__ import annotations

import errno
import os
import stat
from itertools import islice

from shutdownlint import limits

try:  # the module of hashlib that is needed; hashlib itself loads OpenSSL
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Final, TypeVar

    _Made = TypeVar("_Made")

#: A question: what is asked, the path, and what else the answer depends on.
Question = tuple[str, str, str]

#: The questions of this run, in their order, with a digest of the answers; None: nothing is noted.
_notes: dict[Question, str] | None = None
#: Why this run cannot be kept; empty where it can.
_obstacle = ""
_DIGEST_BYTES: Final = 16
_MANIFEST: Final = "manifest"
_FOLDER: Final = "folder"
_SEARCHED: Final = "searched folder"
KEPT_BY_GIT: Final = "kept by git"
_SEPARATOR: Final = "/"


def start_notes() -> None:
    """Begin to note what is asked."""
    global _notes, _obstacle
    _notes, _obstacle = {}, ""


def take_notes() -> dict[Question, str] | None:
    """Return the questions asked; None if nothing was noted, or if the run cannot be kept."""
    return None if _obstacle else _notes


def count_notes() -> int:
    """Return the number of questions, for ``notes_since``."""
    return len(_notes or ())


def notes_since(count: int) -> dict[Question, str] | None:
    """Return the questions after the first ``count``; None if the run cannot be kept."""
    if _notes is None or _obstacle:
        return None
    return dict(islice(reversed(_notes.items()), len(_notes) - count))


def end_notes() -> None:
    """Note nothing more."""
    global _notes  # noqa: PLW0603
    _notes = None


def add_notes(notes: dict[Question, str] | None) -> None:
    """Add what another process of this run has asked."""
    if _notes is None:
        return
    if notes is None:
        forbid("another process could not note what it read")
    else:
        for question, answer in notes.items():
            _note(question, answer)


def without_notes(make: Callable[[], _Made]) -> _Made:
    """Make something of what belongs to the installation, and is not noted."""
    global _notes  # noqa: PLW0603
    kept, _notes = _notes, None
    try:
        return make()
    finally:
        _notes = kept


def forbid(reason: str) -> None:
    """Do not keep this run: it depends on something that is not read through this module."""
    global _obstacle  # noqa: PLW0603
    _obstacle = _obstacle or reason


def digest(data: bytes) -> str:
    """Return a short name of some bytes. Others with the same name cannot be made."""
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def is_unchanged(question: Question, answer: str) -> bool:
    """Whether a question still has its answer."""
    kind, path, more = question
    ask, shorten = _KINDS[kind]
    try:
        found = shorten(ask(path, more))
    except OSError as error:
        found = _error(error)
    return found == answer


def _ask(kind: str, path: str | os.PathLike[str], more: str = "") -> Any:
    ask, shorten = _KINDS[kind]
    name = os.fspath(path)
    try:
        value = ask(name, more)
    except OSError as error:
        if _notes is not None:
            _note((kind, name, more), _error(error))
        raise
    if _notes is not None:
        _note((kind, name, more), shorten(value))
    return value


def _note(question: Question, answer: str) -> None:
    if _notes is None:
        return
    if any("\0" in part for part in question):  # what separates them where they are kept
        forbid("a question has a NUL")
    elif _notes.setdefault(question, answer) != answer:
        forbid(f"{question[1]} was changed while it was read")


def _error(error: OSError) -> str:
    return f"error {error.errno}"


def read_file(path: str | os.PathLike[str], most: int = -1) -> bytes:
    """Return the bytes of a file, ``most`` of them at most.

    Raises ``OSError``; of a file that is larger than ``limits.MAX_FILE_BYTES`` with ``EFBIG``.
    """
    data: bytes = _ask("bytes", path, "" if most < 0 else str(most))
    return data


def read_manifest(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file that is read for its contents, in pieces. Raises ``OSError``.

    A question of its own: what a run keeps of a file depends on some of its pieces only.
    """
    data: bytes = _ask(_MANIFEST, path)
    return data


def _bytes(path: str, most: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - strings, and no pathlib
        if most:
            return file.read(int(most))
        if os.fstat(file.fileno()).st_size > limits.MAX_FILE_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        return file.read()


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file in UTF-8. Raises ``OSError`` and ``UnicodeDecodeError``."""
    text = read_file(path).decode("utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def size_of(path: str | os.PathLike[str]) -> int:
    """Return the size of a file in bytes. Raises ``OSError``."""
    size: int = _ask("size", path)
    return size


def _size(path: str, _: str) -> int:
    return os.stat(path).st_size  # noqa: PTH116


def type_of(path: str | os.PathLike[str]) -> int:
    """Return the type of a file, as in ``stat.S_IFMT``, links followed. Raises ``OSError``."""
    found: int = _ask("type", path)
    return found


def _type(path: str, _: str) -> int:
    return stat.S_IFMT(os.stat(path).st_mode)  # noqa: PTH116


def own_type_of(path: str | os.PathLike[str]) -> int:
    """Return the type of a file itself, which may be a link. Raises ``OSError``."""
    found: int = _ask("own type", path)
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
    found: str = _ask("real path", path)
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
    found: list[tuple[str, bool, bool]] = _ask(_FOLDER, path, _SEPARATOR.join(endings))
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
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Each folder with the folders and the files in it, from the root down, as ``os.walk`` does.

    Links to folders are not followed. The caller may remove folders from the list.
    """
    for top, folders, names, _ in _walk(_FOLDER, root, endings, on_error):
        yield top, folders, names


def search(
    root: str | os.PathLike[str],
    endings: tuple[str, ...],
    on_error: Callable[[OSError], None] | None = None,
) -> Iterator[tuple[str, list[str], list[str], set[str]]]:
    """Walk as ``walk`` does, and also give the names that are not plain (``list_folder``)."""
    return _walk(_SEARCHED, root, endings, on_error)


def _walk(
    kind: str,
    root: str | os.PathLike[str],
    endings: tuple[str, ...],
    on_error: Callable[[OSError], None] | None,
) -> Iterator[tuple[str, list[str], list[str], set[str]]]:
    pending = [os.fspath(root)]
    while pending:
        top = pending.pop()
        try:
            entries = _ask(kind, top, _SEPARATOR.join(endings))
        except OSError as error:
            if on_error is not None:
                on_error(error)
            continue
        others = {name for name, _, plain in entries if not plain}
        folders = [name for name, below, _ in entries if below]
        yield top, folders, [name for name, below, _ in entries if not below], others
        pending += [os.path.join(top, name) for name in reversed(folders) if name not in others]  # noqa: PTH118


def find_folders_with(
    root: str | os.PathLike[str], name: str, skipped: tuple[str, ...]
) -> list[str]:
    """Return the folders at and below the root with an entry of this name; skip some folders."""
    found: list[str] = _ask("folders with", root, _SEPARATOR.join((name, *skipped)))
    return found


def _folders_with(root: str, names: str) -> list[str]:
    name, *skipped = names.split(_SEPARATOR)
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(below for below in folders if below not in skipped)
        if name in files or name in folders:
            found.append(folder)
    return found


#: The kinds of questions: how each is asked, and how its answer is kept.
_KINDS: Final[dict[str, tuple[Callable[[str, str], Any], Callable[[Any], str]]]] = {
    "bytes": (_bytes, digest),
    _MANIFEST: (_bytes, digest),
    "size": (_size, str),
    "type": (_type, str),
    "own type": (_own_type, str),
    "real path": (_real_path, str),
    _FOLDER: (_folder, _short_folder),
    _SEARCHED: (_folder, _short_folder),
    "folders with": (_folders_with, short_names),
}


def add_kind(kind: str, ask: Callable[[str, str], Any], shorten: Callable[[Any], str]) -> None:
    """Add a kind of questions that another module asks."""
    _KINDS[kind] = ask, shorten


def ask(kind: str, path: str, more: str = "") -> Any:
    """Ask a question of an added kind."""
    return _ask(kind, path, more)
