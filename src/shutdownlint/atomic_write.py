"""Files are replaced completely or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def replace_file(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file by ``data``; a link stays a link to the new file.

    Written beside the target and moved over it, so a reader never sees half of it. The file keeps
    its mode; ``mode`` is that of a new one. Raises ``OSError``.
    """
    if path.exists() and not path.is_file():  # a pipe or a device: nothing to replace
        path.write_bytes(data)
        return
    target = path.resolve()
    old_mode = target.stat().st_mode & 0o7777 if target.exists() else mode
    with tempfile.NamedTemporaryFile(
        "wb", dir=target.parent, prefix=f".{target.name}.", delete=False
    ) as file:
        new = Path(file.name)
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except BaseException:
            new.unlink(missing_ok=True)
            raise
    try:
        if target.exists() and hasattr(os, "chown"):
            with contextlib.suppress(PermissionError):  # only root gives files away
                os.chown(new, target.stat().st_uid, target.stat().st_gid)
        new.chmod(old_mode if old_mode is not None else 0o644)
        new.replace(target)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


class ChangedError(OSError):
    """A file that is no longer what was read."""


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
