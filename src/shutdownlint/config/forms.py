"""Common parts of the user's files: reading, durations, descriptions of mistakes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)

from shutdownlint import files, limits
from shutdownlint.config import ConfigError
from shutdownlint.config.positions import KeyPath, key_lines, line_of
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.durations import go_duration
from shutdownlint.wording import did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_core import ErrorDetails


def _duration(value: Any) -> timedelta:
    if not isinstance(value, str):
        raise ValueError("must be a duration with a unit, such as '10s'")
    duration = go_duration(value)
    if duration < timedelta(0):
        raise ValueError("must not be negative")
    return duration


#: A pattern with * and ?; matching a longer one could take long.
PatternText = Annotated[str, Field(max_length=limits.MAX_PATTERN_LENGTH)]
OPTIONAL_TEXT: Final = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})
#: A duration with a unit, such as '10s'.
DurationText = Annotated[timedelta | None, BeforeValidator(_duration), OPTIONAL_TEXT]


class Form(BaseModel):
    """A table of a file; its keys are written with hyphens."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
        alias_generator=lambda name: name.replace("_", "-"),
    )


_IS_TYPE: Final = lazy_pattern(r"bool$|list\[")
_Form = TypeVar("_Form", bound=Form)
_REASONS: Final = {
    "extra_forbidden": "is not a setting",
    "missing": "is missing",
    "list_type": "must be a list",
    "string_type": "must be a string in quotes",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a table",
    "model_type": "must be a table",
}


@dataclass(frozen=True)
class TomlFile:
    """The tables of a file of the user, and its text for the lines of mistakes.

    ``table`` is the table that is read: not the whole file in pyproject.toml.
    """

    path: Path
    text: str
    data: dict[str, Any]
    table: KeyPath = ()

    def place(self, key: KeyPath) -> str:
        """Return the file, with the line of a key where it can be found."""
        line = line_of(self._lines, (*self.table, *key))
        return f"{self.path}:{line}" if line else str(self.path)

    @cached_property
    def _lines(self) -> dict[KeyPath, int]:
        return key_lines(self.text)


def read_toml(path: Path, table: tuple[str, ...] = ()) -> TomlFile:
    """Return a file of the user, or a table of it. Raises ``ConfigError``."""
    try:
        if files.size_of(path) > limits.MAX_CONFIGURATION_BYTES:
            raise ConfigError(f"{path}: larger than {limits.MAX_CONFIGURATION_BYTES:,} bytes")
        text = files.read_text(path)
        data = tomllib.loads(text)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except ValueError as error:  # of the encoding, of TOML, of a number of 5,000 digits
        raise ConfigError(f"{path}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: it is nested too deep") from None
    for key in table:
        data = data.get(key, {})
        if not isinstance(data, dict):
            raise ConfigError(f"{path}: {'.'.join(table)}: must be a table")
    return TomlFile(path, text, data, table)


def read_form(form: type[_Form], file: TomlFile) -> _Form:
    """Read the tables of a file as a form. Raises ``ConfigError`` with the line of each mistake."""
    try:
        return form.model_validate(file.data)
    except ValidationError as error:
        found = [_without_types(problem) for problem in error.errors(include_url=False)]
        inside = {problem["loc"][0] for problem in found if len(problem["loc"]) > 1}
        # What is wrong inside a table says more than that it is not another type.
        own = [p for p in found if len(p["loc"]) > 1 or p["loc"][0] not in inside]
        first = own[: limits.MAX_SUGGESTIONS]
        problems = list(dict.fromkeys(_describe(problem, form, file) for problem in first))
        if len(own) > len(first):
            problems.append(f"and {len(own) - len(first):,} more")
        raise ConfigError("; ".join(problems)) from None


def _without_types(problem: ErrorDetails) -> ErrorDetails:
    """Return a problem without the types that a place may have, which are parts of its key."""
    steps = (s for s in problem["loc"] if isinstance(s, int) or not _IS_TYPE.match(s))
    return {**problem, "loc": tuple(steps)}


def _describe(problem: ErrorDetails, form: type[Form], file: TomlFile) -> str:
    key = problem["loc"]
    reason = _REASONS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
    if problem["type"] == "extra_forbidden":
        reason += did_you_mean(str(key[-1]), _keys_beside(form, key))
    return f"{file.place(key)}: {'.'.join(map(str, key))}: {reason}"


def _keys_beside(form: type[Form], key: KeyPath) -> list[str]:
    """Return the keys that a table of a form has, by the path of one in it."""
    for step in key[:-1]:
        if isinstance(step, str):
            fields = {field.alias: field.annotation for field in form.model_fields.values()}
            inner = next(iter(forms_in(fields.get(step))), None)
            if inner is None:
                return []
            form = inner
    return [str(field.alias) for field in form.model_fields.values()]


def forms_in(annotation: Any) -> list[type[Form]]:
    """Return the forms that a type names: of a table, or of the entries of a list."""
    if isinstance(annotation, type) and issubclass(annotation, Form):
        return [annotation]
    return [form for part in get_args(annotation) for form in forms_in(part)]
