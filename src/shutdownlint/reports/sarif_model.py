"""SARIF 2.1.0: models of the parts that are written."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct, field, to_builtins

from shutdownlint import __version__
from shutdownlint.project import PROJECT_URL

SCHEMA: Final = (
    "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"
)


class _Sarif(Struct, rename="camel"):
    """A SARIF object; fields that are None are not written."""


class Message(_Sarif, kw_only=True):
    """A text; in messages of results, ``[text](id)`` links to a related location."""

    text: str


class Help(_Sarif, kw_only=True):
    """A rule's explanation, plain and as Markdown."""

    text: str
    markdown: str


class RuleProperties(_Sarif, kw_only=True):
    """The properties of a rule that GitHub reads: its precision and its severity."""

    precision: str
    severity: str = field(name="problem.severity")
    tags: list[str]


class Configuration(_Sarif, kw_only=True):
    """A rule's own level."""

    level: str


class Descriptor(_Sarif, kw_only=True):
    """A rule."""

    id: str
    name: str
    help_uri: str | None
    short_description: Message
    full_description: Message
    help: Help
    default_configuration: Configuration
    properties: RuleProperties


class Driver(_Sarif, kw_only=True):
    """The tool."""

    name: str = "shutdownlint"
    semantic_version: str = __version__
    information_uri: str = PROJECT_URL
    rules: list[Descriptor]


class Tool(_Sarif, kw_only=True):
    """The tool, as SARIF nests it."""

    driver: Driver


class Artifact(_Sarif, kw_only=True):
    """A file, below the folder that the run began in unless its address is absolute."""

    uri: str
    uri_base_id: str | None = None


class Content(_Sarif, kw_only=True):
    """Text that is inserted."""

    text: str


class SarifRegion(_Sarif, kw_only=True):
    """A part of a file; all numbers from 1."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int
    snippet: Content | None = None


class Physical(_Sarif, kw_only=True):
    """A part of a file, with the file."""

    artifact_location: Artifact
    region: SarifRegion


class Logical(_Sarif, kw_only=True):
    """The workload."""

    fully_qualified_name: str
    kind: str = "resource"


class Location(_Sarif, kw_only=True):
    """A place of a result."""

    id: int | None = None
    physical_location: Physical | None = None
    logical_locations: list[Logical] | None = None
    message: Message | None = None


class ThreadFlowLocation(_Sarif, kw_only=True):
    """A step of a code flow."""

    location: Location
    execution_order: int


class ThreadFlow(_Sarif, kw_only=True):
    """Steps, one after the other."""

    locations: list[ThreadFlowLocation]


class CodeFlow(_Sarif, kw_only=True):
    """The shutdown of a pod, step by step."""

    message: Message
    thread_flows: list[ThreadFlow]


class ResultProperties(_Sarif, kw_only=True):
    """The additional facts about a result."""

    confidence: str
    assumed: list[str]
    owner: str | None = None


class SarifReplacement(_Sarif, kw_only=True):
    """A region, and what takes its place."""

    deleted_region: SarifRegion
    inserted_content: Content


class ArtifactChange(_Sarif, kw_only=True):
    """The changes of a fix to one file."""

    artifact_location: Artifact
    replacements: list[SarifReplacement]


class SarifFix(_Sarif, kw_only=True):
    """A fix that a program can make."""

    description: Message
    artifact_changes: list[ArtifactChange]


class Suppression(_Sarif, kw_only=True):
    """Why a result is not to be shown."""

    kind: str
    justification: str


class SarifResult(_Sarif, kw_only=True):
    """A finding."""

    rule_id: str
    rule_index: int
    level: str
    message: Message
    locations: list[Location]
    related_locations: list[Location] | None = None
    code_flows: list[CodeFlow] | None = None
    partial_fingerprints: dict[str, str]
    fixes: list[SarifFix] | None
    suppressions: list[Suppression] | None = None
    rank: float
    properties: ResultProperties


class Notification(_Sarif, kw_only=True):
    """Something that went wrong in the run."""

    level: str
    message: Message
    locations: list[Location] | None = None


class Invocation(_Sarif, kw_only=True):
    """The outcome of the run."""

    execution_successful: bool
    tool_execution_notifications: list[Notification]


class BaseAddress(_Sarif, kw_only=True):
    """The base of relative addresses, in words: the reader knows where it is."""

    description: Message


class SarifRun(_Sarif, kw_only=True):
    """The run."""

    tool: Tool
    invocations: list[Invocation]
    original_uri_base_ids: dict[str, BaseAddress]
    column_kind: str = "unicodeCodePoints"
    results: list[SarifResult]


class Log(_Sarif, kw_only=True):
    """The whole file."""

    schema_uri: str = field(default=SCHEMA, name="$schema")
    version: str = "2.1.0"
    runs: list[SarifRun]

    def to_data(self) -> dict[str, Any]:
        """Return the file as it is written."""
        data: dict[str, Any] = _without_none(to_builtins(self))
        return data


def _without_none(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _without_none(value) for key, value in data.items() if value is not None}
    return [_without_none(item) for item in data] if isinstance(data, list) else data
