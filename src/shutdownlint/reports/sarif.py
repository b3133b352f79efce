"""SARIF 2.1.0, as code scanning reads it: small models of the parts that are shown.

GitHub uses the first location only, with all four region numbers and a relative URI; an empty
``results`` array must still be there; ``fixes`` are not shown, so the message says the fix too.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from shutdownlint import __version__
from shutdownlint.engine.finding import Severity
from shutdownlint.fixes.replacements import replacements
from shutdownlint.reports.fingerprint import fingerprints
from shutdownlint.reports.source_mapping import report_file
from shutdownlint.shutdown import Confidence
from shutdownlint.yaml_source.location import Region

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.engine.suppress import SuppressedFinding
    from shutdownlint.reports.report import Report

SCHEMA: Final = (
    "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json"
)
HOME: Final = "https://github.com/shutdownlint/shutdownlint"
#: GitHub shows no more results of one run.
MOST_RESULTS: Final = 25_000

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}
_PRECISION: Final = {
    Severity.ERROR: "very-high",
    Severity.WARNING: "high",
    Severity.NOTE: "medium",
}
_PROBLEM: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "recommendation",
}
_RANK: Final = {Confidence.HIGH: 90.0, Confidence.MEDIUM: 60.0, Confidence.LOW: 30.0}


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
    short_description: Message
    full_description: Message
    help: Help
    default_configuration: Configuration
    properties: RuleProperties


class Driver(_Sarif):
    """The tool."""

    name: str = "shutdownlint"
    semantic_version: str = __version__
    information_uri: str = HOME
    rules: list[Descriptor]


class Tool(_Sarif):
    """The tool, as SARIF nests it."""

    driver: Driver


class Artifact(_Sarif):
    """A file."""

    uri: str


class SarifRegion(_Sarif):
    """A part of a file; all numbers from 1."""

    start_line: int
    start_column: int
    end_line: int
    end_column: int


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
    physical_location: Physical
    logical_locations: list[Logical] | None = None
    message: Message | None = None


class ResultProperties(_Sarif):
    """What else is known of a result."""

    confidence: str
    assumed: list[str]


class Content(_Sarif):
    """Text that is inserted."""

    text: str


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


class SarifRun(_Sarif):
    """The run."""

    tool: Tool
    invocations: list[Invocation]
    column_kind: str = "unicodeCodePoints"
    results: list[SarifResult]


class Log(_Sarif):
    """The whole file."""

    schema_uri: str = Field(default=SCHEMA, alias="$schema")
    version: str = "2.1.0"
    runs: list[SarifRun]


def write_sarif(report: Report) -> str:
    """The report as SARIF text. Files that could not be read at all are notifications."""
    rules = sorted(report.rules, key=lambda rule: rule.id)
    index = {rule.id: number for number, rule in enumerate(rules)}
    why = {id(one.finding): one for one in report.suppressed}
    found = [*report.findings, *(one.finding for one in report.suppressed)]
    kept = [f for f in found if f.rule != "SL001"][:MOST_RESULTS]
    names = fingerprints(kept, report)
    run = SarifRun(
        tool=Tool(driver=Driver(rules=[_descriptor(rule) for rule in rules])),
        invocations=[
            Invocation(
                execution_successful=not report.reading.unreadable,
                tool_execution_notifications=[
                    Notification(
                        level="error",
                        message=Message(text=f"{u.region.file}:{u.region.line}: {u.reason}"),
                    )
                    for u in report.reading.unreadable
                ]
                + _left_out(len(found) - MOST_RESULTS),
            )
        ],
        results=[
            _result(finding, index[finding.rule], name, why.get(id(finding)))
            for finding, name in zip(kept, names, strict=True)
        ],
    )
    log = Log(runs=[run])
    return log.model_dump_json(by_alias=True, exclude_none=True, indent=2) + "\n"


def _left_out(count: int) -> list[Notification]:
    """A word where GitHub would take no more results."""
    text = f"{count:,} more results are left out: code scanning reads {MOST_RESULTS:,} at most"
    return [Notification(level="warning", message=Message(text=text))] if count > 0 else []


def _descriptor(rule: Rule) -> Descriptor:
    form = rule.form
    first = form.explanation.split("\n\n")[0].replace("\n", " ").strip()
    sources = "\n".join(f"- {source}" for source in form.sources)
    return Descriptor(
        id=form.id,
        name="".join(part.capitalize() for part in form.name.split("-")),
        short_description=Message(text=form.name.replace("-", " ")),
        full_description=Message(text=first),
        help=Help(
            text=form.explanation,
            markdown=f"{form.explanation}\n\n**Sources**\n\n{sources}\n",
        ),
        default_configuration=Configuration(level=_LEVELS[form.severity]),
        properties=RuleProperties.model_validate(
            {
                "precision": _PRECISION[form.severity],
                "problem.severity": _PROBLEM[form.severity],
                "tags": ["reliability", "kubernetes", "graceful-shutdown"],
            }
        ),
    )


def _result(
    finding: Finding, index: int, name: str, ignored: SuppressedFinding | None
) -> SarifResult:
    related = [
        Location(
            id=number, physical_location=_physical(other.region), message=Message(text=other.label)
        )
        for number, other in enumerate(finding.related, 1)
    ]
    text = _sentence(finding.message)
    for location in related:
        assert location.message is not None
        text += f" See [{_escaped(location.message.text)}]({location.id})."
    if finding.fix:
        text += f" Fix: {_sentence(finding.fix.words)}"
    file, known = report_file(finding)
    physical = _physical(finding.region if known else Region(file, 1, 1, 1, 2))
    logical = None
    if finding.workload is not None:
        logical = [Logical(fully_qualified_name=str(finding.workload))]
    return SarifResult(
        rule_id=finding.rule,
        rule_index=index,
        level=_LEVELS[finding.severity],
        message=Message(text=text),
        locations=[Location(physical_location=physical, logical_locations=logical)],
        related_locations=related or None,
        partial_fingerprints={"primaryLocationLineHash": name},
        fixes=_fixes(finding),
        suppressions=[_suppression(ignored)] if ignored is not None else None,
        rank=_RANK[finding.confidence],
        properties=ResultProperties(
            confidence=finding.confidence.value, assumed=list(finding.assumed)
        ),
    )


def _suppression(ignored: SuppressedFinding) -> Suppression:
    kind = "inSource" if ignored.in_source else "external"
    return Suppression(kind=kind, justification=ignored.reason)


def _fixes(finding: Finding) -> list[SarifFix] | None:
    changes: dict[str, list[SarifReplacement]] = {}
    for edit in replacements(finding):
        new = SarifReplacement(
            deleted_region=_to_sarif_region(edit.region), inserted_content=Content(text=edit.text)
        )
        changes.setdefault(edit.region.file, []).append(new)
    if not changes or finding.fix is None:
        return None
    safety = "safe" if finding.fix.safe else "unsafe"
    return [
        SarifFix(
            description=Message(text=f"{_escaped(finding.fix.words)} ({safety})"),
            artifact_changes=[
                ArtifactChange(artifact_location=Artifact(uri=_uri(file)), replacements=edits)
                for file, edits in changes.items()
            ],
        )
    ]


def _to_sarif_region(region: Region) -> SarifRegion:
    return SarifRegion(
        start_line=region.line,
        start_column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
    )


def _physical(region: Region) -> Physical:
    return Physical(
        artifact_location=Artifact(uri=_uri(region.file)), region=_to_sarif_region(region)
    )


def _uri(file: str) -> str:
    path = file.removeprefix("./")
    return PurePath(path).as_uri() if PurePath(path).is_absolute() else quote(path)


def _sentence(text: str) -> str:
    """A text as a sentence of a message."""
    return _escaped(text) + ("" if text.endswith((".", "?", "!")) else ".")


def _escaped(text: str) -> str:
    """Square brackets would be links in a SARIF message."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
