"""Checks that are kept: what a repository had to say stays the same until something changes.

A check is kept with every question that it asked the file system (``files``) and everything that it
wrote. It is valid while all questions have the same answers, for the same command line, folder,
terminal, day and installation. It holds data only; what cannot be read, or is damaged, is not used.

Only what is imported here at once may be imported.
"""

from __future__ import annotations

import os
import sys
import time

from shutdownlint import files, outputs
from shutdownlint.cache_folder import KeptEntries, cache_folder
from shutdownlint.installation import installation_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final

_NUL: Final = b"\0"
#: The variables that the terminal library reads, and those that decide the encodings.
_VARIABLES: Final = (
    *("COLUMNS", "LINES", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"),
    *("TTY_INTERACTIVE", "JUPYTER_COLUMNS", "JUPYTER_LINES", "LANG", "LC_ALL", "LC_CTYPE"),
    *("PYTHONIOENCODING", "PYTHONUTF8", "CI"),
)
_DAY: Final = 24 * 60 * 60


class KeptRun:
    """The place where the run of a command line is kept, or will be."""

    def __init__(self, words: Sequence[str], folder: str) -> None:
        self._entries = KeptEntries(f"{folder}/runs")
        parts = _describe(words)
        self._name = files.digest("\0".join([*parts, _today()]).encode(errors="surrogateescape"))

    @classmethod
    def of(cls, words: Sequence[str]) -> KeptRun | None:
        """Return the place for a command line; None where nothing is kept."""
        if "--no-cache" in words:
            return None
        folder = cache_folder(words)
        return cls(words, folder) if folder is not None else None

    def repeat(self) -> int | None:
        """Write what the run wrote; its exit code, or None where it has to be made again."""
        data = self._entries.read(self._name)
        if data is None:
            return None
        try:
            code, questions, written = _decode(data)
            if any(question[0] == files.KEPT_BY_GIT for question, _ in questions):
                from shutdownlint.manifests import ignored_files  # noqa: F401, PLC0415 - asks it
            if not all(files.is_unchanged(*question) for question in questions):
                return None
        except (ValueError, LookupError):  # it is not one that this version wrote
            return None
        if any(where == outputs.FILE for where, _, _ in written):
            from shutdownlint.cli.output import can_write, write_output  # noqa: PLC0415

            if not all(can_write(file) for where, file, _ in written if where == outputs.FILE):
                return None  # made again, it says why
        for where, file, text in written:
            if where == outputs.FILE:
                write_output(text, file)
            else:
                outputs.write(where, text)
        return code

    def start(self) -> None:
        """Note what the run asks and writes."""
        files.start_notes()
        outputs.start_notes()

    def keep(self, code: int) -> None:
        """Keep the run, if it depends on nothing else than what was noted."""
        questions, written = files.take_notes(), outputs.take_notes()
        files.end_notes()
        outputs.end_notes()
        if questions is not None:
            self._entries.write(self._name, _encode(code, questions, written))


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


def _encode(
    code: int, questions: dict[files.Question, str], written: Sequence[outputs.Output]
) -> bytes:
    asked = "\0".join(part for key, answer in questions.items() for part in (*key, answer))
    block = asked.encode(errors="surrogateescape")
    parts = [f"{code}\0{len(block)}\0".encode(), block]
    for where, file, text in written:
        data = text.encode(errors="surrogatepass")
        parts.append(f"{where}\0{file}\0{len(data)}\0".encode(errors="surrogateescape"))
        parts.append(data)
    return b"".join(parts)


def _decode(data: bytes) -> tuple[int, list[tuple[files.Question, str]], list[outputs.Output]]:
    code, length, rest = data.split(_NUL, 2)
    block, rest = rest[: int(length)], rest[int(length) :]
    parts = iter(block.decode(errors="surrogateescape").split("\0"))
    questions = [
        ((kind, path, more), answer)
        for kind, path, more, answer in zip(parts, parts, parts, parts, strict=True)
    ]
    written = []
    while rest:
        where, name, size, rest = rest.split(_NUL, 3)
        text = rest[: int(size)].decode(errors="surrogatepass")
        written.append((where.decode(), name.decode(errors="surrogateescape"), text))
        rest = rest[int(size) :]
    return int(code), questions, written
