"""The command line as the library has it: help, completion, and messages about mistakes."""

from __future__ import annotations

import inspect
import sys
from functools import wraps
from importlib import import_module
from inspect import Parameter as Keyword
from inspect import Signature
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from msgspec import UNSET

from shutdownlint import __version__
from shutdownlint.cli.declarations import (
    COMMANDS,
    Argument,
    Option,
    Parameter,
    call,
    parameters_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_CONFIGURATION: Final = (
    "The configuration is the nearest shutdownlint.toml, or pyproject.toml with "
    "\\[tool.shutdownlint]; SHUTDOWNLINT_CACHE_DIR names the cache folder."
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


def command_line(arguments: Sequence[str] | None = None) -> typer.Typer:
    """Return the command line: with the command that the arguments name, else a list of all.

    Without arguments it has every command, as completion needs them.
    """
    app = _bare()
    first = next((word for word in arguments or () if not word.startswith("-")), None)
    if arguments is not None and first not in COMMANDS:
        for name, sentence in COMMANDS.items():
            app.command(name, help=sentence)(_list_only)
        return app
    for name in (first,) if first in COMMANDS else COMMANDS:
        module = import_module(f"shutdownlint.cli.{name}")
        epilog = _EXIT_CODES if name == "check" else _OTHER_EXIT_CODES
        app.command(name, epilog=epilog)(_as_library_command(module.command))
    return app


def _list_only() -> None:
    """Stand for a command in the list of all."""


def _as_library_command(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with its parameters as the library declares them."""
    keywords = [_as_keyword(parameter) for parameter in parameters_of(command)]

    @wraps(command)
    def run(**values: Any) -> None:
        call(command, values)

    run.__doc__ = _join_lines(command.__doc__ or "")
    run.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    run.__annotations__ = {keyword.name: keyword.annotation for keyword in keywords}
    return run


def _join_lines(text: str) -> str:
    """Return a text whose paragraphs are one line each, so that the terminal wraps them.

    Indented lines, which are examples, stay as they are.
    """
    paragraphs = inspect.cleandoc(text).split("\n\n")
    joined = (p if p.startswith(" ") else " ".join(p.split()) for p in paragraphs)
    return "\n\n".join(joined)


def _as_keyword(parameter: Parameter) -> Keyword:
    declaration = parameter.declaration
    shared: dict[str, Any] = {
        "metavar": declaration.metavar,
        "help": declaration.help,
        "show_default": parameter.default not in (None, False, UNSET),
    }
    made: Any
    if isinstance(declaration, Argument):
        made = typer.Argument(**shared)
    else:
        made = typer.Option(
            *parameter.names,
            rich_help_panel=declaration.panel,
            hidden=declaration.hidden,
            parser=_as_parser(declaration),
            min=declaration.min,
            max=declaration.max,
            **shared,
        )
    default = Keyword.empty if parameter.default is UNSET else parameter.default
    annotated: Any = Annotated
    annotation = annotated[parameter.annotation.__origin__, made]
    return Keyword(parameter.name, Keyword.KEYWORD_ONLY, default=default, annotation=annotation)


def _as_parser(declaration: Option) -> Callable[[str], Any] | None:
    parse = declaration.parse
    if parse is None:
        return None

    def parser(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    return parser


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
