"""The command line. Only the command that is called is imported and built."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Final

import typer

from shutdownlint import __version__
from shutdownlint.cli.output import escape_what_cannot_be_written

if TYPE_CHECKING:
    from collections.abc import Sequence

_CONFIGURATION: Final = (
    "The configuration is the nearest shutdownlint.toml, or pyproject.toml with "
    "\\[tool.shutdownlint]; SHUTDOWNLINT_CACHE_DIR names the folder for cached rules."
)
#: The end of the help: of all commands together and of check, and of each other command.
_EXIT_CODES: Final = (
    "Exit codes: 0: no findings at or above --fail-on. 1: findings. 2: wrong usage, or something "
    f"could not be read or checked; the report names it. {_CONFIGURATION}"
)
_OTHER_EXIT_CODES: Final = (
    "Exit codes: 0: done. 2: wrong usage, or something could not be read or done; the lines on "
    f"stderr name it. {_CONFIGURATION}"
)
#: The commands, in the order of the help; each is in the module of its name.
COMMANDS: Final = (
    "check",
    "explain",
    "suggest",
    "measure",
    "verify",
    "history",
    "init",
    "rule",
    "schema",
)


def command_line(arguments: Sequence[str] | None = None) -> typer.Typer:
    """The command line; all of it where the arguments name no command (help, completion)."""
    app = _bare()
    first = next((word for word in arguments or () if not word.startswith("-")), None)
    for name in (first,) if first in COMMANDS else COMMANDS:
        module = import_module(f"shutdownlint.cli.{name}")
        app.command(name, epilog=_EXIT_CODES if name == "check" else _OTHER_EXIT_CODES)(
            module.command
        )
    return app


def run() -> None:
    """Run it; never returns normally (exits with the run's code)."""
    escape_what_cannot_be_written()
    command_line(sys.argv[1:])()


def _version_callback(value: bool) -> None:
    if value:
        sys.stdout.write(f"shutdownlint {__version__}\n")
        raise typer.Exit


def _bare() -> typer.Typer:
    app = typer.Typer(
        name="shutdownlint",
        help="Simulate how Kubernetes pods shut down, and report the requests that are lost.",
        epilog=_EXIT_CODES,
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(main)
    return app


def main(
    _version_flag: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_version_callback,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Simulate how Kubernetes pods shut down, and report the requests that are lost.

    When a pod is deleted, half a dozen timers run: the grace period, preStop hooks, the mesh
    proxy's drain, the app's own shutdown. shutdownlint reads the manifests, computes the
    timeline, and names each setting that loses requests.
    """
