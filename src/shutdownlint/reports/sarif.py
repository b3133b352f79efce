"""SARIF 2.1.0, as code scanning reads it: small models of the parts that are shown.

GitHub uses the first location only, with all four region numbers and a relative URI; an empty
``results`` array must still be there; ``fixes`` are not shown, so the message says the fix too.
"""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from shutdownlint.engine.finding import Severity
from shutdownlint.engine.loader import load_schema
from shutdownlint.fixes.replacements import list_replacements
from shutdownlint.linter.fingerprint import fingerprints
from shutdownlint.manifests.discovery import STDIN_NAME
from shutdownlint.reports.report import full_message, to_json
from shutdownlint.reports.sarif_model import (
    Artifact,
    ArtifactChange,
    Configuration,
    Content,
    Descriptor,
    Driver,
    Help,
    Invocation,
    Location,
    Log,
    Logical,
    Message,
    Notification,
    Physical,
    ResultProperties,
    RuleProperties,
    SarifFix,
    SarifRegion,
    SarifReplacement,
    SarifResult,
    SarifRun,
    Suppression,
    Tool,
)
from shutdownlint.shutdown.pod_plan import Confidence

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.linter.lint_run import SuppressedFinding
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report
    from shutdownlint.yaml_source.location import Region

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


def render_sarif(report: Report, _output: ReportOutput) -> str:
    """The report as SARIF text. Files that could not be read at all are notifications."""
    rules = sorted(report.result.rules, key=lambda rule: rule.id)
    index = {rule.id: number for number, rule in enumerate(rules)}
    why = {id(one.finding): one for one in report.result.suppressed}
    found = [*report.findings, *(one.finding for one in report.result.suppressed)]
    reported = [f for f in found if f.rule != "SL001"][:MOST_RESULTS]
    names = fingerprints(reported, report.lines)
    run = SarifRun(
        tool=Tool(driver=Driver(rules=[_descriptor(rule) for rule in rules])),
        invocations=[
            Invocation(
                execution_successful=not report.stats.unreadable,
                tool_execution_notifications=[
                    Notification(
                        level="error",
                        message=Message(text=f"{u.region.file}:{u.region.line}: {u.reason}"),
                    )
                    for u in report.stats.unreadable
                ]
                + _left_out(len(found) - MOST_RESULTS),
            )
        ],
        results=[
            _result(finding, index[finding.rule], name, why.get(id(finding)))
            for finding, name in zip(reported, names, strict=True)
        ],
    )
    log = Log(runs=[run])
    return to_json(log.model_dump(mode="json", by_alias=True, exclude_none=True))


def _left_out(count: int) -> list[Notification]:
    """A word where GitHub would take no more results."""
    text = f"{count:,} more results are left out: code scanning reads {MOST_RESULTS:,} at most"
    return [Notification(level="warning", message=Message(text=text))] if count > 0 else []


def _descriptor(rule: Rule) -> Descriptor:
    form = load_schema(Path(rule.file))
    first = form.explanation.split("\n\n")[0].replace("\n", " ").strip()
    sources = "\n".join(f"- {source}" for source in form.sources)
    return Descriptor(
        id=form.id,
        name="".join(part.capitalize() for part in form.name.split("-")),
        short_description=Message(text=form.headline),
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
    text = _sentence(full_message(finding))
    for location in related:
        assert location.message is not None
        text += f" See [{_escape(location.message.text)}]({location.id})."
    if finding.fix:
        text += f" Fix: {_sentence(finding.fix.description)}"
    physical = _physical(finding.region)
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
            confidence=finding.confidence.value, assumed=list(finding.assumptions)
        ),
    )


def _suppression(ignored: SuppressedFinding) -> Suppression:
    kind = "inSource" if ignored.in_source else "external"
    return Suppression(kind=kind, justification=ignored.reason)


def _fixes(finding: Finding) -> list[SarifFix] | None:
    changes: dict[str, list[SarifReplacement]] = {}
    for edit in list_replacements(finding):
        new = SarifReplacement(
            deleted_region=_to_sarif_region(edit.region), inserted_content=Content(text=edit.text)
        )
        changes.setdefault(edit.region.file, []).append(new)
    if not changes or finding.fix is None or STDIN_NAME in changes:
        return None
    safety = "safe" if finding.fix.safe else "unsafe"
    return [
        SarifFix(
            description=Message(text=f"{_escape(finding.fix.description)} ({safety})"),
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


def _physical(region: Region) -> Physical | None:
    """The place in a file; standard input is none."""
    if region.file == STDIN_NAME:
        return None
    return Physical(
        artifact_location=Artifact(uri=_uri(region.file)), region=_to_sarif_region(region)
    )


def _uri(file: str) -> str:
    path = file.removeprefix("./")
    if PurePath(path).is_absolute():
        return PurePath(path).as_uri()
    return quote(path, errors="surrogateescape")  # a name that is not UTF-8


def _sentence(text: str) -> str:
    """A text as a sentence of a message."""
    return _escape(text) + ("" if text.endswith((".", "?", "!")) else ".")


def _escape(text: str) -> str:
    """Square brackets would be links in a SARIF message."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
