"""SARIF 2.1.0: models of the parts that are written."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from shutdownlint import __version__
from shutdownlint.project import PROJECT_URL

SCHEMA: Final = (
    "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"
)


class _Sarif(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Message(_Sarif):
    """A text; in messages of results, ``[text](id)`` links to a related location."""

    text: str


class Help(_Sarif):
    """A rule's explanation, plain and as Markdown."""

    text: str
    markdown: str


class RuleProperties(_Sarif):
    """What GitHub reads of a rule: how exact it is and how bad."""

    precision: str
    severity: str = Field(alias="problem.severity")
    tags: list[str]


class Configuration(_Sarif):
    """A rule's own level."""

    level: str


class Descriptor(_Sarif):
    """A rule."""

    id: str
    name: str
    help_uri: str | None
    short_description: Message
    full_description: Message
    help: Help
    default_configuration: Configuration
    properties: RuleProperties


class Driver(_Sarif):
    """The tool."""

    name: str = "shutdownlint"
    semantic_version: str = __version__
    information_uri: str = PROJECT_URL
    rules: list[Descriptor]


class Tool(_Sarif):
    """The tool, as SARIF nests it."""

    driver: Driver


class Artifact(_Sarif):
    """A file, below the folder that the run began in unless its address is absolute."""

    uri: str
    uri_base_id: str | None = None


class Content(_Sarif):
    """Text that is inserted."""

    text: str


class SarifRegion(_Sarif):
    """A part of a file; all numbers from 1."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int
    snippet: Content | None = None


class Physical(_Sarif):
    """A part of a file, with the file."""

    artifact_location: Artifact
    region: SarifRegion


class Logical(_Sarif):
    """The workload."""

    fully_qualified_name: str
    kind: str = "resource"


class Location(_Sarif):
    """Where."""

    id: int | None = None
    physical_location: Physical | None = None
    logical_locations: list[Logical] | None = None
    message: Message | None = None


class ThreadFlowLocation(_Sarif):
    """A step of a code flow."""

    location: Location
    execution_order: int


class ThreadFlow(_Sarif):
    """Steps, one after the other."""

    locations: list[ThreadFlowLocation]


class CodeFlow(_Sarif):
    """How a pod shuts down, step by step."""

    message: Message
    thread_flows: list[ThreadFlow]


class ResultProperties(_Sarif):
    """What else is known of a result."""

    confidence: str
    assumed: list[str]
    owner: str | None = None


class SarifReplacement(_Sarif):
    """A region, and what takes its place."""

    deleted_region: SarifRegion
    inserted_content: Content


class ArtifactChange(_Sarif):
    """What a fix does to one file."""

    artifact_location: Artifact
    replacements: list[SarifReplacement]


class SarifFix(_Sarif):
    """A fix that a program can make."""

    description: Message
    artifact_changes: list[ArtifactChange]


class Suppression(_Sarif):
    """Why a result is not to be shown."""

    kind: str
    justification: str


class SarifResult(_Sarif):
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


class Notification(_Sarif):
    """Something that went wrong in the run."""

    level: str
    message: Message
    locations: list[Location] | None = None


class Invocation(_Sarif):
    """How the run went."""

    execution_successful: bool
    tool_execution_notifications: list[Notification]


class BaseAddress(_Sarif):
    """What relative addresses are relative to, in words: the reader knows where it is."""

    description: Message


class SarifRun(_Sarif):
    """The run."""

    tool: Tool
    invocations: list[Invocation]
    original_uri_base_ids: dict[str, BaseAddress]
    column_kind: str = "unicodeCodePoints"
    results: list[SarifResult]


class Log(_Sarif):
    """The whole file."""

    schema_uri: str = Field(default=SCHEMA, alias="$schema")
    version: str = "2.1.0"
    runs: list[SarifRun]
