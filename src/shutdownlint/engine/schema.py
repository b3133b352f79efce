"""The form of a rule file."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from shutdownlint.engine.finding import Severity
from shutdownlint.engine.rule import headline
from shutdownlint.platforms.fields import SubjectKind
from shutdownlint.platforms.registry import PLATFORMS
from shutdownlint.platforms.versions import VersionRange
from shutdownlint.shutdown.loss import LossKind, LossMeans


def _range(value: Any) -> Any:
    return VersionRange.parse(value) if isinstance(value, str) else value


def _platform(value: Any) -> Any:
    names = [entry.name for entry in PLATFORMS]
    if value not in names:
        raise ValueError(f"{value!r} is not one of {', '.join(names)}")
    return value


Versions = Annotated[VersionRange, BeforeValidator(_range), WithJsonSchema({"type": "string"})]
PlatformName = Annotated[str, BeforeValidator(_platform)]


class SchemaModel(BaseModel):
    """A part of a rule file; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class EditSchema(SchemaModel):
    """One edit of a fix: what it does to a setting, or to the finding's location (``here``).

    ``to`` is an expression over the rule's fields; ``if`` a condition without which it is left out.
    """

    set: str | None = Field(default=None, description="The setting that gets a value.")
    remove: str | None = Field(default=None, description="The setting that is removed.")
    rename: str | None = Field(default=None, description="The key that gets another name.")
    quote: str | None = Field(default=None, description="The value that is put in quotes.")
    to: str | None = Field(default=None, description="CEL: the new value, or the new name.")
    condition: str | None = Field(
        default=None, alias="if", description="CEL: the edit is left out where this is false."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        actions = [self.set, self.remove, self.rename, self.quote]
        if sum(action is not None for action in actions) != 1:
            raise ValueError("is one of set, remove, rename and quote")
        if (self.set is not None or self.rename is not None) is not (self.to is not None):
            raise ValueError("'to' belongs to set and rename, and to nothing else")
        return self


#: Instead of edits: what ``shutdownlint suggest`` would change in the pod.
SOLUTION: Final = "solution"


class FixSchema(SchemaModel):
    """The replacement to write: as text, and as edits where those are certain to be right.

    Safe edits only improve what the pod does; unsafe ones change it.
    """

    description: str = Field(
        description="What to do; {names} are filled in as in the message.",
    )
    edits: list[EditSchema] | Literal["solution"] = Field(
        default_factory=list,
        description="The edits; 'solution': the smallest set of changes to the pod with which "
        "every request is served, which is what 'shutdownlint suggest' writes.",
    )
    safety: Literal["safe", "unsafe"] | None = Field(
        default=None, description="Whether --fix makes the edits, or only --unsafe-fixes."
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if bool(self.edits) is not (self.safety is not None):
            raise ValueError("'safety' is required with edits, and only with them")
        return self


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


_Role = Literal["app", "proxy", "edge", "helper", "member", "sender"]
_Length = Literal["stated", "usual", "unknown"]
_Kinds = Annotated[list[LossKind], BeforeValidator(_as_list, LossKind | list[LossKind])]
_Means = Annotated[list[LossMeans], BeforeValidator(_as_list, LossMeans | list[LossMeans])]
_Roles = Annotated[list[_Role], BeforeValidator(_as_list, _Role | list[_Role])]
_Lengths = Annotated[list[_Length], BeforeValidator(_as_list, _Length | list[_Length])]


class LossSchema(SchemaModel):
    """The losses that a rule reports: one value, or a list; a key that is left out selects any."""

    kind: _Kinds = Field(default_factory=list, description="What is lost.")
    by: _Means = Field(default_factory=list, description="By what it is lost.")
    role: _Roles = Field(default_factory=list, description="What loses it.")
    length: _Lengths = Field(
        default_factory=list,
        description="What is known of how long the requests take: somebody states it, it is usual "
        "for the program, or unknown.",
    )


class Options(BaseModel):
    """The user's options in an example; a platform's name as a key gives its version."""

    model_config = ConfigDict(extra="allow", frozen=True)
    __pydantic_extra__: dict[str, str]

    p99: str | None = Field(default=None, description="A duration, such as '10s'.")
    propagation: str | None = Field(default=None, description="A duration, such as '5s'.")
    mesh: list[str] = Field(
        default_factory=list, description="Meshes as --mesh takes them: 'linkerd=2.18'."
    )

    @property
    def versions(self) -> dict[str, str]:
        """Versions by platform."""
        return dict(self.__pydantic_extra__)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in self.versions:
            _platform(name)
        return self


class Example(SchemaModel):
    """A manifest for which the rule reports the marked lines, and its fixed form."""

    bad: str = Field(description="The rule reports each line that ends in '# ' and its id.")
    good: str = Field(description="The rule reports nothing.")
    options: Options | None = None


class RuleSchema(SchemaModel):
    """One rule file."""

    id: str = Field(
        pattern=r"^[A-Z]{2,8}[0-9]{3}$",
        description="Letters of your own and three digits, such as ORG001.",
    )
    name: str = Field(
        pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", description="A few words joined by hyphens."
    )
    title: str = Field(
        default="",
        description="What is wrong in general, as a short sentence for lists; no full stop.",
    )
    severity: Severity = Field(
        description="error: certain; warning: loss under ordinary traffic; note: advice."
    )
    subject: SubjectKind = Field(alias="for", description="What the condition is evaluated for.")
    problem: str | None = Field(
        default=None, description="With 'for: problem': the kind of problem that is reported."
    )
    loss: (
        Annotated[list[LossSchema], BeforeValidator(_as_list, LossSchema | list[LossSchema])] | None
    ) = Field(
        default=None,
        description="With 'for: loss': which losses are reported; of several entries any.",
    )
    when: str | None = Field(
        default=None,
        description="The condition, in CEL, over the fields of the subject: "
        "preStop < duration('15s'). Not needed with 'for: problem' and 'for: loss'.",
    )
    at: str | None = Field(
        default=None,
        description="The setting whose location is reported; the object itself by default.",
    )
    message: str = Field(description="What is wrong, with {names} of fields filled in.")
    fix: FixSchema | None = None
    rejects: bool = Field(
        default=False,
        description="Whether the pod is never created: the API server or a webhook rejects it.",
    )
    values: bool = Field(
        default=False,
        description="Whether it also holds for the values of charts, by their usual names. Rules "
        "that have 'rejects' do.",
    )
    versions: dict[PlatformName, Versions] = Field(
        default_factory=dict,
        description="The versions that the rule holds for, by platform: {PLATFORM: '>=1.27'}.",
    )
    sources: list[str] = Field(
        default_factory=list, description="Where each fact comes from, with its version."
    )
    explanation: str = Field(default="", description="Why, as Markdown.")
    examples: list[Example] = Field(default_factory=list)

    @property
    def headline(self) -> str:
        """The title; the words of the name where it has none."""
        return headline(self.title, self.name)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.subject is SubjectKind.PROBLEM) is not (self.problem is not None):
            raise ValueError("'problem' is required with 'for: problem', and only with it")
        if (self.subject is SubjectKind.LOSS) is not (self.loss is not None):
            raise ValueError("'loss' is required with 'for: loss', and only with it")
        if self.when is None and self.problem is None and self.loss is None:
            raise ValueError("'when' is missing")
        others = (SubjectKind.PROBLEM, SubjectKind.WORKLOAD)
        if self.fix and self.fix.edits == SOLUTION and self.subject in others:
            raise ValueError("'edits: solution' belongs to rules about pods and what they lose")
        return self
