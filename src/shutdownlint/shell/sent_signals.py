"""The signals that a command sends to the container's app, and when: ``kill -TERM 1; sleep 10``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.shell.parser import Compound, Kind, Simple, parse_script
from shutdownlint.shell.syntax import base_name, shell_script
from shutdownlint.shell.timing import command_time
from shutdownlint.shutdown.durations import ZERO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import timedelta

    from shutdownlint.shell.parser import Item

#: Signals by their numbers on Linux (signal(7)).
_NUMBERS: Final = {
    "2": "INT",
    "3": "QUIT",
    "10": "USR1",
    "12": "USR2",
    "15": "TERM",
    "28": "WINCH",
}
#: Those that stop a program. SIGKILL has no effect on the first process of a container.
_STOPPING: Final = frozenset(_NUMBERS.values())
_FIRST_PROCESS: Final = "1"
#: Options of pkill and killall that take the next word.
_TAKES_NEXT: Final = frozenset(("-u", "-U", "-g", "-G", "-P", "-t", "-F", "--user"))


class SentSignal(Struct, frozen=True):
    """A signal. ``program`` names the processes that get it; empty: the container's first one.

    ``by_number``: it is sent to process 1, whichever that is.
    """

    signal: str
    at: timedelta
    program: str = ""
    by_number: bool = False


def sent_signals(
    command: Sequence[str], lookup: Callable[[str], str | None]
) -> tuple[SentSignal, ...]:
    """Return the signals that a command is sure to send to the app, in their order.

    ``lookup`` gives variables. Commands of unknown length count as instant.
    """
    script = shell_script(command)
    if script is None:
        found = _signal_of(list(command), ZERO)
        return (found,) if found is not None else ()
    if not any(word in script for word in ("kill", "-s stop")):
        return ()
    items = parse_script(script)
    return tuple(_Walk(lookup).list_sent(items, ZERO)) if items is not None else ()


class _Walk:
    """Walks through a script, and adds up how long its commands take."""

    def __init__(self, lookup: Callable[[str], str | None]) -> None:
        self.lookup = lookup
        self.now = ZERO

    def list_sent(self, items: Sequence[Item], begin: timedelta) -> Iterator[SentSignal]:
        self.now = list_begin = begin
        sure = True
        for item in items:
            (first, *piped) = item.commands
            if isinstance(first, Simple) and not piped:
                found = _signal_of(first.bare, self.now) if sure else None
                if found is not None:
                    yield found
                if first.bare[:1] == ["exit"] and sure:
                    return
                self.now += self._time(first.bare) if sure else ZERO
            elif isinstance(first, Compound) and not piped and sure:
                yield from self._compound(first)
            sure = item.join not in ("||",) and (sure or item.join in (";", "&", ""))
            if item.join == "&":
                self.now = list_begin
            if item.join in (";", "&", ""):
                list_begin = self.now

    def _compound(self, compound: Compound) -> Iterator[SentSignal]:
        """Yield what is certain to run: groups and subshells, not the branches of conditions."""
        if compound.kind in (Kind.GROUP, Kind.SUBSHELL):
            yield from self.list_sent(compound.bodies[0], self.now)

    def _time(self, words: list[str]) -> timedelta:
        return command_time(words[1:] if words[:1] == ["exec"] else words, self.lookup).low


def _signal_of(words: list[str], at: timedelta) -> SentSignal | None:
    """Return the signal that a simple command sends to the app."""
    while words and base_name(words[0]) in ("exec", "sudo", "busybox", "env"):
        words = words[1:]
    if not words:
        return None
    name, arguments = base_name(words[0]), words[1:]
    if name in ("nginx", "openresty") and arguments == ["-s", "stop"]:
        return SentSignal("TERM", at, name)
    if name not in ("kill", "pkill", "killall"):
        return None
    signal, targets = _read_kill(arguments, names=name != "kill")
    if signal not in _STOPPING:
        return None
    for target in targets:
        if name != "kill":
            return SentSignal(signal, at, base_name(target))
        # A substitution looks the process up.
        if target == _FIRST_PROCESS or "$__" in target:
            return SentSignal(signal, at, by_number=target == _FIRST_PROCESS)
    return None


def _read_kill(arguments: Sequence[str], *, names: bool) -> tuple[str, list[str]]:
    """Return signal and the targets of ``kill``, or (``names``) of ``pkill`` and ``killall``."""
    signal, targets, rest = "TERM", [], list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("-s", "--signal", "-n") and rest:
            signal = _signal_name(rest.pop(0))
        elif word.startswith("--signal="):
            signal = _signal_name(word.partition("=")[2])
        elif names and word in _TAKES_NEXT and rest:
            rest.pop(0)
        elif word == "--":
            targets += rest
            break
        elif word.startswith("-") and not targets and _is_signal(word[1:]):
            signal = _signal_name(word[1:])
        elif not word.startswith("-") or (not names and word[1:].isdigit()):
            targets.append(word)
    return signal, targets


def _is_signal(text: str) -> bool:
    return text.isdigit() or (text.isupper() and len(text) > 1)


def _signal_name(text: str) -> str:
    return _NUMBERS.get(text, text.upper().removeprefix("SIG"))
