"""Files are replaced completely or not at all."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path
from typing import Final

from shutdownlint.patterns import lazy_pattern
from shutdownlint.repository_root import find_repository_root

_ENDING: Final = ".shutdownlint"
_LEFTOVER: Final = lazy_pattern(r"\..+\.([0-9]{1,9})-[0-9a-f]{16}\.shutdownlint")
#: A new file, whatever a repository has prepared under its name.
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_cleaned: set[Path] = set()


def replace_file(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file by ``data``; a link stays a link to the new file.

    Written beside the target and moved over it, so a reader never sees half of it. The file keeps
    its mode; ``mode`` is that of a new one. One with several names (hard links) is written in
    place, so that they stay names of one file. Raises ``OSError``.
    """
    check_target(path)
    if path.exists() and not path.is_file():  # a pipe or a device: nothing to replace
        path.write_bytes(data)
        return
    target = Path(os.path.realpath(path))
    old_mode = target.stat().st_mode & 0o7777 if target.exists() else mode
    if target.exists() and target.stat().st_nlink > 1:
        target.write_bytes(data)
        return
    remove_leftovers(target.parent)
    _stop_in_order()
    # A name that cannot be foreseen: a link under it would be written through.
    new = target.parent / f".{target.name}.{os.getpid()}-{os.urandom(8).hex()}{_ENDING}"
    try:
        with os.fdopen(os.open(new, _NEW | getattr(os, "O_BINARY", 0), 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists() and hasattr(os, "chown"):
            with contextlib.suppress(PermissionError):  # only root gives files away
                os.chown(new, target.stat().st_uid, target.stat().st_gid)
        new.chmod(old_mode if old_mode is not None else 0o644)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove files of runs that were killed while they wrote; looked for once in a folder."""
    if folder in _cleaned:
        return
    _cleaned.add(folder)
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _LEFTOVER.fullmatch(entry.name)
            if found is not None and not _is_running(int(found[1])):
                with contextlib.suppress(OSError):
                    Path(entry.path).unlink()


def _is_running(process: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _stop_in_order() -> None:
    """Let SIGTERM end the run as an exception does: what is half written is removed."""
    with contextlib.suppress(ValueError):  # not in the main thread
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _stop)


def _stop(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def check_target(path: Path) -> None:
    """Raise ``OSError`` where a file cannot be written, or a link leads out of the repository.

    A path that the user writes in the current folder may be a link of the repository's; one that
    begins elsewhere is taken as it is.
    """
    here = Path.cwd()
    written = Path(os.path.abspath(path))  # noqa: PTH100 - links stay
    real = Path(os.path.realpath(path))
    if written.is_relative_to(here):
        inside = find_repository_root(here) or Path(os.path.realpath(here))
        if not real.is_relative_to(inside):
            raise PermissionError(1, "it is a link out of the repository, which is not followed")
    with contextlib.suppress(FileNotFoundError):
        path.stat()  # a link that leads to itself raises
    if ".git" in real.parts and real.parts != written.parts:
        raise PermissionError(1, "it is a link into .git, which is not followed")
    if real.is_dir():
        raise IsADirectoryError(21, "it is a folder")
    if not real.parent.is_dir():
        raise FileNotFoundError(2, f"there is no folder {path.parent}")
    if not os.access(real if real.exists() else real.parent, os.W_OK):
        raise PermissionError(13, "Permission denied")


class ChangedError(OSError):
    """A file that has changed since it was read."""


def update_file(path: Path, old: bytes, new: bytes) -> None:
    """Replace a file that is still what was read, and that may be written.

    Raises ``OSError``, ``ChangedError`` among them; then the file is as it was.
    """
    # A read-only file stays as it is even for users who may write everything.
    if not os.access(path, os.W_OK) or not path.stat().st_mode & 0o222:
        raise PermissionError(13, "the file is read-only")
    now = path.read_bytes()
    if now == new:  # another name of a file that has been written
        return
    if now != old:
        raise ChangedError("the file was changed meanwhile")
    replace_file(path, new)
