"""SARIF 2.1.0, as code scanning reads it: small models of the parts that are shown.

GitHub uses the first location only, with all four region numbers and a relative URI; an empty
``results`` array must still be there; ``fixes`` are not shown, so the message says the fix too.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from shutdownlint import files
from shutdownlint.engine.finding import Severity
from shutdownlint.engine.rule_text import read_explanation
from shutdownlint.linter.fingerprint import fingerprints
from shutdownlint.project import rule_url
from shutdownlint.reports.report import full_message, to_json
from shutdownlint.reports.sarif_model import (
    Artifact,
    ArtifactChange,
    BaseAddress,
    CodeFlow,
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
    ThreadFlow,
    ThreadFlowLocation,
    Tool,
)
from shutdownlint.shutdown.pod_plan import Confidence

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.linter.result import SuppressedFinding
    from shutdownlint.manifests.reader import UnreadableInput
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report
    from shutdownlint.reports.sarif_flow import FlowStep
    from shutdownlint.yaml_source.location import Region

#: The base of relative addresses; GitHub takes it for the root of the repository.
_BASE: Final = "%SRCROOT%"
_BASE_TEXT: Final = "The folder that shutdownlint was started in."
_MOST_LINES: Final = 20
_LONGEST_SNIPPET: Final = 1000
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
    """Return the report as SARIF text. Files that could not be read at all are notifications."""
    return _Writer(report).write()


class _Writer:
    """Writes one report: it knows which files exist, and the lines of each."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._exists: dict[str, bool] = {}

    def write(self) -> str:
        """Return the report as text."""
        report = self.report
        why = {id(one.finding): one for one in report.result.suppressed}
        found = [*report.placed, *(one.finding for one in report.result.suppressed)]
        reported = [f for f in found if f.rule != "SL001"][:MOST_RESULTS]
        used = {finding.rule for finding in reported}
        rules = sorted((r for r in report.result.rules if r.id in used), key=lambda rule: rule.id)
        index = {rule.id: number for number, rule in enumerate(rules)}
        names = fingerprints(reported, report.lines)
        run = SarifRun(
            tool=Tool(driver=Driver(rules=[_descriptor(rule) for rule in rules])),
            invocations=[
                Invocation(
                    execution_successful=report.result.complete,
                    tool_execution_notifications=[
                        *map(_unreadable, report.stats.unreadable),
                        *_left_out(len(found) - MOST_RESULTS),
                    ],
                )
            ],
            original_uri_base_ids={_BASE: BaseAddress(description=Message(text=_BASE_TEXT))},
            results=[
                self._result(finding, index[finding.rule], name, why.get(id(finding)))
                for finding, name in zip(reported, names, strict=True)
            ],
        )
        log = Log(runs=[run])
        return to_json(log.to_data())

    def _result(
        self, finding: Finding, index: int, name: str, ignored: SuppressedFinding | None
    ) -> SarifResult:
        related = [
            Location(
                id=number,
                physical_location=self._physical(other.region),
                message=Message(text=other.label),
            )
            for number, other in enumerate(finding.related, 1)
        ]
        text = _sentence(full_message(finding))
        for location in related:
            assert location.message is not None
            text += f" See [{_escape(location.message.text)}]({location.id})."
        if finding.fix:
            text += f" Fix: {_sentence(finding.fix.description)}"
        logical = None
        if finding.workload is not None:
            logical = [Logical(fully_qualified_name=str(finding.workload))]
        owner = self.report.owner_of(finding)
        return SarifResult(
            rule_id=finding.rule,
            rule_index=index,
            level=_LEVELS[finding.severity],
            message=Message(text=text),
            locations=[
                Location(
                    physical_location=self._physical(finding.region), logical_locations=logical
                )
            ],
            related_locations=related or None,
            code_flows=self._code_flows(finding),
            partial_fingerprints={"primaryLocationLineHash": name},
            fixes=self._fixes(finding),
            suppressions=[_suppression(ignored)] if ignored is not None else None,
            rank=_RANK[finding.confidence],
            properties=ResultProperties(
                confidence=finding.confidence.value,
                assumed=list(finding.assumptions),
                owner=owner or None,
            ),
        )

    def _code_flows(self, finding: Finding) -> list[CodeFlow] | None:
        """Return the timeline of the finding's pod; None for advice, which is about several."""
        if finding.workload is None or finding.severity is Severity.NOTE:
            return None
        steps: tuple[FlowStep, ...] | None = self.report.description(
            "sarif", finding.subject_file, finding.workload
        )
        if not steps:
            return None
        locations = [
            ThreadFlowLocation(
                location=Location(
                    physical_location=self._physical(step.region), message=Message(text=step.text)
                ),
                execution_order=number,
            )
            for number, step in enumerate(steps, 1)
        ]
        title = Message(text=f"How {finding.workload} shuts down")
        return [CodeFlow(message=title, thread_flows=[ThreadFlow(locations=locations)])]

    def _fixes(self, finding: Finding) -> list[SarifFix] | None:
        changes: dict[str, list[SarifReplacement]] = {}
        for edit in self.report.replacements(finding):
            new = SarifReplacement(
                deleted_region=_to_sarif_region(edit.region),
                inserted_content=Content(text=edit.text),
            )
            changes.setdefault(edit.region.file, []).append(new)
        if not changes or finding.fix is None or not all(map(self._is_file, changes)):
            return None
        safety = "safe" if finding.fix.safe else "unsafe"
        return [
            SarifFix(
                description=Message(text=f"{_escape(finding.fix.description)} ({safety})"),
                artifact_changes=[
                    ArtifactChange(artifact_location=_artifact(file), replacements=edits)
                    for file, edits in changes.items()
                ],
            )
        ]

    def _is_file(self, file: str) -> bool:
        """Whether there is such a file: standard input and renderings are none."""
        if file not in self._exists:
            rendered = file in self.report.renderings
            self._exists[file] = not rendered and files.is_file(file)
        return self._exists[file]

    def _physical(self, region: Region) -> Physical | None:
        """Return the place in a file, with its text; None without a file."""
        if not self._is_file(region.file):
            return None
        shown = _to_sarif_region(region)
        text = self._text_of(region)
        if text:
            shown.snippet = Content(text=text)
        return Physical(artifact_location=_artifact(region.file), region=shown)

    def _text_of(self, region: Region) -> str:
        """Return the text of a region, where it is not long."""
        numbers = range(region.line, min(region.end_line, region.line + _MOST_LINES) + 1)
        lines = [self.report.lines.line(region.file, number) for number in numbers]
        if not lines or None in lines or len(lines) > _MOST_LINES:
            return ""
        texts = [line or "" for line in lines]
        if region.end_line == region.line:
            return texts[0][region.column - 1 : region.end_column - 1][:_LONGEST_SNIPPET]
        texts[0], texts[-1] = texts[0][region.column - 1 :], texts[-1][: region.end_column - 1]
        return "\n".join(texts)[:_LONGEST_SNIPPET]


