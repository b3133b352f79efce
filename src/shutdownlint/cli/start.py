"""Start a run: import only the command that is called."""

from __future__ import annotations

import os
import sys

from shutdownlint import files, outputs
from shutdownlint.cli.run_cache import CachedRun

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final, NoReturn

#: The command whose runs are cached.
_CHECK: Final = "check"
#: Set where a shell asks for completions.
_COMPLETION: Final = "_SHUTDOWNLINT_COMPLETE"


def run_command() -> NoReturn:
    """Run the command line; never returns normally (exits with the run's code)."""
    outputs.escape_what_cannot_be_written()
    name, *words = sys.argv[1:] or [""]
    cached = CachedRun.of(words) if name == _CHECK and _COMPLETION not in os.environ else None
    if cached is None:
        _run(name, words)
    code = cached.replay()
    if code is None:
        with files.recording() as reads, outputs.recording() as written:
            try:
                _run(name, words)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0
        cached.store(code, reads, written)
    raise SystemExit(code)


def _run(name: str, words: Sequence[str]) -> NoReturn:
    from shutdownlint.library_imports import import_msgspec  # noqa: PLC0415 - seldom for --help

    import_msgspec()
    from shutdownlint.cli.declarations import COMMANDS, call, read_words  # noqa: PLC0415 - not for cached

    if name in COMMANDS and _COMPLETION not in os.environ:
        from importlib import import_module  # noqa: PLC0415 - not for cached runs

        command = import_module(f"shutdownlint.cli.{name}").command
        values = read_words(command, words)
        if values is not None:
            call(command, values)
            raise SystemExit(0)
    files.disable_caching("the command-line library writes on its own")
    from shutdownlint.cli.app import command_line  # noqa: PLC0415 - help, mistakes, completion

    command_line(None if _COMPLETION in os.environ else sys.argv[1:])()
    raise SystemExit(0)
