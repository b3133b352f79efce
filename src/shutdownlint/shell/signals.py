"""Who gets the stop signal when a shell runs as the first process.

What each shell does was measured with scripts in dash, bash, busybox ash, mksh and ksh93 as process
1 of a pid namespace (``tests/shell/conformance``).
"""

from __future__ import annotations

from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint import limits
from shutdownlint.shell.forwarding import SignalForwarding
from shutdownlint.shell.parser import Compound, Item, Kind, Simple, parse_script
from shutdownlint.shell.syntax import base_name, shell_script
from shutdownlint.shell.timing import INSTANT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class ScriptRun(Struct, frozen=True):
    """The program that a script runs for good (its words), and whether it gets the stop signal.

    ``words`` are empty where it is not clear which one it is.
    """

    words: tuple[str, ...]
    forwarding: SignalForwarding


class _Place(Enum):
    """The position in its script where a program is started."""

    #: With ``exec``: the shell becomes the program.
    EXEC = auto()
    #: It is the whole script.
    ALONE = auto()
    #: Last in a list, with nothing around it.
    LAST = auto()
    #: Last, and a line break ends the script.
    LAST_LINE = auto()
    #: Last, with a redirection, in a compound command, or after a command in the background.
    ENCLOSED = auto()
    #: In the background.
    BACKGROUND = auto()
    #: The shell goes on after it, or stays for another reason.
    INSIDE = auto()


class _Started(Struct, frozen=True):
    """A program that a script starts. ``sure``: no condition decides whether it does."""

    words: tuple[str, ...]
    place: _Place
    sure: bool = True


_GETS, _LOST = True, False
#: Whether the app gets the signal, by shell; None: it varies by version or more.
#: bash became the last program of a list in 5.1; Debian's dash does not become the only one, newer
#: ones of others do.
_BY_SHELL: Final[Mapping[_Place, Mapping[str, bool | None]]] = {
    _Place.ALONE: {
        "dash": None,
        "bash": _GETS,
        "ash": _GETS,
        "mksh": None,
        "ksh93": _GETS,
    },
    _Place.LAST: {"dash": _LOST, "bash": None, "ash": _GETS, "mksh": _LOST, "ksh93": _GETS},
    _Place.LAST_LINE: {
        "dash": _LOST,
        "bash": None,
        "ash": _LOST,
        "mksh": _LOST,
        "ksh93": _GETS,
    },
    _Place.ENCLOSED: {"dash": _LOST, "bash": None, "ash": None, "mksh": _LOST, "ksh93": _GETS},
}
#: The shells that a name may mean.
_MEANT: Final = {
    "dash": ("dash",),
    "bash": ("bash",),
    "ash": ("ash",),
    "busybox": ("ash",),
    "mksh": ("mksh",),
    "ksh": ("mksh", "ksh93"),
}
#: Programs that keep a container alive, and are not its app.
_IDLE: Final = frozenset(("sleep", "tail", "wait", "read"))
#: Those of them that are programs of their own.
_LONG_IDLE: Final = frozenset(("sleep", "tail"))


def signal_forwarding(script: str, shell: str = "sh") -> SignalForwarding:
    """Who gets the stop signal when a shell of this name runs this as the first process."""
    return run_script(script, base_name(shell)).forwarding


@lru_cache(maxsize=256)
def run_script(script: str, shell: str = "sh") -> ScriptRun:
    """Return the app of a script, and whether it gets the stop signal of the shell that runs it."""
    items = parse_script(script)
    if items is None:
        return ScriptRun((), SignalForwarding.UNKNOWN)
    shells = _MEANT.get(shell, tuple(_BY_SHELL[_Place.LAST]))
    return _within(_Reader(items, script, shells).run())


