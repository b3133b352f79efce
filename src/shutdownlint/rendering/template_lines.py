"""The lines of a chart's template: which entry of the rendered manifest each of them writes.

A template is no YAML. Its lines are read by their indentation, and blocks that are inserted
(``toYaml``, ``include``) by the indentation that they are given.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct, field

from shutdownlint import limits
from shutdownlint.manifests.go_template import action_text, find_actions, replace_actions
from shutdownlint.patterns import lazy_pattern

if TYPE_CHECKING:
    from shutdownlint.yaml_source.location import KeyPath

_KEY: Final = lazy_pattern(r"""(?P<quote>["']?)(?P<key>[\w./-]+)(?P=quote):(?=\s|$)""")
_INDENT: Final = lazy_pattern(r"n?indent\s+(\d+)")
_VALUES: Final = lazy_pattern(r"\$?\.Values((?:\.[\w-]+)+)")
_TEXT: Final = lazy_pattern(r'"[^"]*"')
_INDEXED: Final = lazy_pattern(r'index\s+\$?\.Values((?:\s+"[\w-]+")+)')
_BRACKETS: Final = lazy_pattern(r"\((\s*\$?\.Values(?:\.\w+)*\s*)\)")
#: A definition that writes the value that it is given, as many library charts have one.
_WRITES_VALUE: Final = lazy_pattern(r"\bdict\b.*\"value\"\s+\$?\.Values\.")
_INCLUDE: Final = lazy_pattern(r"(?:include|template)\s+\"([^\"]+)\"")
_DEFINE: Final = lazy_pattern(r"define\s+\"([^\"]+)\"")
_OPENING: Final = lazy_pattern(r"(if|with|range|define|block)\b\s*(.*)")


#: The keys of a value.
ValuePath: TypeAlias = tuple[str, ...]


class TemplateLine(Struct, frozen=True):
    """A line that writes an entry, or where a block is inserted (then without a key).

    ``column`` and ``end`` are those of the key, from 1; ``text`` is the rest of the line, which
    begins at ``text_column``.
    ``values`` are the values that its action reads, ``include`` the definition that it inserts.
    """

    path: KeyPath
    line: int
    column: int
    end: int
    text: str
    text_column: int
    inserts: bool = False
    values: tuple[ValuePath, ...] = ()
    include: str = ""

    @property
    def names(self) -> KeyPath:
        """The path without the places in lists."""
        return tuple(step for step in self.path if isinstance(step, str))


class TemplateBlock(Struct):
    """The lines of one document of a template, or of one definition."""

    name: str = ""
    lines: list[TemplateLine] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The kind of the object that it writes, where it is written plainly."""
        return next((each.text for each in self.lines if each.path == ("kind",)), "")


class _Entry(Struct):
    """A key or a list item whose lines are being read."""

    indent: int
    step: str | int
    items: int = 0


class _Reader:
    def __init__(self) -> None:
        self.blocks: list[TemplateBlock] = [TemplateBlock()]
        self._stack: list[_Entry] = []
        #: For each open block the value that ``.`` is in it.
        self._scopes: list[tuple[str, ...] | None] = []
        self._definitions: list[tuple[int, TemplateBlock, list[_Entry]]] = []

    def read(self, text: str) -> None:
        lines = _without_comments(text).split("\n")
        for number, line in enumerate(lines[: limits.MAX_CHART_TEMPLATE_LINES], 1):
            if line.startswith("---"):
                self.blocks.append(TemplateBlock())
                self._stack = []
                continue
            bare = line.strip()
            actions = [action_text(line[start:end]) for start, end in find_actions(line)]
            if actions and not replace_actions(bare, "").strip():
                for action in actions:
                    self._action(action, line, number)
            elif bare and not bare.startswith("#"):
                self._written(line, number, actions)

    def _action(self, action: str, line: str, number: int) -> None:
        """Read an action on a separate line: it opens or ends a block, or inserts something."""
        opening = _OPENING.match(action)
        if opening is not None:
            if len(self._scopes) >= limits.MAX_CHART_TEMPLATE_BLOCKS:
                return
            word, rest = opening.groups()
            if word == "define":
                found = _DEFINE.match(action)
                self._definitions.append((len(self._scopes), self.blocks[-1], self._stack))
                self.blocks.append(TemplateBlock(found[1] if found else ""))
                self._stack = []
            scope = self._scopes[-1] if self._scopes else None
            inner = next(iter(_value_paths(rest, scope)), None)
            self._scopes.append(inner if word == "with" else scope)
        elif action == "end" or action.startswith("end "):
            if self._scopes:
                self._scopes.pop()
            if self._definitions and self._definitions[-1][0] == len(self._scopes):
                _, block, self._stack = self._definitions.pop()
                # What follows goes on with the block before, as a new one of the same name.
                self.blocks.append(TemplateBlock(block.name))
        elif not re.match(r"else\b|/\*|\$?\w+\s*:?=", action):
            indent = _INDENT.search(action)
            width = int(indent[1]) if indent else len(line) - len(line.lstrip())
            self._pop(width, item=False)
            start, end = line.index("{{"), len(line.rstrip()) + 1
            self._add((), number, (start, end, start), "", [action])

    def _written(self, line: str, number: int, actions: list[str]) -> None:
        at = len(line) - len(line.lstrip(" "))
        while line[at : at + 2] in ("- ", "-"):
            self._pop(at, item=True)
            parent = self._stack[-1] if self._stack else None
            index = parent.items if parent is not None else 0
            if parent is not None:
                parent.items += 1
            self._stack.append(_Entry(at, index))
            at += 2
            at += len(line[at:]) - len(line[at:].lstrip(" "))
        key = _KEY.match(line, at)
        if key is None:
            if actions:
                end = len(line.rstrip()) + 1
                self._add((), number, (at, end, at), line[at:].strip(), actions)
            return
        self._pop(at, item=False)
        self._stack.append(_Entry(at, key["key"]))
        rest = line[key.end() :]
        start = key.end() + len(rest) - len(rest.lstrip())
        text = re.sub(r"(?<!\S)#.*", "", rest).strip()
        path = tuple(entry.step for entry in self._stack)
        self._add(path, number, (key.start(), key.end(), start), text, actions)

    def _add(
        self,
        path: KeyPath,
        number: int,
        columns: tuple[int, int, int],
        text: str,
        actions: list[str],
    ) -> None:
        """Add a line. ``columns``: where its key begins and ends, and its text begins, from 0."""
        action = actions[0] if actions else ""
        start, end, text_start = columns
        scope = self._scopes[-1] if self._scopes else None
        include = None if _WRITES_VALUE.search(action) else _INCLUDE.search(action)
        self.blocks[-1].lines.append(
            TemplateLine(
                path or tuple(entry.step for entry in self._stack),
                number,
                start + 1,
                end,
                text,
                text_start + 1,
                inserts=not path,
                values=_value_paths(action, scope),
                include=include[1] if include else "",
            )
        )

    def _pop(self, indent: int, *, item: bool) -> None:
        """End the entries that a line of this indentation is not in."""
        while self._stack:
            top = self._stack[-1]
            inside = top.indent < indent
            # The items of a list may stand below its key.
            if inside or (item and top.indent == indent and isinstance(top.step, str)):
                break
            self._stack.pop()


def _without_comments(text: str) -> str:
    """Return the text without the template's comments; every line stays where it is."""
    parts, at = [], 0
    for start, end in find_actions(text):
        if action_text(text[start:end]).startswith("/*"):
            parts += [text[at:start], "\n" * text.count("\n", start, end)]
            at = end
    return "".join([*parts, text[at:]])


def read_template(text: str) -> list[TemplateBlock]:
    """Return the documents and definitions of a template."""
    reader = _Reader()
    reader.read(text)
    return [block for block in reader.blocks if block.lines]


def _value_paths(action: str, scope: ValuePath | None) -> tuple[ValuePath, ...]:
    """Return the values that an action reads: those that it names, or a part of its block."""
    text = _INDEXED.sub(
        lambda found: ".Values." + ".".join(re.findall(r'"([\w-]+)"', found[1])), action
    )
    text = _TEXT.sub('""', text)
    while (shorter := _BRACKETS.sub(lambda found: found[1].strip(), text)) != text:
        text = shorter
    named = [tuple(found[1].split(".")[1:]) for found in _VALUES.finditer(text)]
    if scope is not None and not named:
        relative = re.search(r"(?:^|[\s(])\.((?:\w+(?:\.\w+)*)?)(?=$|[\s)|])", text)
        if relative is not None:
            named.append((*scope, *filter(None, relative[1].split("."))))
    return tuple(dict.fromkeys(named))
