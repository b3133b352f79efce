"""The part of the Common Expression Language that nearly all rules keep to, without its engine.

Loading the engine and compiling some expressions with it takes a tenth of the time of a small run.
What is read here has been checked by the engine when the rule was loaded, so there are no mistakes
to report; what this module does not know is left to the engine.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.numbers import read_whole
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.fields import FieldType

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from shutdownlint.platforms.fields import Value

    #: The function that evaluates an expression for the values of its names.
    Evaluate = Callable[[Mapping[str, Any]], Any]

#: Longer expressions are left to the engine, so that none nests deeply here.
_MAX_TOKENS: Final = 100
_TOKEN: Final = lazy_pattern(
    r"([A-Za-z_]\w*)|('[^'\\]*')|([0-9]{1,9}(?![\w.]))|(&&|\|\||==|!=|<=|>=|[<>!+\-()\[\],.])|(\S)"
)
_RELATIONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_END: Final = ""


def plain_expression(text: str, fields: Mapping[str, FieldType]) -> Evaluate | None:
    """Return the evaluator of an expression over these fields; None if that needs the engine."""
    tokens = []
    for token in _TOKEN.finditer(text):
        if token.group(5) is not None:
            return None
        tokens.append(token.group())
    if not 0 < len(tokens) <= _MAX_TOKENS:
        return None
    parser = _Parser(tokens, fields)
    try:
        evaluate = parser.read_any()
    except _NotPlainError:
        return None
    return evaluate if parser.token == _END else None


class _NotPlainError(Exception):
    pass


class _Parser:
    """Reads tokens, one method for each level of precedence, the weakest first."""

    def __init__(self, tokens: list[str], fields: Mapping[str, FieldType]) -> None:
        self._tokens = iter(tokens)
        self._fields = dict(fields)
        self.token = next(self._tokens, _END)

    def _next(self) -> str:
        """Return the token that is read now; the one after it becomes the current one."""
        found = self.token
        self.token = next(self._tokens, _END)
        return found

    def _accept(self, *wanted: str) -> bool:
        found = self.token in wanted
        if found:
            self._next()
        return found

    def _expect(self, wanted: str) -> None:
        if not self._accept(wanted):
            raise _NotPlainError

    def read_any(self) -> Evaluate:
        """Read ``a || b``."""
        return self._read_joined("||", self._read_all, any)

    def _read_all(self) -> Evaluate:
        """Read ``a && b``."""
        return self._read_joined("&&", self._read_relation, all)

    def _read_joined(
        self, word: str, read: Callable[[], Evaluate], combine: Callable[[Iterable[Any]], bool]
    ) -> Evaluate:
        parts = [read()]
        while self._accept(word):
            parts.append(read())
        if len(parts) == 1:
            return parts[0]
        return lambda values: combine(part(values) for part in parts)

    def _read_relation(self) -> Evaluate:
        """Read ``a < b`` or ``a in b``."""
        left = self._read_sum()
        if self.token in _RELATIONS:
            compare, right = _RELATIONS[self._next()], self._read_sum()
            return lambda values: compare(left(values), right(values))
        if self._accept("in"):
            items = self._read_items()
            return lambda values: left(values) in items(values)
        return left

    def _read_items(self) -> Evaluate:
        """Read a field that is a list, or ``['a', 'b']``."""
        if not self._accept("["):
            return self._field(self._next(), (FieldType.STRINGS,))
        items = [self._string()]
        while self._accept(","):
            items.append(self._string())
        self._expect("]")
        return lambda _: items

    def _read_sum(self) -> Evaluate:
        """Read ``a + b - c``, of durations."""
        found, plain = self._read_operand()
        while self.token in ("+", "-"):
            combine = operator.add if self._next() == "+" else operator.sub
            other, other_plain = self._read_operand()
            if FieldType.DURATION not in (plain, other_plain):
                raise _NotPlainError
            found = _combined(combine, found, other)
        return found

    def _read_operand(self) -> tuple[Evaluate, FieldType | None]:
        """Read an operand, with its type where that is known."""
        token = self._next()
        if token == "!":
            if self.token == "!":  # two cancel each other, whatever the type
                raise _NotPlainError
            negated, _ = self._read_operand()
            return lambda values: not negated(values), None
        if token == "(":
            inner = self.read_any()
            self._expect(")")
            return inner, None
        if token.startswith("'"):
            return _constant(token[1:-1]), FieldType.STRING
        number = read_whole(token)
        if number is not None:
            return _constant(number), FieldType.INT
        if token in ("true", "false"):
            return _constant(token == "true"), FieldType.BOOL
        if token in ("duration", "size") and self.token == "(":
            return self._read_call(token)
        if self._accept("."):
            return self._read_method(token), FieldType.BOOL
        return self._field(token, tuple(FieldType)), self._fields[token]

    def _read_call(self, name: str) -> tuple[Evaluate, FieldType]:
        """Read ``duration('5s')`` or ``size(words)``."""
        self._expect("(")
        if name == "duration":
            text = self._string()
            if "n" in text or "u" in text or not text.isascii():
                raise _NotPlainError  # the engine counts nanoseconds, Python microseconds
            try:
                length = go_duration(text)
            except ValueError:
                raise _NotPlainError from None
            self._expect(")")
            return _constant(length), FieldType.DURATION
        items = self._field(self._next(), (FieldType.STRINGS,))
        self._expect(")")
        return lambda values: len(items(values)), FieldType.INT

    def _read_method(self, name: str) -> Evaluate:
        """Read ``text.contains('part')`` or ``words.exists(word, ...)`` behind the name."""
        method = self._next()
        self._expect("(")
        if method == "contains":
            subject, part = self._field(name, (FieldType.STRING,)), self._string()
            self._expect(")")
            return lambda values: part in subject(values)
        if method != "exists":
            raise _NotPlainError
        items, variable = self._field(name, (FieldType.STRINGS,)), self._next()
        self._expect(",")
        if variable in self._fields:
            raise _NotPlainError
        self._fields[variable] = FieldType.STRING
        holds = self.read_any()
        del self._fields[variable]
        self._expect(")")
        return lambda values: any(holds({**values, variable: item}) for item in items(values))

    def _string(self) -> str:
        token = self._next()
        if not token.startswith("'"):
            raise _NotPlainError
        return token[1:-1]

    def _field(self, name: str, types: Collection[FieldType]) -> Evaluate:
        if self._fields.get(name) not in types:
            raise _NotPlainError
        return operator.itemgetter(name)


def _combined(combine: Callable[[Any, Any], Any], left: Evaluate, right: Evaluate) -> Evaluate:
    return lambda values: combine(left(values), right(values))


def _constant(value: Value) -> Evaluate:
    return lambda _: value
