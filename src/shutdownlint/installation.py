"""This installation of shutdownlint: where its rules are, and a name that changes with it.

Only what is imported here at once may be imported.
"""

from __future__ import annotations

import os
import sys

from shutdownlint import __version__
from shutdownlint.files import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

_PACKAGE: Final = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - no pathlib
_state = ""


def bundled_rules() -> str:
    """Return the folder of the bundled rules; in a checkout it is beside ``src``."""
    shipped = f"{_PACKAGE}/rules"
    if os.path.isdir(shipped):  # noqa: PTH112
        return shipped
    return f"{os.path.dirname(os.path.dirname(_PACKAGE))}/rules"  # noqa: PTH120


def installation_state() -> str:
    """Return a short name of this installation, with Python and the libraries.

    An installed package counts by the installer's list of its files, which every installation
    writes; a checkout by size and time of each file. The folders of libraries count by the time of
    the last change.
    """
    global _state  # noqa: PLW0603 - it does not change in a run
    if not _state:
        lines = [__version__, sys.version, *_own_files()]
        for folder in sorted({path for path in sys.path if path.endswith("-packages")}):
            try:
                lines.append(f"{folder} {os.stat(folder).st_mtime_ns}")  # noqa: PTH116
            except OSError:
                continue
        _state = digest("\n".join(lines).encode(errors="surrogateescape"))
    return _state


def _own_files() -> Iterator[str]:
    rules = bundled_rules()
    if not rules.startswith(_PACKAGE):
        yield from _describe(_PACKAGE)
        yield from _describe(rules)
        return
    listed = f"{os.path.dirname(_PACKAGE)}/shutdownlint-{__version__}.dist-info/RECORD"  # noqa: PTH120
    try:
        status = os.stat(listed)  # noqa: PTH116
    except OSError:
        yield from _describe(_PACKAGE)
    else:
        yield f"{listed} {status.st_ino} {status.st_size} {status.st_mtime_ns}"


def _describe(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    yield from _describe(entry.path)
            else:
                status = entry.stat(follow_symlinks=False)
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"
