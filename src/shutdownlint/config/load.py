"""``shutdownlint.toml``, or ``[tool.shutdownlint]`` in pyproject.toml: its form and reading."""

from __future__ import annotations

import os
import tomllib
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from shutdownlint.config import Config, ConfigError
from shutdownlint.engine.finding import Severity
from shutdownlint.manifests.discovery import display_path
from shutdownlint.manifests.suppressions import Suppression
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.user_facts import AppFacts
from shutdownlint.platforms.versions import Version
from shutdownlint.shutdown import Behaviour

if TYPE_CHECKING:
    from pathlib import Path


def _duration(value: Any) -> timedelta:
    if not isinstance(value, str):
        raise ValueError("must be a duration with a unit, such as '10s'")
    duration = go_duration(value)
    if duration < timedelta(0):
        raise ValueError("must not be negative")
    return duration


def _version(value: Any) -> Version:
    if not isinstance(value, str):
        raise ValueError("must be a version in quotes, such as '1.33'")
    return Version.parse(value)


_TEXT: Final = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "null"}]})
_Duration = Annotated[timedelta | None, BeforeValidator(_duration), _TEXT]
_Version = Annotated[Version | None, BeforeValidator(_version), _TEXT]


_RuleName = Annotated[str, Field(min_length=1)]


class _Form(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
        alias_generator=lambda name: name.replace("_", "-"),
    )


class WorkloadForm(_Form):
    """What is said of the workloads that match ``Kind/namespace/name`` (shell patterns)."""

    match: str = Field(description="Kind/namespace/name, with * and ?; what is left out is any.")
    p99: _Duration = Field(default=None, description="How long a request takes at most: '10s'.")
    drain: _Duration = Field(
        default=None, description="How long the app goes on accepting after its stop signal."
    )
    app: Literal["graceful", "abrupt", "ignoring", "lingering"] | None = Field(
        default=None, description="What the app does at its stop signal."
    )
    ignore: list[_RuleName] = Field(
        default_factory=list,
        description="Rules (ids or their beginnings) that are not told of them; needs a reason.",
    )
    container: str | None = Field(default=None, description="Ignored in this container only.")
    until: date | None = Field(default=None, description="The last day of the ignore.")
    reason: str = Field(default="", description="Why that is ignored; reports carry it.")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.app == "lingering" and self.drain is None:
            raise ValueError("app = 'lingering' needs drain: for how long it goes on accepting")
        if self.ignore and not self.reason.strip():
            raise ValueError("ignore needs a reason")
        if not self.ignore and (self.container is not None or self.until is not None):
            raise ValueError("container and until belong to ignore")
        if self.match.count("/") > 2:
            raise ValueError("match is Kind/namespace/name, kind and namespace may be left out")
        return self


class ConfigForm(_Form):
    """All that a configuration file can say."""

    kubernetes_version: _Version = Field(default=None, description="The cluster's: '1.33'.")
    istio_version: _Version = Field(default=None, description="The mesh's: '1.27'.")
    p99: _Duration = Field(
        default=None, description="How long a request takes at most, of all workloads: '10s'."
    )
    select: list[_RuleName] = Field(
        default_factory=list, description="Only these rules (ids or their beginnings)."
    )
    ignore: list[_RuleName] = Field(
        default_factory=list, description="All but these rules (ids or their beginnings)."
    )
    fail_on: Literal["error", "warning", "note", "never"] = Field(
        default="warning", description="The least severity that makes the exit code 1."
    )
    notes: bool = Field(default=False, description="Whether notes are told too.")
    context: list[str] = Field(
        default_factory=list, description="Files and folders that are read but not checked."
    )
    exclude: list[str] = Field(
        default_factory=list, description="Files that are left out, with * and ?."
    )
    suffixes: list[str] = Field(
        default_factory=list, description="Endings that are read besides .yaml, .yml and .json."
    )
    render: bool = Field(
        default=False, description="Whether charts and kustomizations are rendered."
    )
    values: list[str] = Field(
        default_factory=list, description="Values files for the charts, the last one wins."
    )
    rules: list[str] = Field(
        default_factory=list, description="Folders of rule files of one's own."
    )
    severity: dict[str, Severity] = Field(
        default_factory=dict, description="Another severity for a rule, by its id."
    )
    workloads: list[WorkloadForm] = Field(
        default_factory=list, description="What is known of single workloads."
    )


def load_config(path: Path) -> Config:
    """Read a configuration file. Raises ``ConfigError``."""
    try:
        data: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    if path.name == "pyproject.toml":
        data = data.get("tool", {}).get("shutdownlint", {})
    try:
        form = ConfigForm.model_validate(data)
    except ValidationError as error:
        raise ConfigError(f"{path}: {_told(error)}") from None
    return Config(
        kubernetes=form.kubernetes_version,
        istio=form.istio_version,
        p99=form.p99,
        select=form.select,
        ignore=form.ignore,
        fail_on=form.fail_on,
        notes=form.notes,
        # Paths in the file are meant from its own folder.
        context=[display_path(os.path.relpath(path.parent / given)) for given in form.context],
        render=form.render,
        values=[display_path(os.path.relpath(path.parent / given)) for given in form.values],
        rules=[display_path(os.path.relpath(path.parent / given)) for given in form.rules],
        exclude=form.exclude,
        suffixes=[s if s.startswith(".") else f".{s}" for s in form.suffixes],
        severities=form.severity,
        apps=[_app(workload) for workload in form.workloads],
        ignores=[_ignore(workload) for workload in form.workloads if workload.ignore],
    )


def _ignore(said: WorkloadForm) -> Suppression:
    rules = tuple(rule.upper() for rule in said.ignore)
    return Suppression(rules, said.reason, said.until, container=said.container, pattern=said.match)


def _app(said: WorkloadForm) -> AppFacts:
    told = f"the configuration for {said.match}"
    # "lingering" is graceful with a drain: it goes on accepting for that long.
    app = "graceful" if said.app == "lingering" else said.app
    return AppFacts(said.match, said.p99, said.drain, Behaviour(app) if app else None, told)


_REASONS: Final = {
    "extra_forbidden": "is not a setting",
    "missing": "is missing",
    "list_type": "must be a list",
    "string_type": "must be a text in quotes",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a table",
    "model_type": "must be a table",
}


def _told(error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_url=False):
        key = ".".join(str(step) for step in problem["loc"])
        reason = _REASONS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
        problems.append(f"{key}: {reason}")
    return "; ".join(problems)
