"""Servers whose flags say how they stop, each with a reader that its record names."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.numbers import read_whole
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.programs.start import StartedProgram, Word, flag_values
from shutdownlint.programs.record import Role
from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.process import OPEN, After, Ending, Phase, Process, Trigger
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import timedelta

    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import ConfigMap


class KnownServer(Struct, frozen=True):
    """The shutdown of a server.

    ``hook`` is what ends its preStop hook, where that is the server itself. ``helper``: the app
    calls it, and requests need it.
    """

    process: Process
    reason: str
    hook: Ending | None = None
    helper: bool = False
    assumptions: tuple[Assumption, ...] = ()


class ServerStart(Struct, frozen=True):
    """What a reader may look at: the program, its container's name, and its preStop command.

    ``config_map`` looks one of the pod's namespace up by its name.
    """

    started: StartedProgram
    container: str
    hook_command: Sequence[str]
    config_map: Callable[[str], LoadedResource[ConfigMap] | None]


def find_server(start: ServerStart) -> KnownServer | None:
    """Return the server that a container starts; None for programs that need no reader."""
    started, record = start.started, start.started.record
    if record is None:
        return None
    if record.reader:
        module = import_module(f"shutdownlint.platforms.programs.readers.{record.reader}")
        found: KnownServer = module.read(start)
        return found
    if record.role is Role.HELPER:
        version = f"{record.name} {record.versions}" if record.versions else record.name
        origin = Origin(OriginKind.DEFAULT, version, started.location)
        return helper(started, Setting("immediate shutdown", ZERO, origin))
    return None


def helper(started: StartedProgram, life: Setting[timedelta]) -> KnownServer:
    """Return a container that the app calls, and that goes on for a time after its stop signal."""
    phases = (Phase(Trigger.SIGNAL, After(life), OPEN, OPEN),)
    text = f"requests are taken to need {started.name}, which serves until it exits"
    advice = started.record.advice if started.record is not None else ""
    return KnownServer(
        Process(phases),
        started.name,
        helper=True,
        assumptions=(Assumption(text, advice or "make it a native sidecar"),),
    )


class Flags:
    """Durations among a program's arguments, by names without regard to case."""

    def __init__(self, started: StartedProgram) -> None:
        words = started.words[1:]
        self._values: dict[str, list[tuple[str, Word]]] = {}
        for flag, word in flag_values(words, {word.text.partition("=")[0] for word in words}):
            self._values.setdefault(flag.lower(), []).append((flag, word))
        label = f"the default of {started.name}"
        self._default = Origin(OriginKind.DEFAULT, label, started.location)

    @property
    def names(self) -> list[str]:
        """The flags that have a value, in lower case."""
        return sorted(self._values)

    def read(self, name: str, flags: tuple[str, ...], default: timedelta) -> Setting[timedelta]:
        """Return the longest value of these flags; a bare number is seconds."""
        found = [
            Setting(name, duration, Origin(OriginKind.EXPLICIT, flag, word.location))
            for wanted in flags
            for flag, word in self._values.get(wanted, ())
            if (duration := _duration(word.text)) is not None
        ]
        return max(
            found, key=lambda setting: setting.value, default=Setting(name, default, self._default)
        )


def _duration(text: str) -> timedelta | None:
    number = read_whole(text, 8)
    if number is not None:
        return seconds(number)
    try:
        return max(go_duration(text), ZERO)
    except ValueError:
        return None