class _Reader:
    def __init__(self, items: tuple[Item, ...], script: str, shells: Sequence[str]) -> None:
        self.items = items
        self.line_break = script.endswith("\n")
        self.shells = shells
        self.functions: dict[str, Compound] = {}
        #: The action of a trap for the stop signal; None without one.
        self.traps: str | None = None
        self.odd = False
        self.waits = self.idles = self.replaced = False
        self.calls = 0

    def run(self) -> ScriptRun:
        """Return the app, and who gets its signal."""
        everything = [*self._list(self.items, _Place.LAST)]
        started = [each for each in everything if _is_program(each.words)]
        if not started:
            return self._only_idles(everything)
        by_exec = next((each for each in started if each.place is _Place.EXEC), None)
        if by_exec is not None:
            return ScriptRun(by_exec.words, self._after_exec(started, by_exec))
        app = started[-1]
        return ScriptRun(app.words, self._without_exec(app))

    def _only_idles(self, started: Sequence[_Started]) -> ScriptRun:
        """Return a script that starts no app: the shell, or what it waits for, goes on for good.

        Without a trap, neither has a handler.
        """
        idle = [each.words for each in started if base_name(each.words[0]) in _LONG_IDLE]
        if not idle or self.odd or self.traps is not None:
            return ScriptRun((), SignalForwarding.UNKNOWN)
        return ScriptRun(idle[-1], SignalForwarding.NO_APP)

    def _after_exec(self, started: Sequence[_Started], by_exec: _Started) -> SignalForwarding:
        index = started.index(by_exec)
        if any(each.words == by_exec.words for each in started[:index]):
            return SignalForwarding.UNKNOWN
        rest = [each for each in started[index:] if each.place is not _Place.EXEC]
        return SignalForwarding.YES if by_exec.sure or not rest else SignalForwarding.UNKNOWN

    def _without_exec(self, app: _Started) -> SignalForwarding:
        if self.odd:
            return SignalForwarding.UNKNOWN
        if app.place is _Place.BACKGROUND:
            if self.traps is not None or not (self.waits or self.idles or self.replaced):
                return SignalForwarding.UNKNOWN
            return SignalForwarding.NO
        if self.traps == "":
            return SignalForwarding.UNKNOWN
        if app.place is _Place.INSIDE or self.traps:
            # With a trap the shell waits for the program in the foreground before it acts.
            return SignalForwarding.NO
        if self.replaced:
            return SignalForwarding.UNKNOWN
        found = {_BY_SHELL[app.place].get(shell) for shell in self.shells}
        if found == {_GETS}:
            return SignalForwarding.YES
        return SignalForwarding.NO if found == {_LOST} else SignalForwarding.DEPENDS_ON_SHELL

    def _list(
        self, items: Sequence[Item], tail: _Place, *, sure: bool = True
    ) -> Iterator[_Started]:
        """Yield the programs of a list; ``tail`` is the place of the last one."""
        background = False
        for index, item in enumerate(items):
            last = index == len(items) - 1
            place = tail if last else _Place.INSIDE
            if item.join == "&":
                background = True
                yield from self._item(item, _Place.BACKGROUND, sure=sure)
                continue
            if last and background and place in (_Place.LAST, _Place.LAST_LINE):
                place = _Place.ENCLOSED
            alternative = index > 0 and items[index - 1].join == "||"
            yield from self._item(item, self._place(items, place), sure=sure and not alternative)

    def _place(self, items: Sequence[Item], place: _Place) -> _Place:
        if place is not _Place.LAST or items is not self.items:
            return place
        if self.line_break:
            return _Place.LAST_LINE
        return _Place.ALONE if len(items) == 1 else _Place.LAST

    def _item(self, item: Item, place: _Place, *, sure: bool) -> Iterator[_Started]:
        if item.negated or len(item.commands) > 1:
            place = _Place.INSIDE if place is not _Place.BACKGROUND else place
            for command in item.commands:
                yield from self._command(command, place, sure=sure, own=item.negated)
            return
        yield from self._command(item.commands[0], place, sure=sure, own=True)

    def _command(
        self, command: Simple | Compound, place: _Place, *, sure: bool, own: bool
    ) -> Iterator[_Started]:
        """Yield the programs of a command; ``own``: the shell's own process runs it, not a copy."""
        if isinstance(command, Simple):
            yield from self._simple(command, place, sure=sure, own=own)
            return
        if command.kind is Kind.FUNCTION:
            self.functions[command.name] = command
            return
        inner = _Place.ENCLOSED if place in _TAILS else place
        if command.kind is Kind.LOOP:
            inner = _Place.INSIDE if place is not _Place.BACKGROUND else place
        copied = command.kind is Kind.SUBSHELL
        certain = sure and command.kind in (Kind.GROUP, Kind.SUBSHELL)
        for number, body in enumerate(command.bodies):
            # What decides comes first: the shell goes on after it.
            decides = (
                command.kind is Kind.IF and number % 2 == 0 and number < len(command.bodies) - 1
            )
            here = _Place.INSIDE if decides else inner
            for found in self._list(body, here, sure=certain):
                if found.place is _Place.EXEC and (copied or not own):
                    yield _Started(found.words, inner, sure)
                else:
                    yield found

    def _simple(
        self, command: Simple, place: _Place, *, sure: bool, own: bool
    ) -> Iterator[_Started]:
        words = command.bare
        if not words:
            return
        name = words[0]
        if name == "eval":
            yield from self._eval(words[1:], place, sure=sure)
        elif name == "exec":
            if len(words) > 1 and own and place is not _Place.BACKGROUND:
                program = _without_options(words[1:])
                self.replaced = self.replaced or not _is_program(program)
                yield _Started(program, _Place.EXEC, sure)
            elif len(words) > 1:
                yield _Started(tuple(words[1:]), place, sure)
        elif name in self.functions:
            yield from self._call(name, place, sure=sure)
        else:
            self._note(name, words[1:])
            enclosed = command.redirected and place in _TAILS
            yield _Started(tuple(words), _Place.ENCLOSED if enclosed else place, sure)

    def _call(self, name: str, place: _Place, *, sure: bool) -> Iterator[_Started]:
        (body,) = self.functions[name].bodies
        yield from self._again(body, place, sure=sure)

    def _eval(self, words: Sequence[str], place: _Place, *, sure: bool) -> Iterator[_Started]:
        inner = parse_script(" ".join(words))
        if inner is None:
            self.odd = True
            return
        yield from self._again(inner, place, sure=sure)

    def _again(self, items: Sequence[Item], place: _Place, *, sure: bool) -> Iterator[_Started]:
        """Yield a list that the shell runs from inside a command; functions may call themselves."""
        self.calls += 1
        if self.calls > limits.MAX_LAUNCHERS:
            self.odd = True
            return
        place = _Place.INSIDE if place is not _Place.BACKGROUND else place
        yield from self._list(items, place, sure=sure)

    def _note(self, name: str, arguments: Sequence[str]) -> None:
        """Note what bears on the signal beside the programs."""
        if name == "trap" and len(arguments) > 1:
            if {"TERM", "SIGTERM", "15"} & set(arguments[1:]):
                self.traps = arguments[0] if arguments[0] != "-" else None
            else:
                self.odd = True  # a trap for the end makes shells end in their own ways
        elif name == "set" and any(flag.startswith("-") and "m" in flag for flag in arguments):
            self.odd = True
        elif name == "wait":
            self.waits = True
        elif base_name(name) in ("sleep", "tail"):
            self.idles = True


