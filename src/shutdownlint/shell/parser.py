"""The structure of a shell script: lists, pipelines, compound commands and functions.

It reads what the common shells share. A script with anything else is not read at all.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from shutdownlint import limits
from shutdownlint.shell.syntax import bare_words, tokens

if TYPE_CHECKING:
    from collections.abc import Sequence


class Simple(Struct, frozen=True):
    """A command with its words; assignments and redirections are in ``words`` only."""

    words: tuple[str, ...]

    @property
    def bare(self) -> list[str]:
        """Its words without assignments and redirections; empty where it has only those."""
        return bare_words(self.words)

    @property
    def redirected(self) -> bool:
        """Whether it has a redirection."""
        return any(mark in word for word in self.words for mark in "<>")


class Kind(StrEnum):
    """A compound command."""

    GROUP = "group"
    SUBSHELL = "subshell"
    IF = "if"
    CASE = "case"
    LOOP = "loop"
    FUNCTION = "function"


class Compound(Struct, frozen=True):
    """A compound command: its lists in order. ``name`` is that of a function that it defines."""

    kind: Kind
    bodies: tuple[tuple[Item, ...], ...]
    name: str = ""
    redirected: bool = False


Command: TypeAlias = Simple | Compound


class Item(Struct, frozen=True):
    """A pipeline of a list, and the operator that joins it to the next; empty at the end."""

    commands: tuple[Command, ...]
    join: str
    negated: bool = False


_COMPOUND: Final = {
    "{": (Kind.GROUP, ("}",)),
    "(": (Kind.SUBSHELL, (")",)),
    "while": (Kind.LOOP, ("do", "done")),
    "until": (Kind.LOOP, ("do", "done")),
}
_ENDS: Final = frozenset(("}", ")", "do", "done", "then", "elif", "else", "fi", "esac", ";;"))
_JOINS: Final = frozenset((";", "&&", "||", "|", "|&", "&"))


def parse_script(script: str) -> tuple[Item, ...] | None:
    """Return the list that a script is; None where it is not understood."""
    words = tokens(script)
    if words is None or any(word.startswith(("<<", "((")) for word in words):
        return None
    parser = _Parser(words)
    try:
        found = parser.read_list(0)
    except _NotUnderstoodError:
        return None
    return found if parser.at == len(words) else None


class _NotUnderstoodError(Exception):
    pass


class _Parser:
    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.at = 0

    def read_list(self, depth: int) -> tuple[Item, ...]:
        """Read items until a word that ends the list."""
        if depth > limits.MAX_SCRIPT_NESTING:
            raise _NotUnderstoodError
        items: list[Item] = []
        while (word := self._next()) is not None and word not in _ENDS:
            if word == ";":
                self.at += 1
                continue
            items.append(self._item(depth))
        return tuple(items)

    def _item(self, depth: int) -> Item:
        negated = False
        while self._next() in ("!", "time"):
            negated = True
            self.at += 1
        commands = [self._command(depth)]
        while self._next() in ("|", "|&"):
            self.at += 1
            self._skip_lines()
            commands.append(self._command(depth))
        join = self._next()
        if join in _JOINS:
            self.at += 1
            if join in ("&&", "||"):
                self._skip_lines()
        elif join is not None and join not in _ENDS:
            raise _NotUnderstoodError
        return Item(tuple(commands), join if join is not None and join in _JOINS else "", negated)

    def _command(self, depth: int) -> Command:
        word = self._next()
        if word is None:
            raise _NotUnderstoodError
        if word in _COMPOUND:
            kind, ends = _COMPOUND[word]
            self.at += 1
            return self._bodies(kind, ends, depth)
        if word == "if":
            return self._if(depth)
        if word == "for":
            return self._for(depth)
        if word == "case":
            return self._case(depth)
        if self.words[self.at + 1 : self.at + 3] == ["(", ")"]:
            name = word
            self.at += 3
            self._skip_lines()
            return Compound(Kind.FUNCTION, ((Item((self._command(depth + 1),), ""),),), name)
        return self._simple()

    def _simple(self) -> Simple:
        found: list[str] = []
        while (word := self._next()) is not None and word not in (*_JOINS, ";;", ")"):
            if word == "(":
                raise _NotUnderstoodError
            found.append(word)
            self.at += 1
        if not found:
            raise _NotUnderstoodError
        return Simple(tuple(found))

    def _bodies(self, kind: Kind, ends: Sequence[str], depth: int) -> Compound:
        bodies = []
        for end in ends:
            bodies.append(self.read_list(depth + 1))
            self._expect(end)
        return self._compound(kind, bodies)

    def _if(self, depth: int) -> Compound:
        bodies = []
        while self._next() in ("if", "elif"):
            self.at += 1
            bodies.append(self.read_list(depth + 1))
            self._expect("then")
            bodies.append(self.read_list(depth + 1))
        if self._next() == "else":
            self.at += 1
            bodies.append(self.read_list(depth + 1))
        self._expect("fi")
        return self._compound(Kind.IF, bodies)

    def _for(self, depth: int) -> Compound:
        while self._next() not in ("do", None):
            self.at += 1
        self._expect("do")
        return self._bodies(Kind.LOOP, ("done",), depth)

    def _case(self, depth: int) -> Compound:
        while self._next() not in ("in", None):
            self.at += 1
        self._expect("in")
        bodies = []
        self._skip_lines()
        while self._next() not in ("esac", None):
            while self._next() not in (")", None):
                self.at += 1
            self._expect(")")
            bodies.append(self.read_list(depth + 1))
            if self._next() == ";;":
                self.at += 1
            self._skip_lines()
        self._expect("esac")
        return self._compound(Kind.CASE, bodies)

    def _compound(self, kind: Kind, bodies: list[tuple[Item, ...]]) -> Compound:
        """With the redirections behind it."""
        redirected = False
        while (word := self._next()) is not None and word not in _JOINS and word not in _ENDS:
            if not any(mark in word for mark in "<>") and not redirected:
                raise _NotUnderstoodError
            redirected = True
            self.at += 1
        return Compound(kind, tuple(bodies), redirected=redirected)

    def _next(self) -> str | None:
        """Return the next word; None at the end."""
        return self.words[self.at] if self.at < len(self.words) else None

    def _expect(self, word: str) -> None:
        if self._next() != word:
            raise _NotUnderstoodError
        self.at += 1

    def _skip_lines(self) -> None:
        while self._next() == ";":
            self.at += 1
