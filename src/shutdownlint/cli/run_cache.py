"""The cache of whole checks: a check of an unchanged repository prints its report again.

A check is stored with all that it read from the file system (``files``) and all that it wrote. The
entry is valid while all reads have the same results, for the same command line, folder, terminal,
day and installation. It holds data only; an entry that is damaged is not used.

Import nothing else at the top: whether a run is unchanged has to be known in a few milliseconds.
"""

from __future__ import annotations

import os
import sys
import time

from shutdownlint import files, outputs
from shutdownlint.cache_folder import CacheEntries, cache_folder
from shutdownlint.installation import installation_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Final

_NUL: Final = b"\0"
#: The variables that the terminal library reads, and those that decide about encodings.
_VARIABLES: Final = (
    *("COLUMNS", "LINES", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"),
    *("TTY_INTERACTIVE", "JUPYTER_COLUMNS", "JUPYTER_LINES", "LANG", "LC_ALL", "LC_CTYPE"),
    *("PYTHONIOENCODING", "PYTHONUTF8", "CI"),
)
_DAY: Final = 24 * 60 * 60


class CachedRun:
    """The cache entry of a command line."""

    def __init__(self, words: Sequence[str], folder: str) -> None:
        self._entries = CacheEntries(f"{folder}/runs")
        parts = _describe(words)
        self._name = files.digest("\0".join([*parts, _today()]).encode(errors="surrogateescape"))

    @classmethod
    def of(cls, words: Sequence[str]) -> CachedRun | None:
        """Return the cache entry of a command line, or None if caching is off."""
        if "--no-cache" in words:
            return None
        folder = cache_folder(words)
        return cls(words, folder) if folder is not None else None

    def replay(self) -> int | None:
        """Write the outputs of the run again; its exit code, or None if it has to be run."""
        data = self._entries.read(self._name)
        if data is None:
            return None
        try:
            code, reads, written = _decode(data)
            if any(read[0] == files.KEPT_BY_GIT for read, _ in reads):
                from shutdownlint.manifests import ignored_files  # noqa: F401, PLC0415 - adds it
            if not all(files.is_unchanged(*read) for read in reads):
                return None
        except (ValueError, LookupError):  # another version wrote it
            return None
        if any(where == outputs.FILE for where, _, _ in written):
            from shutdownlint.cli.output import can_write, write_output  # noqa: PLC0415 - seldom

            if not all(can_write(file) for where, file, _ in written if where == outputs.FILE):
                return None  # the run itself says why
        for where, file, text in written:
            if where == outputs.FILE:
                write_output(text, file)
            else:
                outputs.write(where, text)
        return code

    def store(self, code: int, reads: files.Recording, written: Sequence[outputs.Output]) -> None:
        """Store the run, if it depends on nothing but its recorded reads."""
        if not reads.obstacle:
            self._entries.write(self._name, _encode(code, reads.reads, written))


def _today() -> str:
    """Return the day in UTC: comments that ignore findings may end with it."""
    return str(int(time.time()) // _DAY)


def _describe(words: Sequence[str]) -> list[str]:
    """Everything but the day and the file system that decides what a run writes."""
    parts = [installation_state(), os.getcwd(), *words]  # noqa: PTH109
    parts += [f"{name}={os.environ.get(name)}" for name in _VARIABLES]
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        parts += _describe_stream(stream)
    return parts


def _describe_stream(stream: object) -> Iterator[str]:
    """Yield everything that a report can know of the terminal behind a stream."""
    yield str(getattr(stream, "encoding", None))
    try:
        number = stream.fileno()  # type: ignore[attr-defined]
        yield str(os.isatty(number))
        yield str(os.get_terminal_size(number))
    except (OSError, ValueError, AttributeError):
        yield "no terminal"


def _encode(code: int, reads: Mapping[files.Read, str], written: Sequence[outputs.Output]) -> bytes:
    joined = "\0".join(part for read, result in reads.items() for part in (*read, result))
    block = joined.encode(errors="surrogateescape")
    parts = [f"{code}\0{len(block)}\0".encode(), block]
    for where, file, text in written:
        data = text.encode(errors="surrogatepass")
        parts.append(f"{where}\0{file}\0{len(data)}\0".encode(errors="surrogateescape"))
        parts.append(data)
    return b"".join(parts)


def _decode(data: bytes) -> tuple[int, list[tuple[files.Read, str]], list[outputs.Output]]:
    code, length, rest = data.split(_NUL, 2)
    block, rest = rest[: int(length)], rest[int(length) :]
    parts = iter(block.decode(errors="surrogateescape").split("\0"))
    reads = [
        ((kind, path, more), result)
        for kind, path, more, result in zip(parts, parts, parts, parts, strict=True)
    ]
    written = []
    while rest:
        where, name, size, rest = rest.split(_NUL, 3)
        text = rest[: int(size)].decode(errors="surrogatepass")
        written.append((where.decode(), name.decode(errors="surrogateescape"), text))
        rest = rest[int(size) :]
    return int(code), reads, written
