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
#: The rules and the records of programs that come with shutdownlint, compiled when the package is
#: built.
COMPILED_RULES: Final = f"{_PACKAGE}/compiled_rules.bin"
COMPILED_PROGRAMS: Final = f"{_PACKAGE}/compiled_programs.bin"
#: The end of what a checkout's state leaves out: it is made of the other files.
_MADE: Final = ".bin"


def bundled_rules() -> str:
    """Return the folder of the bundled rules; in a checkout it is beside ``src``."""
    return _bundled("rules", "rules")


def bundled_programs() -> str:
    """Return the folder of the bundled records of programs; in a checkout it is beside ``src``."""
    return _bundled("program_records", "programs")


def _bundled(shipped: str, in_checkout: str) -> str:
    folder = f"{_PACKAGE}/{shipped}"
    if os.path.isdir(folder):  # noqa: PTH112
        return folder
    return f"{os.path.dirname(os.path.dirname(_PACKAGE))}/{in_checkout}"  # noqa: PTH120


def installation_state() -> str:
    """Return a short name of this installation, with Python and the libraries.

    An installed package counts by the installer's list of its files, which every installation
    writes; a checkout by size and time of each file. The folders of libraries count by the time of
    the last change.
    """
    lines = [__version__, sys.version, *_own_files()]
    for folder in sorted({path for path in sys.path if path.endswith("-packages")}):
        try:
            lines.append(f"{folder} {os.stat(folder).st_mtime_ns}")  # noqa: PTH116
        except OSError:
            continue
    return digest("\n".join(lines).encode(errors="surrogateescape"))


def read_compiled(path: str) -> bytes:
    """Return the compiled data of the package. Raises ``OSError``."""
    with open(path, "rb") as file:  # noqa: PTH123 - no pathlib
        return file.read()


def checkout_state() -> str:
    """Return a short name of a checkout's files; empty for an installed package."""
    rules = bundled_rules()
    if rules.startswith(_PACKAGE):
        return ""
    lines = [*_describe(_PACKAGE), *_describe(rules), *_describe(bundled_programs())]
    return digest("\n".join(lines).encode(errors="surrogateescape"))


def _own_files() -> Iterator[str]:
    checkout = checkout_state()
    if checkout:
        yield checkout
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
            elif not entry.name.endswith(_MADE):
                status = entry.stat(follow_symlinks=False)
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"
