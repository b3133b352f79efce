"""Servers that their own preStop hook makes drain: ``nginx -s quit``, ``kong quit``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.platforms.programs import facts
from shutdownlint.platforms.programs.servers import Flags
from shutdownlint.platforms.programs.start import StartedProgram, Word
from shutdownlint.shell.syntax import bare_words, base_name, shell_script, split_steps, tokens
from shutdownlint.shell.timing import command_time
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.process import CLOSED, OPEN, After, Phase, Trigger, WhenFinished
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from shutdownlint.yaml_source.location import SourceLocation


def drain_in_hook(command: Sequence[str], location: SourceLocation) -> tuple[Phase, Phase] | None:
    """Return the phases of a server that its own preStop hook makes drain; None for other hooks.

    ``nginx -s quit`` and ``kong quit`` stop accepting while the hook still runs; sleeps in front
    of them come first. ``nginx -s stop`` cuts what is left then.
    """
    script = shell_script(command)
    words = tokens(script) if script is not None else None
    steps = [step.words for step in split_steps(words)] if words is not None else [tuple(command)]
    waited = ZERO
    quits: timedelta | None = None
    for step in steps:
        bare = bare_words(step)
        name = base_name(bare[0]) if bare else ""
        if name == "sleep":
            slept = command_time(bare, lambda _name: None)
            if not slept.known:
                break
            waited += slept.low
        elif name in ("nginx", "openresty") and bare[1:] == ["-s", "quit"]:
            quits = waited
        elif name in ("nginx", "openresty") and bare[1:] == ["-s", "stop"] and quits is not None:
            limit = Setting(f"{name} -s stop", waited - quits, _written("hook", location))
            return _drain_phases(quits, limit, f"{name} -s quit", location)
        elif name == "kong" and bare[1:2] == ["quit"]:
            return _kong_quit(bare[2:], waited, location)
        else:
            break
    return _drain_phases(quits, None, "nginx -s quit", location) if quits is not None else None


def _kong_quit(
    arguments: Sequence[str], waited: timedelta, location: SourceLocation
) -> tuple[Phase, Phase]:
    words = (Word(text, location) for text in ("kong quit", *arguments))
    flags = Flags(StartedProgram(tuple(words)))
    wait = flags.read("wait", ("--wait", "-w"), facts.KONG_WAIT.value)
    limit = flags.read("timeout", ("--timeout", "-t"), facts.KONG_TIMEOUT.value)
    return _drain_phases(waited + wait.value, limit, "kong quit", location)


def _written(label: str, location: SourceLocation) -> Origin:
    return Origin(OriginKind.EXPLICIT, label, location)


def _drain_phases(
    wait: timedelta, limit: Setting[timedelta] | None, label: str, location: SourceLocation
) -> tuple[Phase, Phase]:
    before = Setting(label, wait, _written(label, location))
    return (
        Phase(Trigger.DELETION, After(before), OPEN, OPEN),
        Phase(Trigger.NEXT, WhenFinished(limit), CLOSED),
    )
