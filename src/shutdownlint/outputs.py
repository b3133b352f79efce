"""Outputs of a run, recorded where the run is to be cached.

Import nothing else at the top: a run that is unchanged writes through this module as well.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Final

#: stdout, in the encoding of the terminal.
SCREEN: Final = "screen"
#: stdout, as UTF-8 in every locale.
DATA: Final = "data"
#: The same, of lines that a CI system is to read as commands.
COMMANDS: Final = "commands"
#: stderr.
ERRORS: Final = "errors"
#: A file that the command line names.
FILE: Final = "file"

#: A destination, the path where it is a file, and the text.
Output = tuple[str, str, str]
_recording: Final[ContextVar[list[Output] | None]] = ContextVar("outputs", default=None)


@contextmanager
def recording() -> Iterator[list[Output]]:
    """Record the outputs inside of the block, in their order."""
    made: list[Output] = []
    token = _recording.set(made)
    try:
        yield made
    finally:
        _recording.reset(token)


def record(where: str, text: str, file: str = "") -> None:
    """Record a text that the caller writes itself."""
    current = _recording.get()
    if current is not None:
        current.append((where, file, text))


def is_command(line: str) -> bool:
    """Whether GitHub would read a line as a command: it begins with ``::``, blanks aside.

    Source: actions/runner ActionCommand.cs, TryParseV2.
    """
    return line.lstrip().startswith("::")


def _escape(command: str) -> str:
    return command.replace(":", "\\u003a", 1)


def write(where: str, text: str) -> None:
    """Write to the terminal, as data to stdout, or to stderr.

    A line that GitHub would read as a command is written only where it is ours.
    """
    record(where, text)
    if where != COMMANDS and "::" in text:
        lines = text.split("\n")
        text = "\n".join(_escape(line) if is_command(line) else line for line in lines)
    if where == ERRORS:
        sys.stderr.write(text)
    elif where == SCREEN:
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode(errors="surrogateescape"))
        sys.stdout.buffer.flush()


def escape_what_cannot_be_written() -> None:
    """Make stdout and stderr write an escape for a character that their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
