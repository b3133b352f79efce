"""Frameworks whose own shutdown shows in the manifest: flags and variables of a container.

Only what is written counts; that an image's name sounds like a framework proves nothing. A value
that the framework would not take counts as not there.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.facts import Fact
from shutdownlint.platforms.kubernetes.shell import base_name, shell_script, tokens
from shutdownlint.shutdown import Origin, OriginKind, Setting
from shutdownlint.shutdown.span import ZERO, seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from shutdownlint.manifests.document import Ref
    from shutdownlint.manifests.resources import Container


@dataclass(frozen=True, slots=True)
class Knob:
    """Where a framework is told how long its shutdown may take.

    ``program`` must be run by the container (empty: the variables are proof enough); ``flags`` and
    ``variables`` are its spellings; ``unit`` is the length of a bare number; ``suffixes`` says
    whether units may be written.
    """

    framework: str
    program: str
    flags: tuple[str, ...]
    variables: tuple[str, ...]
    unit: timedelta
    suffixes: bool = False


_SECOND: Final = seconds(1)
_MILLISECOND: Final = seconds(0.001)

KNOBS: Final = (
    Fact(
        Knob("Gunicorn", "gunicorn", ("--graceful-timeout",), (), _SECOND),
        "gunicorn/config.py:873-887",
    ),
    Fact(
        Knob(
            "Uvicorn",
            "uvicorn",
            ("--timeout-graceful-shutdown",),
            ("UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN",),
            _SECOND,
        ),
        "uvicorn/main.py:283-287, server.py:262-295 (since 0.22.0)",
    ),
    Fact(
        Knob("Hypercorn", "hypercorn", ("--graceful-timeout",), (), _SECOND),
        "hypercorn/config.py:78",
    ),
    Fact(
        Knob("Sidekiq", "sidekiq", ("-t", "--timeout"), (), _SECOND),
        "sidekiq lib/sidekiq/config.rb:16, cli.rb:371",
    ),
    Fact(
        Knob(
            "Spring Boot",
            "",
            ("--spring.lifecycle.timeout-per-shutdown-phase",),
            (
                "SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE",
                # The older mapping of dashes to underscores is still read.
                "SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE",
            ),
            _MILLISECOND,
            suffixes=True,
        ),
        "spring-boot LifecycleProperties.java:36, external-config.adoc:1134-1140",
    ),
    Fact(
        Knob(
            ".NET",
            "",
            (),
            ("DOTNET_SHUTDOWNTIMEOUTSECONDS", "ASPNETCORE_SHUTDOWNTIMEOUTSECONDS"),
            _SECOND,
        ),
        "dotnet/runtime HostOptions.cs (shutdownTimeoutSeconds)",
    ),
    Fact(
        Knob("Quarkus", "", (), ("QUARKUS_SHUTDOWN_TIMEOUT",), _SECOND, suffixes=True),
        "quarkus core/runtime .../shutdown/ShutdownConfig.java",
    ),
    Fact(
        Knob("PM2", "", (), ("PM2_KILL_TIMEOUT",), _MILLISECOND),
        "pm2 constants.js:105-106, lib/God/Methods.js:158",
    ),
)
#: Gunicorn takes further flags from here (docs/content/configure.md:9).
_GUNICORN_ARGUMENTS: Final = "GUNICORN_CMD_ARGS"
_NUMBER: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?)([a-z]*)", re.IGNORECASE)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def finish_within(container: Container, ref: Ref) -> Setting[timedelta] | None:
    """How long the container's framework lets its own shutdown take, where that is written."""
    words = list(_words(container, ref))
    programs = {base_name(word) for word, _ in words}
    immediate = any(e.name == "SERVER_SHUTDOWN" and e.value == "immediate" for e in container.env)
    for fact in KNOBS:
        knob = fact.value
        if immediate and knob.framework == "Spring Boot":
            continue  # its graceful shutdown is switched off
        if knob.program and knob.program not in programs:
            continue
        found = _flag(knob, words) or _variable(knob, container, ref)
        if found is not None:
            value, where = found
            origin = Origin(OriginKind.EXPLICIT, knob.framework, where)
            return Setting(f"{knob.framework} shutdown timeout", value, origin)
    return None


def _words(container: Container, ref: Ref) -> Iterator[tuple[str, Ref]]:
    """The words of the container's command line, a shell's script taken apart."""
    whole = container.command + container.args
    script = shell_script(whole)
    for field in ("command", "args"):
        for index, word in enumerate(getattr(container, field)):
            where = ref / field / index
            for part in (tokens(word) or ()) if word == script else (word,):
                yield part, where
    for index, variable in enumerate(container.env):
        if variable.name == _GUNICORN_ARGUMENTS and variable.value:
            where = ref / "env" / index / "value"
            for part in _split(variable.value):
                yield part, where


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _flag(knob: Knob, words: Sequence[tuple[str, Ref]]) -> tuple[timedelta, Ref] | None:
    for index, (word, where) in enumerate(words):
        for flag in knob.flags:
            if word.startswith(f"{flag}="):
                value = _duration(knob, word.removeprefix(f"{flag}="))
            elif word == flag and index + 1 < len(words):
                value = _duration(knob, words[index + 1][0])
                where = words[index + 1][1]  # noqa: PLW2901 - the value's place, not the flag's
            else:
                continue
            if value is not None:
                return value, where
    return None


def _variable(knob: Knob, container: Container, ref: Ref) -> tuple[timedelta, Ref] | None:
    # Of variables that stand twice the last one counts.
    for index, variable in reversed(list(enumerate(container.env))):
        if variable.name in knob.variables and variable.value is not None:
            value = _duration(knob, variable.value)
            if value is not None:
                return value, ref / "env" / index / "value"
    return None


def _duration(knob: Knob, text: str) -> timedelta | None:
    found = _NUMBER.fullmatch(text.strip())
    if found is None:
        return None
    number, unit = float(found.group(1)), found.group(2).lower()
    if not unit:
        value: timedelta | None = knob.unit * number
    else:
        value = seconds(number * _UNITS[unit]) if knob.suffixes and unit in _UNITS else None
    return value if value is None or value > ZERO else None
