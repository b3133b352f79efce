"""From text to YAML nodes with marks: libyaml, a depth guard, and go-yaml's leniency.

PyYAML's C parser composes; its tag resolution (regular expressions in Python, half of the
time) is replaced by a constant, since only the scalars that matter are ever resolved, by
``scalars``.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from shutdownlint import limits
from shutdownlint.library_imports import compiled_when_used
from shutdownlint.numbers import read_hex
from shutdownlint.patterns import lazy_pattern
from shutdownlint.yaml_source.scalars import UNTAGGED

# Its patterns are for the parser in Python; compiling them takes longer than a small file.
with compiled_when_used():
    import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from yaml.nodes import Node

try:
    from yaml.cyaml import CParser as _FastParser  # type: ignore[attr-defined]
except ImportError:  # PyYAML built without libyaml: slower, the same nodes
    _FastParser = None  # type: ignore[assignment, misc]

#: With fewer brackets, and less before the first word of any line, no text nests that deep: a level
#: is a bracket, or begins at a column where at most one other level begins.
_SAFE_BRACKETS: Final = 250
_DEEP_INDENT: Final = " " * 100
_TOO_DEEP: Final = f"nested deeper than {limits.MAX_NESTING} levels"
#: Two escapes of JSON for one character, behind backslashes that are escaped themselves.
_PAIR: Final = lazy_pattern(
    r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})"
)
_LONE: Final = lazy_pattern(r"(?<!\\)((?:\\\\)*)\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
#: Replaces such a pair while the text is parsed; the character's number follows.
_STAND_IN: Final = "\ue000"
_STOOD_IN: Final = lazy_pattern("\ue000([0-9a-f]{11})")
#: libyaml's own limit, from 0.2.6 on, is 1,000 levels. It scans ahead, so it may come first.
_LIBYAML_TOO_DEEP: Final = "exceeded maximum nesting depth"


class ComposeError(Exception):
    """Text that is not YAML. ``line`` and ``column`` count from 1, within the given text.

    ``construct`` is what was being parsed, such as "a block mapping", and ``began`` its first line;
    where that is not known they are empty and 0.
    """

    def __init__(
        self, reason: str, line: int, column: int, construct: str = "", began: int = 0
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column
        self.construct = construct
        self.began = began


class _TooDeepError(Exception):
    pass


class _NoResolver:
    """Replaces the resolver of PyYAML."""

    def resolve(self, _kind: object, _value: object, _implicit: object) -> str:
        return UNTAGGED

    # Called for every node of every file: these do nothing, at the price of nothing.
    descend_resolver: Any = operator.is_
    ascend_resolver: Any = tuple


class _DepthGuard(_NoResolver):
    """Counts the depth as well."""

    depth = 0

    def descend_resolver(self, _parent: object, _index: object) -> None:
        self.depth += 1
        if self.depth > limits.MAX_NESTING:
            raise _TooDeepError

    def ascend_resolver(self) -> None:
        self.depth -= 1


class _LenientComposer(Reader, Scanner, Parser, Composer, _DepthGuard):
    """Pure Python; takes an anchor that is defined twice, as go-yaml does."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        anchor = getattr(event, "anchor", None)
        if anchor is not None and not isinstance(event, yaml.AliasEvent):
            self.anchors.pop(anchor, None)
        return super().compose_node(parent, index)


if _FastParser is None:
    _Composer: type[Any] = _LenientComposer
    _DeepComposer: type[Any] = _LenientComposer
else:

    class _FastComposer(_FastParser, _NoResolver):
        def __init__(self, text: str) -> None:
            _FastParser.__init__(self, text)

    class _FastDeepComposer(_FastParser, _DepthGuard):
        def __init__(self, text: str) -> None:
            _FastParser.__init__(self, text)

    _Composer, _DeepComposer = _FastComposer, _FastDeepComposer


def compose(text: str) -> list[Node]:
    """Return the root nodes of all documents in ``text`` (empty documents have none).

    JSON may write a character beyond 16 bits as two escapes, which YAML may not: kubectl reads a
    text that begins with a brace as JSON. Raises ``ComposeError`` for anything that is not YAML or
    nests too deep.
    """
    if "\\ud" in text.lower() and text.lstrip().startswith("{") and _STAND_IN not in text:
        # One alone is no character: Go reads U+FFFD instead.
        joined = _LONE.sub(r"\1\\ufffd", _PAIR.sub(_stand_in, text))
        if joined != text:
            roots = _compose(joined)
            for root in roots:
                _restore(root)
            return roots
    return _compose(text)


def _stand_in(found: re.Match[str]) -> str:
    """Return as many characters for a pair of escapes, so that everything stays in its place."""
    high, low = read_hex(found[2]), read_hex(found[3])
    number = 0x10000 + ((high & 0x3FF) << 10) + (low & 0x3FF)
    return f"{found[1]}{_STAND_IN}{number:011x}"


def _restore(root: Node) -> None:
    """Put the characters into the scalars and keys below a node."""
    stack, seen = [root], set[int]()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            stack += [each for pair in node.value for each in pair]
        elif isinstance(node, yaml.SequenceNode):
            stack += node.value
        elif _STAND_IN in node.value:
            node.value = _STOOD_IN.sub(lambda found: chr(read_hex(found[1])), node.value)


def _compose(text: str) -> list[Node]:
    try:
        return list(_nodes(_DeepComposer(text) if _may_nest_deep(text) else _Composer(text)))
    except yaml.MarkedYAMLError as error:
        if error.problem is None or "duplicate anchor" not in str(error):
            raise _located(error) from None
        try:
            return list(_nodes(_LenientComposer(text)))
        except yaml.MarkedYAMLError as second:
            raise _located(second) from None
    except yaml.reader.ReaderError as error:
        line, column = _line_of(text, error.position)
        reason = f"the character {_shown(error.character)} is not allowed in YAML"
        raise ComposeError(reason, line, column) from None
    except (_TooDeepError, RecursionError):
        raise ComposeError(_TOO_DEEP, 1, 1) from None


def _may_nest_deep(text: str) -> bool:
    """Whether the depth has to be counted. Quick, and sure where it says no."""
    if text.count("[") + text.count("{") > _SAFE_BRACKETS:
        return True
    indents = text.replace("-", " ").replace("?", " ").replace(":", " ").replace("\t", " ")
    return _DEEP_INDENT in indents


def _nodes(composer: Any) -> Iterator[Node]:
    try:
        while composer.check_node():
            yield composer.get_node()
    finally:
        dispose = getattr(composer, "dispose", None)
        if dispose is not None:
            dispose()


def _located(error: yaml.MarkedYAMLError) -> ComposeError:
    mark = error.problem_mark or error.context_mark
    reason = error.problem or error.context or "not YAML"
    if reason == _LIBYAML_TOO_DEEP:
        reason = _TOO_DEEP
    if mark is None:
        return ComposeError(reason, 1, 1)
    construct = (error.context or "").removeprefix("while parsing ").removeprefix("while scanning ")
    began = error.context_mark
    if not error.problem or began is None or not construct.startswith(("a ", "an ")):
        return ComposeError(reason, mark.line + 1, mark.column + 1)
    return ComposeError(reason, mark.line + 1, mark.column + 1, construct, began.line + 1)


def _shown(character: object) -> str:
    code = ord(character) if isinstance(character, str) and len(character) == 1 else character
    return f"U+{code:04X}" if isinstance(code, int) else repr(character)


def _line_of(text: str, position: int) -> tuple[int, int]:
    before = text[:position]
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
