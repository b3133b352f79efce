"""What the files of the user have in common: reading, durations, how mistakes are described."""

from __future__ import annotations

import tomllib
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema

from shutdownlint import limits
from shutdownlint.config import ConfigError
from shutdownlint.platforms.durations import go_duration

if TYPE_CHECKING:
    from pathlib import Path


def _duration(value: Any) -> timedelta:
    if not isinstance(value, str):
        raise ValueError("must be a duration with a unit, such as '10s'")
    duration = go_duration(value)
    if duration < timedelta(0):
        raise ValueError("must not be negative")
    return duration


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


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a file of the user. Raises ``ConfigError``."""
    try:
        if path.stat().st_size > limits.MAX_CONFIGURATION_BYTES:
            raise ConfigError(f"{path}: larger than {limits.MAX_CONFIGURATION_BYTES:,} bytes")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except ValueError as error:  # of the encoding, of TOML, of a number of 5,000 digits
        raise ConfigError(f"{path}: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: it is nested too deep") from None


def read_form(form: type[_Form], data: dict[str, Any], path: Path) -> _Form:
    """The data of that file as a form. Raises ``ConfigError``."""
    try:
        return form.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{path}: {_describe_problems(error)}") from None


def _describe_problems(error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_url=False):
        key = ".".join(str(step) for step in problem["loc"])
        reason = _REASONS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
        problems.append(f"{key}: {reason}")
    return "; ".join(problems)
