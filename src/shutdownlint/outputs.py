"""Everything that a run writes for people to read goes through here, so that it can be noted.

Only what is imported here at once may be imported: a run that is unchanged writes through this
module as well.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

#: What is written to the terminal in its own encoding; as UTF-8, whatever the locale; to stderr.
SCREEN: Final = "screen"
DATA: Final = "data"
ERRORS: Final = "errors"
#: What is written to a file.
FILE: Final = "file"

#: Where something was written, the file, and the text.
Output = tuple[str, str, str]
_notes: list[Output] | None = None


def start_notes() -> None:
    """Note what is written from here on."""
    global _notes  # noqa: PLW0603 - one run in a process
    _notes = []


def take_notes() -> list[Output]:
    """What was written."""
    return _notes or []


def end_notes() -> None:
    """Note nothing more."""
    global _notes  # noqa: PLW0603
    _notes = None


def note(where: str, text: str, file: str = "") -> None:
    """Note what is written elsewhere."""
    if _notes is not None:
        _notes.append((where, file, text))


def write(where: str, text: str) -> None:
    """Write to the terminal, as data to stdout, or to stderr."""
    note(where, text)
    if where == ERRORS:
        sys.stderr.write(text)
    elif where == SCREEN:
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode(errors="surrogateescape"))
        sys.stdout.buffer.flush()


def escape_what_cannot_be_written() -> None:
    """A character that stdout's encoding lacks is written as its escape, and fails nothing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