def _without_options(words: Sequence[str]) -> tuple[str, ...]:
    """Return what ``exec`` starts, without its own options; ``-a`` takes a name."""
    index = 0
    while index < len(words) and words[index].startswith("-"):
        index += 2 if words[index] == "-a" else 1
    return tuple(words[index:])


_TAILS: Final = frozenset((_Place.ALONE, _Place.LAST, _Place.LAST_LINE, _Place.ENCLOSED))


def _is_program(words: Sequence[str]) -> bool:
    rest = list(words)
    if rest and base_name(rest[0]) == "env":
        rest = [word for word in rest[1:] if not word.startswith("-") and "=" not in word]
    return bool(rest) and base_name(rest[0]) not in (*INSTANT, *_IDLE)


def _within(outer: ScriptRun) -> ScriptRun:
    """Return the same, where the program is another shell with a script."""
    script = shell_script(outer.words)
    if script is None:
        return outer
    inner = run_script(script, base_name(outer.words[0]))
    for worst in (
        SignalForwarding.NO,
        SignalForwarding.NO_APP,
        SignalForwarding.UNKNOWN,
        SignalForwarding.DEPENDS_ON_SHELL,
    ):
        if worst in (outer.forwarding, inner.forwarding):
            return ScriptRun(inner.words, worst)
    return inner
