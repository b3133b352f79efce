"""Conditions: the Common Expression Language behind a small interface of our own.

Google's engine (cel-cpp) checks types when a rule is loaded; where it cannot be imported (it has
no wheel for musl), cel-python serves, which finds such mistakes only when a rule is evaluated.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.engine.plain_expressions import plain_expression
from shutdownlint.numbers import clip_whole
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.fields import FieldType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shutdownlint.engine.plain_expressions import Evaluate
    from shutdownlint.platforms.fields import Value


class ExpressionError(Exception):
    """A condition that cannot be compiled or evaluated. ``line`` counts within it, from 1."""

    def __init__(self, reason: str, line: int = 1, column: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


class Expression(ABC):
    """A compiled expression."""

    @abstractmethod
    def value(self, values: Mapping[str, Value]) -> Value:
        """Evaluate it. Raises ``ExpressionError``."""


class Condition:
    """A compiled expression that is true or false."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Evaluate it. Raises ``ExpressionError``."""
        result = self.expression.value(values)
        if not isinstance(result, bool):
            raise ExpressionError("a condition must be true or false")
        return result


class Compiler:
    """Compiles expressions over these fields.

    An environment of the engine costs as much as twenty expressions, so all share one.
    """

    def __init__(self, fields: Mapping[str, FieldType]) -> None:
        self._fields = fields
        self._environment: Any = None

    def expression(self, text: str) -> Expression:
        """Compile an expression. Raises ``ExpressionError``."""
        try:
            from cel_expr_python import cel  # noqa: PLC0415 - only when rules are evaluated
        except ImportError:
            return _Portable(text, self._fields)
        if self._environment is None:
            self._environment = _environment(self._fields, cel)
        return _Google(text, self._environment, cel)

    def condition(self, text: str) -> Condition:
        """Compile a condition. Raises ``ExpressionError``."""
        expression = self.expression(text)
        if isinstance(expression, _Google):
            expression.must_be_bool()
        return Condition(expression)


class _Plain(Expression):
    """An expression that needs no engine."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate

    def value(self, values: Mapping[str, Value]) -> Value:
        try:
            found: Value = self._evaluate(values)
        except (OverflowError, TypeError) as error:
            raise ExpressionError(str(error)) from None
        return found


def without_engine(text: str, fields: Mapping[str, FieldType]) -> Expression | None:
    """Return an expression of a checked rule, if it needs no engine."""
    evaluate = plain_expression(text, fields)
    return _Plain(evaluate) if evaluate is not None else None


def _environment(fields: Mapping[str, FieldType], cel: Any) -> Any:
    types = {
        FieldType.DURATION: cel.Type.DURATION,
        FieldType.BOOL: cel.Type.BOOL,
        FieldType.INT: cel.Type.INT,
        FieldType.STRING: cel.Type.STRING,
        FieldType.STRINGS: cel.Type.List(cel.Type.STRING),
    }
    return cel.NewEnv(variables={name: types[of_type] for name, of_type in fields.items()})


_MOST_LINES: Final = 10**6
_POSITION = lazy_pattern(r"<input>:(\d+):(\d+): (.*)")


class _Google(Expression):
    def __init__(self, text: str, environment: Any, cel: Any) -> None:
        self.cel = cel
        try:
            self.expression = environment.compile(text)
        except RuntimeError as error:
            raise _google_error(str(error)) from None

    def must_be_bool(self) -> None:
        """Raise ``ExpressionError`` if the expression is not of type bool."""
        if self.expression.return_type() != self.cel.Type.BOOL:
            kind = self.expression.return_type().name().lower()
            raise ExpressionError(f"a condition must be true or false, this is a {kind}")

    def value(self, values: Mapping[str, Value]) -> Value:
        try:
            # It takes lists only; tuples are what can be looked up.
            data = {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}
            result = self.expression.eval(data=data)
        except (RuntimeError, TypeError, ValueError) as error:
            raise ExpressionError(str(error)) from None
        if result.type() == self.cel.Type.ERROR:
            raise ExpressionError(str(result.value()))
        found: Value = result.value()
        return found


def _google_error(text: str) -> ExpressionError:
    found = _POSITION.search(text)
    if found is None:
        return ExpressionError(text.splitlines()[0])
    reason = found.group(3).replace(" (in container '')", "")
    return ExpressionError(reason, *(clip_whole(found.group(n), _MOST_LINES) for n in (1, 2)))


class _Portable(Expression):
    def __init__(self, text: str, fields: Mapping[str, FieldType]) -> None:
        import celpy  # noqa: PLC0415 - heavy, and only where the other engine is missing
        from celpy import celtypes  # noqa: PLC0415 - the same

        self.types = celtypes
        iterated = set(_ITERATED.findall(text))
        for name in identifiers(text) - iterated:
            if name not in fields and name not in _CEL_WORDS:
                raise ExpressionError(f"undeclared reference to '{name}'")
        try:
            environment = celpy.Environment()
            self.program = environment.program(environment.compile(text))
        except Exception as error:
            line, column = getattr(error, "line", 1) or 1, getattr(error, "column", 1) or 1
            raise ExpressionError(str(error.args[0]), line, column) from None

    def value(self, values: Mapping[str, Value]) -> Value:
        converted = {name: self._cel(value) for name, value in values.items()}
        try:
            result = self.program.evaluate(converted)
        except Exception as error:
            raise ExpressionError(str(error.args[0] if error.args else error)) from None
        if isinstance(result, bool | self.types.BoolType):
            return bool(result)
        if isinstance(result, timedelta):
            return timedelta(seconds=result.total_seconds())
        return int(result) if isinstance(result, int) else str(result)

    def _cel(self, value: Value) -> Any:
        if isinstance(value, timedelta):
            return self.types.DurationType(value)
        if isinstance(value, bool):
            return self.types.BoolType(value)
        if isinstance(value, int):
            return self.types.IntType(value)
        if isinstance(value, str):
            return self.types.StringType(value)
        return self.types.ListType([self.types.StringType(item) for item in value])


_CEL_WORDS = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "duration",
        "size",
        "string",
        "int",
        "bool",
        "matches",
        "contains",
        "startsWith",
        "endsWith",
        "exists",
        "all",
        "filter",
        "map",
        "exists_one",
        "has",
    ]
)
_ITERATED = lazy_pattern(r"\.(?:exists|exists_one|all|filter|map)\(\s*(\w+)\s*,")
_STRING = lazy_pattern(r"'(?:\\.|[^'\\])*+(?:'|\Z)|\"(?:\\.|[^\"\\])*+(?:\"|\Z)")


def identifiers(text: str) -> set[str]:
    """Return the names that a condition mentions, strings left out."""
    return set(re.findall(r"[A-Za-z_]\w*", _STRING.sub("''", text)))


_TOKEN: Final = lazy_pattern(
    r"""'(?:\\.|[^'\\])*+(?:'|\Z)|"(?:\\.|[^"\\])*+(?:"|\Z)|&&|\|\||[()\[\]{}?]"""
)


def split_conjunction(text: str) -> list[str]:
    """Return the parts of a condition that all must hold: ``a && (b || c)`` has two."""
    parts, start, depth = [], 0, 0
    for token in _TOKEN.finditer(text):
        match token.group():
            case "(" | "[" | "{":
                depth += 1
            case ")" | "]" | "}":
                depth -= 1
            case "||" | "?" if depth == 0:
                return [text]  # it binds less than &&
            case "&&" if depth == 0:
                parts.append(text[start : token.start()].strip())
                start = token.end()
            case _:
                pass
    return [*parts, text[start:].strip()]
