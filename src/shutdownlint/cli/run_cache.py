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

from shutdownlint import files, limits, outputs
from shutdownlint.cache_folder import cache_folder
from shutdownlint.installation import installation_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Final

_FOLDER: Final = "runs"
_HEAD: Final = b"shutdownlint run 1\n"
_NUL: Final = b"\0"
#: What the terminal library reads, and what decides about encodings.
_VARIABLES: Final = (
    *("COLUMNS", "LINES", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"),
    *("TTY_INTERACTIVE", "JUPYTER_COLUMNS", "JUPYTER_LINES", "LANG", "LC_ALL", "LC_CTYPE"),
    *("PYTHONIOENCODING", "PYTHONUTF8", "CI"),
)
_DAY: Final = 24 * 60 * 60


class KeptRun:
    """Where the run of a command line is kept, or will be."""

    def __init__(self, words: Sequence[str], folder: str) -> None:
        self._folder = f"{folder}/{_FOLDER}"
        self._file = f"{self._folder}/{_name(words)}"

    @classmethod
    def of(cls, words: Sequence[str]) -> KeptRun | None:
        """The place for a command line; None where nothing is kept."""
        if "--no-cache" in words:
            return None
        folder = cache_folder(words)
        return cls(words, folder) if folder is not None else None

    def repeat(self) -> int | None:
        """Write what the run wrote; its exit code, or None where it has to be made again."""
        try:
            entry = _read(self._file)
            if entry is None:
                return None
            code, questions, written = entry
            if not all(files.is_unchanged(*question) for question in questions):
                return None
        except (OSError, ValueError):
            return None
        self._note_use()
        if any(where == outputs.FILE for where, _, _ in written):
            from shutdownlint.cli.output import check_outputs, write_output  # noqa: PLC0415

            check_outputs(file for where, file, _ in written if where == outputs.FILE)
        for where, file, text in written:
            if where == outputs.FILE:
                write_output(text, file)
            else:
                outputs.write(where, text)
        return code

    def _note_use(self) -> None:
        """What is used stays for longer."""
        try:
            os.utime(self._file)
        except OSError:
            return

    def start(self) -> None:
        """Note what the run asks and writes."""
        files.start_notes()
        outputs.start_notes()

    def keep(self, code: int) -> None:
        """Keep the run, if it depends on nothing else than what was noted."""
        questions, written = files.take_notes(), outputs.take_notes()
        files.end_notes()
        outputs.end_notes()
        if questions is None:
            return
        data = _encode(code, questions, written)
        if len(data) > limits.MAX_KEPT_RUN_BYTES:
            return
        new = f"{self._file}.{os.getpid()}-{os.urandom(8).hex()}"
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)  # noqa: PTH103 - no pathlib
            self._make_room(len(data))
            with open(new, "xb", opener=_open_privately) as file:
                file.write(data)
            os.replace(new, self._file)  # noqa: PTH105
        except OSError:
            return

    def _make_room(self, size: int) -> None:
        """Remove the runs that were used least lately, if there are too many."""
        with os.scandir(self._folder) as entries:
            found = [(s.st_mtime_ns, s.st_size, e.path) for e in entries for s in (e.stat(),)]
        total, count = size + sum(size for _, size, _ in found), 1 + len(found)
        if total <= limits.MAX_KEPT_RUNS_BYTES and count <= limits.MAX_KEPT_RUNS:
            return
        for _, bytes_of_entry, path in sorted(found):
            if total <= limits.MAX_KEPT_RUNS_BYTES // 2 and count <= limits.MAX_KEPT_RUNS // 2:
                return
            os.unlink(path)  # noqa: PTH108
            total, count = total - bytes_of_entry, count - 1


def _open_privately(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def _name(words: Sequence[str]) -> str:
    """A short name of everything but the file system that decides what a run writes."""
    parts = [installation_state(), os.getcwd(), str(int(time.time()) // _DAY), *words]  # noqa: PTH109
    parts += [f"{name}={os.environ.get(name)}" for name in _VARIABLES]
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        parts += _describe_stream(stream)
    return files.digest("\0".join(parts).encode(errors="surrogateescape"))


def _describe_stream(stream: object) -> Iterator[str]:
    """What a report can know of the terminal behind a stream."""
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
    body = b"".join(parts)
    return _HEAD + files.digest(body).encode() + b"\n" + body


def _read(
    file: str,
) -> tuple[int, list[tuple[files.Question, str]], list[outputs.Output]] | None:
    """What a file keeps; None where there is none. Raises ``ValueError`` and ``OSError``."""
    try:
        with open(file, "rb") as opened:  # noqa: PTH123
            if hasattr(os, "geteuid") and os.fstat(opened.fileno()).st_uid != os.geteuid():
                raise ValueError("it is somebody else's")
            data = opened.read(limits.MAX_KEPT_RUN_BYTES + 1)
    except FileNotFoundError:
        return None
    named, _, body = data.removeprefix(_HEAD).partition(b"\n")
    if not data.startswith(_HEAD) or files.digest(body).encode() != named:
        raise ValueError("damaged")
    code, length, rest = body.split(_NUL, 2)
    block, rest = rest[: int(length)], rest[int(length) :]
    parts = block.decode(errors="surrogateescape").split("\0")
    questions = [
        ((kind, path, more), answer)
        for kind, path, more, answer in zip(*(iter(parts),) * 4, strict=True)
    ]
    written = []
    while rest:
        where, name, size, rest = rest.split(_NUL, 3)
        text = rest[: int(size)].decode(errors="surrogatepass")
        written.append((where.decode(), name.decode(errors="surrogateescape"), text))
        rest = rest[int(size) :]
    return int(code), questions, written