def _unreadable(unreadable: UnreadableInput) -> Notification:
    region = unreadable.region
    text = f"{region.file}:{region.line}: {unreadable.reason}"
    return Notification(level="error", message=Message(text=text))


def _left_out(count: int) -> list[Notification]:
    """Return a word where GitHub would take no more results."""
    text = f"{count:,} more results are left out: code scanning reads {MOST_RESULTS:,} at most"
    return [Notification(level="warning", message=Message(text=text))] if count > 0 else []


def _descriptor(rule: Rule) -> Descriptor:
    explanation, named = read_explanation(rule)
    first = explanation.split("\n\n")[0].replace("\n", " ").strip()
    sources = "\n".join(f"- {source}" for source in named)
    return Descriptor(
        id=rule.id,
        name="".join(part.capitalize() for part in rule.name.split("-")),
        help_uri=rule_url(rule.id),
        short_description=Message(text=_as_sentence(rule.headline)),
        full_description=Message(text=first),
        help=Help(
            text=explanation,
            markdown=f"{explanation}\n\n**Sources**\n\n{sources}\n",
        ),
        default_configuration=Configuration(level=_LEVELS[rule.severity]),
        properties=RuleProperties(
            precision=_PRECISION[rule.severity],
            severity=_PROBLEM[rule.severity],
            tags=["reliability", "kubernetes", "graceful-shutdown"],
        ),
    )


def _suppression(ignored: SuppressedFinding) -> Suppression:
    kind = "inSource" if ignored.in_source else "external"
    return Suppression(kind=kind, justification=ignored.reason)


def _to_sarif_region(region: Region) -> SarifRegion:
    return SarifRegion(
        start_line=region.line,
        start_column=region.column,
        end_line=region.end_line,
        end_column=region.end_column,
    )


def _artifact(file: str) -> Artifact:
    path = file.removeprefix("./")
    if PurePath(path).is_absolute():
        return Artifact(uri=PurePath(path).as_uri())
    # A name need not be UTF-8.
    return Artifact(uri=quote(path, errors="surrogateescape"), uri_base_id=_BASE)


def _as_sentence(text: str) -> str:
    """Return a title with a full stop; it is plain text, so nothing is escaped."""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _sentence(text: str) -> str:
    """Return a text as a sentence of a message."""
    return _escape(text) + ("" if text.endswith((".", "?", "!")) else ".")


def _escape(text: str) -> str:
    """Square brackets would be links in a SARIF message."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
