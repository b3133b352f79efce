"""The form of a rule file."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from shutdownlint.engine.fields import SubjectKind
from shutdownlint.engine.finding import Severity
from shutdownlint.platforms.versions import Range


def _range(value: Any) -> Any:
    return Range.parse(value) if isinstance(value, str) else value


Versions = Annotated[Range, BeforeValidator(_range), WithJsonSchema({"type": "string"})]


class SchemaModel(BaseModel):
    """A part of a rule file: nothing that is not described is allowed."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Since(SchemaModel):
    """The versions a rule holds for."""

    kubernetes: Versions | None = Field(default=None, description="Such as '>=1.29,<1.33'.")
    istio: Versions | None = Field(default=None, description="Such as '>=1.27'.")


class EditSchema(SchemaModel):
    """One edit of a fix: what it does to a setting, or to the place of the finding (``here``).

    ``to`` is an expression over the rule's fields; ``if`` a condition without which it is left out.
    """

    set: str | None = Field(default=None, description="The setting that gets a value.")
    remove: str | None = Field(default=None, description="The setting that is taken out.")
    rename: str | None = Field(default=None, description="The key that gets another name.")
    quote: str | None = Field(default=None, description="The value that is put in quotes.")
    to: str | None = Field(default=None, description="CEL: the new value, or the new name.")
    condition: str | None = Field(
        default=None, alias="if", description="CEL: the edit is left out where this is false."
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        actions = [self.set, self.remove, self.rename, self.quote]
        if sum(action is not None for action in actions) != 1:
            raise ValueError("is one of set, remove, rename and quote")
        if (self.set is not None or self.rename is not None) is not (self.to is not None):
            raise ValueError("'to' belongs to set and rename, and to nothing else")
        return self


class Fix(SchemaModel):
    """What to write instead: in words, and as edits where those are certain to be right.

    Safe edits only improve what the pod does; unsafe ones change it.
    """

    words: str = Field(description="What to do; {names} are filled in as in the message.")
    edits: list[EditSchema] = Field(default_factory=list)
    safety: Literal["safe", "unsafe"] | None = Field(
        default=None, description="Whether --fix makes the edits, or only --unsafe-fixes."
    )

    @model_validator(mode="after")
    def _told(self) -> Self:
        if bool(self.edits) is not (self.safety is not None):
            raise ValueError("safety is said of fixes with edits")
        return self


class Options(SchemaModel):
    """How an example is to be read."""

    p99: str | None = Field(default=None, description="A duration, such as '10s'.")
    kubernetes: str | None = Field(default=None, description="A version, such as '1.33'.")
    istio: str | None = Field(default=None, description="A version, such as '1.27'.")


class Example(SchemaModel):
    """A manifest on which the rule fires, at the line marked with its id, and its mended form."""

    bad: str = Field(description="The rule fires on each line that ends in '# ' and its id.")
    good: str = Field(description="The rule is silent.")
    options: Options = Field(default_factory=Options)


class RuleSchema(SchemaModel):
    """One rule file."""

    id: str = Field(
        pattern=r"^[A-Z]{2,8}[0-9]{3}$",
        description="Letters of your own and three digits, such as ORG001.",
    )
    name: str = Field(
        pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", description="A few words joined by hyphens."
    )
    severity: Severity = Field(
        description="error: certain; warning: loss under ordinary traffic; note: advice."
    )
    target: SubjectKind = Field(alias="for", description="What the condition is asked of.")
    when: str = Field(
        description="The condition, in CEL, over the vocabulary of what it is asked of: "
        "preStop < duration('15s')."
    )
    at: str | None = Field(
        default=None,
        description="The setting whose place is shown; the object itself where none is named.",
    )
    message: str = Field(description="What is wrong, with {names} of the vocabulary filled in.")
    fix: Fix | None = None
    since: Since = Field(default_factory=Since)
    sources: list[str] = Field(
        default_factory=list, description="Where each fact comes from, with its version."
    )
    explanation: str = Field(default="", description="Why, as Markdown.")
    examples: list[Example] = Field(default_factory=list)
