"""The objects that an ApplyConfiguration of a policy writes down, where nothing is computed.

``Object{spec: Object.spec{terminationGracePeriodSeconds: 60}}`` is data; an expression with
variables, calls or operators is not. Source: Kubernetes' documentation of MutatingAdmissionPolicy.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from shutdownlint import limits
from shutdownlint.numbers import read_whole
from shutdownlint.patterns import lazy_pattern

if TYPE_CHECKING:
    import re

_TOKEN: Final = lazy_pattern(
    r"""\s*(?:(?P<type>Object(?:\.\w+)*)\s*\{|(?P<name>[A-Za-z_]\w*)\s*:|(?P<number>-?[0-9]{1,18})(?![\w.])"""
    r"""|(?P<word>true|false)\b|(?P<text>"(?:[^"\\]|\\["\\n])*"|'(?:[^'\\"]|\\['\\n])*')\s*(?P<key>:)?"""
    r"""|(?P<mark>[{}\[\],]))"""
)


def read_object(expression: str) -> dict[str, Any]:
    """Return the object that an expression writes down. Raises ``ValueError``."""
    reader = _Reader(expression)
    found = reader.value("Object", 0)
    if not isinstance(found, dict) or expression[reader.at :].strip():
        raise ValueError(expression)
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def value(self, type_name: str, depth: int) -> Any:
        """Return the value that comes next; an object has to be of that type."""
        token = self._next()
        if depth > limits.MAX_POLICY_OBJECT_DEPTH or token["type"] not in (None, type_name):
            raise ValueError(self.text)
        if token["type"] or token["mark"] == "{":
            return self._mapping(type_name, depth)
        if token["mark"] == "[":
            return self._list(type_name, depth)
        if token["number"]:
            number = read_whole(token["number"].removeprefix("-"), 18)
            if number is None:
                raise ValueError(self.text)
            return -number if token["number"].startswith("-") else number
        if token["word"]:
            return token["word"] == "true"
        if token["text"] and not token["key"]:
            return _unquote(token["text"])
        raise ValueError(self.text)

    def _mapping(self, type_name: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self._ends("}"):
            token = self._next()
            if token["name"]:
                name = token["name"]
            elif token["key"]:
                name = _unquote(token["text"])
            else:
                raise ValueError(self.text)
            found[name] = self.value(f"{type_name}.{name}", depth + 1)
            self._separator("}")
        return found

    def _list(self, type_name: str, depth: int) -> list[Any]:
        found = []
        while not self._ends("]"):
            found.append(self.value(type_name, depth + 1))
            self._separator("]")
        return found

    def _next(self) -> re.Match[str]:
        token = _TOKEN.match(self.text, self.at)
        if token is None:
            raise ValueError(self.text)
        self.at = token.end()
        return token

    def _ends(self, mark: str) -> bool:
        token = _TOKEN.match(self.text, self.at)
        if token is not None and token["mark"] == mark:
            self.at = token.end()
            return True
        return False

    def _separator(self, closing: str) -> None:
        token = _TOKEN.match(self.text, self.at)
        if token is not None and token["mark"] == ",":
            self.at = token.end()
        elif token is None or token["mark"] != closing:
            raise ValueError(self.text)


def _unquote(text: str) -> str:
    inner = text[1:-1].replace("\\'", "'") if text.startswith("'") else text[1:-1]
    found: str = json.loads(f'"{inner}"')
    return found
