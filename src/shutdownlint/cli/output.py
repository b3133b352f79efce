"""What is said and written: remarks to stderr, reports to stdout or a file, exit codes."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

CLEAN, FINDINGS, INCOMPLETE = 0, 1, 2


def remark(message: str) -> None:
    """Say something on stderr, where names from the input cannot act on a terminal or a runner."""
    from shutdownlint.reports.report import safe  # noqa: PLC0415 - most runs say nothing

    message = safe(message)
    sys.stderr.write(f"shutdownlint: {message}\n")


def stop(message: str) -> typer.Exit:
    remark(message)
    return typer.Exit(INCOMPLETE)


def printed(draw: Callable[[Console], None], output: str | None) -> str | None:
    """Draw on the terminal (and give nothing to write), or into text for a file."""
    from rich.console import Console  # noqa: PLC0415

    if output is None:
        draw(Console(highlight=False, markup=False, emoji=False))
        return None
    # Not a terminal: no colours, and a width of its own.
    nowhere = io.StringIO()
    draw(Console(file=nowhere, width=100, highlight=False, markup=False, emoji=False))
    return nowhere.getvalue()


def write(text: str | None, output: str | None) -> None:
    if text is None:
        return
    if output in (None, "-"):
        sys.stdout.write(text)
        return
    assert output is not None
    from shutdownlint.atomic_write import replace_file  # noqa: PLC0415

    try:
        replace_file(Path(output), text.encode(errors="surrogateescape"), mode=0o644)
    except OSError as error:
        raise stop(f"{output}: {error.strerror}") from None
