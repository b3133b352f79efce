"""The begin of a run: the command that is called, and nothing else, is imported."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Final, NoReturn

from shutdownlint.cli.declarations import COMMANDS, call, read_words
from shutdownlint.cli.output import escape_what_cannot_be_written

#: Set where a shell asks for completions.
_COMPLETION: Final = "_SHUTDOWNLINT_COMPLETE"


def run_command() -> NoReturn:
    """Run the command line; never returns normally (exits with the run's code)."""
    escape_what_cannot_be_written()
    name, *words = sys.argv[1:] or [""]
    if name in COMMANDS and _COMPLETION not in os.environ:
        command = import_module(f"shutdownlint.cli.{name}").command
        values = read_words(command, words)
        if values is not None:
            call(command, values)
            raise SystemExit(0)
    from shutdownlint.cli.app import command_line  # noqa: PLC0415 - help, mistakes, completion

    command_line(sys.argv[1:])()
    raise SystemExit(0)
