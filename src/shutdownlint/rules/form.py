"""The form of a rule file."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from shutdownlint.platforms.versions import Range
from shutdownlint.rules.finding import Severity
from shutdownlint.rules.vocabulary import Target


def _range(value: Any) -> Any:
    return Range.parse(value) if isinstance(value, str) else value


Versions = Annotated[Range, BeforeValidator(_range)]


class Form(BaseModel):
    """A part of a rule file: nothing that is not described is allowed."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Since(Form):
    """The versions a rule holds for."""

    kubernetes: Versions | None = None
    istio: Versions | None = None


class Fix(Form):
    """What to write instead, in words."""

    words: str


class Options(Form):
    """How an example is to be read."""

    p99: str | None = None
    kubernetes: str | None = None
    istio: str | None = None


class Example(Form):
    """A manifest on which the rule fires, at the line marked with its id, and its mended form."""

    bad: str
    good: str
    options: Options = Field(default_factory=Options)


class RuleForm(Form):
    """One rule file."""

    id: Annotated[str, Field(pattern=r"^[A-Z]{2,8}[0-9]{3}$")]
    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")]
    severity: Severity
    target: Target = Field(alias="for")
    when: str
    at: str | None = None
    message: str
    fix: Fix | None = None
    since: Since = Field(default_factory=Since)
    sources: list[str] = Field(min_length=1)
    explanation: str
    examples: list[Example] = Field(default_factory=list)
