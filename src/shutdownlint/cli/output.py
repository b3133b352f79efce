"""Warnings to stderr, reports to stdout or a file, exit codes."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

CLEAN, FINDINGS, INCOMPLETE = 0, 1, 2


def warn(message: str) -> None:
    """Print a warning on stderr; names from the input cannot act on a terminal or a CI system."""
    from shutdownlint.reports.report import safe  # noqa: PLC0415 - most runs warn about nothing

    sys.stderr.write(f"shutdownlint: {safe(message)}\n")


def usage_error(message: str) -> typer.Exit:
    """Print what the user has to change; the exit to raise."""
    warn(message)
    return typer.Exit(INCOMPLETE)


def write_output(text: str | None, file: str | None) -> None:
    """Write a report to a file, or to stdout; nothing where it is drawn already."""
    if text is None:
        return
    if file in (None, "-"):
        sys.stdout.write(text)
        return
    assert file is not None
    from shutdownlint.atomic_write import replace_file  # noqa: PLC0415

    try:
        replace_file(Path(file), text.encode(errors="surrogateescape"), mode=0o644)
    except OSError as error:
        raise usage_error(f"{file}: {error.strerror}") from None
