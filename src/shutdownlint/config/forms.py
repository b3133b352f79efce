"""What the files of the user have in common: durations, and how mistakes are described."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from shutdownlint.platforms.durations import go_duration

if TYPE_CHECKING:
    from pydantic import ValidationError


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


def describe_problems(error: ValidationError) -> str:
    """What is wrong, key by key."""
    problems = []
    for problem in error.errors(include_url=False):
        key = ".".join(str(step) for step in problem["loc"])
        reason = _REASONS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
        problems.append(f"{key}: {reason}")
    return "; ".join(problems)
