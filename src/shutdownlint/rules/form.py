"""The form of a rule file."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from shutdownlint.platforms.versions import Range
from shutdownlint.rules.finding import Severity
from shutdownlint.rules.vocabulary import Target


def _range(value: Any) -> Any:
    return Range.parse(value) if isinstance(value, str) else value


Versions = Annotated[Range, BeforeValidator(_range), WithJsonSchema({"type": "string"})]


class Form(BaseModel):
    """A part of a rule file: nothing that is not described is allowed."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Since(Form):
    """The versions a rule holds for."""

    kubernetes: Versions | None = None
    istio: Versions | None = None


class EditForm(Form):
    """One edit of a fix: what it does to a setting, or to the place of the finding (``here``).

    ``to`` is an expression over the rule's fields; ``if`` a condition without which it is left out.
    """

    set: str | None = None
    remove: str | None = None
    rename: str | None = None
    quote: str | None = None
    to: str | None = None
    condition: str | None = Field(default=None, alias="if")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        actions = [self.set, self.remove, self.rename, self.quote]
        if sum(action is not None for action in actions) != 1:
            raise ValueError("is one of set, remove, rename and quote")
        if (self.set is not None or self.rename is not None) is not (self.to is not None):
            raise ValueError("'to' belongs to set and rename, and to nothing else")
        return self


class Fix(Form):
    """What to write instead: in words, and as edits where those are certain to be right.

    Safe edits only improve what the pod does; unsafe ones change it.
    """

    words: str
    edits: list[EditForm] = Field(default_factory=list)
    safety: Literal["safe", "unsafe"] | None = None

    @model_validator(mode="after")
    def _told(self) -> Self:
        if bool(self.edits) is not (self.safety is not None):
            raise ValueError("safety is said of fixes with edits")
        return self


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
    sources: list[str] = Field(default_factory=list)
    explanation: str = ""
    examples: list[Example] = Field(default_factory=list)
