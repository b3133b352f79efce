"""The declaration of command options, and the reading of a command line by these declarations.

The command-line library takes a third of the time of a small run. A line that is right needs
nothing of it: ``read_words`` reads it by the same declarations. Every other line (a mistake, a
request for help) is left to the library, which gives its own message.
"""

# No postponed annotations in the modules of commands: they are read as the program runs.
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import UNSET, Struct

#: The commands in the order of the help, with the first sentence of each; each is in the module
#: of its name. The list of commands imports none of them.
COMMANDS: Final = {
    "check": "Check manifests for settings that lose requests when pods shut down.",
    "explain": "Draw the timeline of each pod's shutdown, with the longest requests that survive "
    "it.",
    "suggest": "Suggest the smallest consistent set of settings with which every request is "
    "served.",
    "measure": "Measure how long the slowest ordinary requests of each workload take, with "
    "Prometheus.",
    "verify": "Write a test for each workload: requests to send while a pod is deleted, with "
    "predictions.",
    "images": "Ask what the images of workloads start: entrypoint, command, stop signal, shell.",
    "history": "Show what changed from report to report: findings that are new, fixed and left.",
    "init": "Write a commented shutdownlint.toml from what the folder holds.",
    "rule": "Show a rule's page; without an id, list all rules (the configuration's own among "
    "them).",
    "program": "Show what a program does at its stop signal; without a name, list all programs.",
    "policy": "Print rules as policies that the API server, or Kyverno, enforces.",
    "server": "Speak the language server protocol: findings while a manifest is edited.",
    "schema": "Print the JSON Schema of the configuration, of rule files, or of program records.",
}


class Option(Struct, frozen=True):
    """An option of a command; without names it is called like its parameter.

    ``parse`` makes a value of its text. Raises ``ValueError``.
    """

    names: tuple[str, ...] = ()
    help: str = ""
    panel: str | None = None
    metavar: str | None = None
    parse: Callable[[str], Any] | None = None
    #: Whether the help leaves it out: the configuration serves it better.
    hidden: bool = False
    min: int | None = None
    max: int | None = None


class Argument(Struct, frozen=True):
    """The words of a command that belong to no option."""

    metavar: str
    help: str


class OptionGroup(Struct, kw_only=True):
    """Options that belong together: each field is one."""


class Parameter(Struct, frozen=True):
    """A parameter of a command with its declaration. ``group``: the parameter that it is in."""

    name: str
    annotation: Any
    default: Any
    group: str = ""

    @property
    def declaration(self) -> Option | Argument:
        """The declaration of the option or argument."""
        found: Option | Argument = self.annotation.__metadata__[0]
        return found

    @property
    def type(self) -> Any:
        """The type without None."""
        annotation = self.annotation.__origin__
        members = [a for a in getattr(annotation, "__args__", ()) if a is not type(None)]
        is_union = type(None) in getattr(annotation, "__args__", ())
        return members[0] if is_union else annotation

    @property
    def repeats(self) -> bool:
        """Whether it takes a list."""
        return getattr(self.type, "__origin__", None) is list

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the option; a flag with a slash has a name that turns it off."""
        declaration = self.declaration
        named = declaration.names if isinstance(declaration, Option) else ()
        return named or (f"--{self.name.replace('_', '-')}",)


def parameters_of(command: Callable[..., None]) -> Iterator[Parameter]:
    """Yield the parameters of a command, with those of its groups."""
    defaults = command.__kwdefaults__ or {}
    for name, annotation in command.__annotations__.items():
        if name == "return":
            continue
        if isinstance(annotation, type) and issubclass(annotation, OptionGroup):
            given = zip(annotation.__struct_fields__, annotation.__struct_defaults__, strict=True)
            for field, default in given:
                yield Parameter(field, annotation.__annotations__[field], default, name)
        else:
            yield Parameter(name, annotation, defaults.get(name, UNSET))


def call(command: Callable[..., None], values: dict[str, Any]) -> None:
    """Call a command with the values of all its parameters, those of groups in their groups."""
    groups: dict[str, dict[str, Any]] = {}
    arguments = {}
    for parameter in parameters_of(command):
        value = values.get(parameter.name, parameter.default)
        if parameter.group:
            groups.setdefault(parameter.group, {})[parameter.name] = value
        else:
            arguments[parameter.name] = value
    for name, given in groups.items():
        arguments[name] = command.__annotations__[name](**given)
    command(**arguments)


def read_words(command: Callable[..., None], words: Sequence[str]) -> dict[str, Any] | None:
    """Return the values that a command line gives; None if it is not a plain one."""
    try:
        return _Reader(command).read(words)
    except (KeyError, ValueError):
        return None


class _Reader:
    """Reads the words of a command. Whatever it is not sure of is a ``ValueError``."""

    def __init__(self, command: Callable[..., None]) -> None:
        self._options: dict[str, tuple[Parameter, bool]] = {}
        self._argument: Parameter | None = None
        self._values: dict[str, Any] = {}
        parameters = list(parameters_of(command))
        self._required = [each.name for each in parameters if each.default is UNSET]
        for parameter in parameters:
            if isinstance(parameter.declaration, Argument):
                self._argument = parameter
                continue
            for names in parameter.names:
                on, _, off = names.partition("/")
                self._options[on] = parameter, True
                if off:
                    self._options[off] = parameter, False

    def read(self, words: Iterable[str]) -> dict[str, Any]:
        """Return the values by parameter. Raises ``ValueError`` and ``KeyError``."""
        rest = iter(words)
        for word in rest:
            if word == "-" or not word.startswith("-"):
                self._take_argument(word)
            else:
                self._take_option(word, rest)
        if any(name not in self._values for name in self._required):
            raise ValueError(words)
        return self._values

    def _take_argument(self, word: str) -> None:
        if self._argument is None or not self._argument.repeats:
            raise ValueError(word)
        self._values.setdefault(self._argument.name, []).append(word)

    def _take_option(self, word: str, rest: Iterator[str]) -> None:
        name, equals, text = word.partition("=")
        parameter, on = self._options[name]
        # -o=FILE and --flag=yes mean something else than they seem to.
        if equals and (parameter.type is bool or not name.startswith("--")):
            raise ValueError(word)
        if parameter.type is bool:
            self._values[parameter.name] = on
            return
        if not equals:
            text = next(rest, "--")
        if text.startswith("-") and text != "-":
            raise ValueError(text)
        value = _read(parameter, text)
        if parameter.repeats:
            self._values.setdefault(parameter.name, []).append(value)
        else:
            self._values[parameter.name] = value


def _read(parameter: Parameter, text: str) -> Any:
    """Return the value of an option. Raises ``ValueError``."""
    declaration = parameter.declaration
    if isinstance(declaration, Option) and declaration.parse is not None:
        return declaration.parse(text)
    wanted = parameter.type
    if parameter.repeats or wanted is str:
        return text
    if isinstance(wanted, type) and issubclass(wanted, StrEnum):
        return wanted(text)
    raise ValueError(text)
