"""Warnings to stderr, reports to stdout or a file, exit codes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from shutdownlint import files, limits, outputs

if TYPE_CHECKING:
    from collections.abc import Iterable

CLEAN, FINDINGS, INCOMPLETE = 0, 1, 2


def warn(message: str) -> None:
    """Print a warning on stderr; names from the input cannot act on a terminal or a CI system."""
    outputs.write(outputs.ERRORS, f"shutdownlint: {_safe(message)}\n")


def show(line: str) -> None:
    """Print a line on stdout; names from the input cannot act on a terminal or a CI system."""
    outputs.write(outputs.SCREEN, f"{_safe(line)}\n")


def _safe(text: str) -> str:
    from shutdownlint.reports.report import safe  # noqa: PLC0415 - most runs warn about nothing

    return safe(text)


def show_page(text: str) -> None:
    """Print a page of several lines, each as ``show`` does."""
    for line in text.removesuffix("\n").split("\n"):
        show(line)


def usage_error(message: str) -> SystemExit:
    """Print what the user has to change; the exit to raise."""
    files.disable_caching("it was called in a wrong way")
    warn(message)
    return SystemExit(INCOMPLETE)


def check_outputs(files: Iterable[str | None]) -> None:
    """Refuse files that cannot be written, before anything else is done."""
    named = [file for file in files if file not in (None, "-")]
    if named:
        from shutdownlint.atomic_write import check_target  # noqa: PLC0415 - for files only

        for file in named:
            try:
                check_target(Path(str(file)))
            except OSError as error:
                raise usage_error(f"{file}: {error.strerror}") from None


def can_write(file: str) -> bool:
    """Whether a file can be written."""
    from shutdownlint.atomic_write import check_target  # noqa: PLC0415 - for files only

    try:
        check_target(Path(file))
    except OSError:
        return False
    return True


def read_small_file(file: str) -> str:
    """Return the text of a file that the user names; a usage error where it cannot be read."""
    try:
        path = Path(file)
        if files.size_of(path) > limits.MAX_CONFIGURATION_BYTES:
            raise usage_error(f"{file}: larger than {limits.MAX_CONFIGURATION_BYTES:,} bytes")
        return files.read_text(path)
    except OSError as error:
        raise usage_error(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise usage_error(f"{file}: {error}") from None


def write_output(text: str | None, file: str | None, *, commands: bool = False) -> None:
    """Write a report to a file, or to stdout; nothing where it is drawn already.

    ``commands``: its lines are meant as commands for a CI system.

    A terminal gets its own encoding. Everything else gets UTF-8, whatever the locale: JSON and the
    formats of CI systems are defined so, and a patch has to match the bytes of the files.
    """
    if text is None:
        return
    if file is None or file == "-":
        where = outputs.SCREEN if sys.stdout.isatty() else outputs.DATA
        outputs.write(outputs.COMMANDS if commands else where, text)
        return
    from shutdownlint.atomic_write import replace_file  # noqa: PLC0415 - for files only

    try:
        replace_file(Path(file), text.encode(errors="surrogateescape"), mode=0o644)
    except OSError as error:
        raise usage_error(f"{file}: {error.strerror}") from None
    outputs.record(outputs.FILE, text, file)
