"""Everything that a run writes for people to read goes through here, so that it can be noted.

Only what is imported here at once may be imported: a run that is unchanged writes through this
module as well.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

#: stdout, in the encoding of the terminal.
SCREEN: Final = "screen"
#: stdout, as UTF-8 in every locale.
DATA: Final = "data"
#: stderr.
ERRORS: Final = "errors"
#: A file that the command line names.
FILE: Final = "file"

#: A destination, the path where it is a file, and the text.
Output = tuple[str, str, str]
_notes: list[Output] | None = None


def start_notes() -> None:
    """Begin to note what the run writes."""
    global _notes  # noqa: PLW0603 - one run in a process
    _notes = []


def take_notes() -> list[Output]:
    """All texts so far, in their order."""
    return _notes or []


def end_notes() -> None:
    """Note nothing more."""
    global _notes  # noqa: PLW0603
    _notes = None


def note(where: str, text: str, file: str = "") -> None:
    """Note a text that the caller writes itself."""
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
    """Make stdout and stderr write an escape for a character that their encoding lacks."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
