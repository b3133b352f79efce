"""What an editor shows: diagnostics, hovers and the lines above workloads."""

from __future__ import annotations

import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from shutdownlint import files
from shutdownlint.engine.finding import Severity
from shutdownlint.engine.loader import load_schema
from shutdownlint.engine.rule_loader import load_all_bundled
from shutdownlint.linter.verdicts import judge_pod
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.locations import as_source_location, document_of
from shutdownlint.platforms.user_facts import UserFacts
from shutdownlint.project import rule_url
from shutdownlint.reports.explain_text import render_text
from shutdownlint.reports.explanation import Explanation
from shutdownlint.reports.output import ReportOutput
from shutdownlint.reports.report import full_message, safe
from shutdownlint.reports.rule_page import rule_page
from shutdownlint.reports.texts import format_verdict
from shutdownlint.repository_root import is_below
from shutdownlint.server.positions import split_lines, to_loose_range, to_range

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.manifests.document import Document
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.server.workspace import FoundInFile
    from shutdownlint.yaml_source.location import Region

_SOURCE: Final = "shutdownlint"
_SEVERITIES: Final = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}
_RULE: Final = lazy_pattern(r"\bSL[0-9]{3}\b")


def uri_of(name: str) -> str:
    """Return the address of a file of the workspace."""
    return Path(name).absolute().as_uri()


def name_of(uri: str) -> str:
    """Return the name of a file as reports write it; empty for one outside of the workspace."""
    parts = urllib.parse.urlsplit(uri)
    if parts.scheme != "file":
        return ""
    path = urllib.parse.unquote(parts.path)
    for written, folder in ((path, str(Path.cwd())), (files.real_path(path), files.real_path("."))):
        if is_below(written, folder):
            return Path(written).relative_to(folder).as_posix()
    return ""


def diagnostic(finding: Finding, lines: Sequence[str]) -> types.Diagnostic:
    """Return a finding as an editor shows it."""
    url = rule_url(finding.rule)
    message = full_message(finding)
    if finding.fix is not None and finding.fix.description:
        message += f"\nfix: {finding.fix.description}"
    related = [
        types.DiagnosticRelatedInformation(
            _location(other.region, finding, lines), safe(other.label)
        )
        for other in finding.related
    ]
    return types.Diagnostic(
        to_range(finding.region, lines),
        safe(message),
        _SEVERITIES[finding.severity],
        finding.rule,
        types.CodeDescription(url) if url is not None else None,
        _SOURCE,
        related_information=related or None,
    )


def _location(region: Region, finding: Finding, lines: Sequence[str]) -> types.Location:
    same = region.file == finding.region.file
    place = to_range(region, lines) if same else to_loose_range(region)
    return types.Location(uri_of(region.file), place)


def diagnostics(found: FoundInFile) -> list[types.Diagnostic]:
    """Return the findings of a file as an editor shows them."""
    lines = split_lines(found.text)
    return [diagnostic(finding, lines) for finding in found.findings]


def lenses(found: FoundInFile) -> Iterator[types.CodeLens]:
    """Yield a line above each workload: what a stop of it loses."""
    lines = split_lines(found.text)
    for verdict in found.verdicts:
        place = to_range(verdict.region, lines)
        at = types.Range(place.start, place.start)
        variant = f"{verdict.variant}: " if verdict.variant else ""
        title = safe(f"{variant}{format_verdict(verdict)}")
        yield types.CodeLens(at, types.Command(title, ""))


def hover_of_rule(line: str, character: int) -> str:
    """Return the page of the rule whose id is at a place of a line; empty where there is none."""
    for found in _RULE.finditer(line):
        if found.start() <= character <= found.end():
            rule = next((r for r in load_all_bundled() if r.id == found[0]), None)
            return rule_page(load_schema(Path(rule.file))) if rule is not None else ""
    return ""


def hover_of_pod(pod: PlannedPod) -> str:
    """Return the timeline of a pod, with links to the settings that decide its losses."""
    drawn = render_text([Explanation(pod)], ReportOutput("-", "never")) or ""
    text = drawn.strip().replace("```", "'''")
    links: dict[str, None] = {}
    for loss in pod.analysis.losses if pod.analysis is not None else ():
        location = as_source_location(loss.setting.origin.location)
        if location is not None:
            region = location.region()
            place = f"{uri_of(region.file)}#L{region.line}"
            shown = f"{Path(region.file).name}:{region.line}"
            links[f"- {loss.setting.name}: [{shown}]({place})"] = None
    return f"```text\n{text}\n```\n" + "\n".join(links)


def hover_of_service(pods: Sequence[PlannedPod], name: str, line: int) -> str:
    """Return what a stop loses of each pod that the Service at a line sends to; or nothing."""
    found: dict[str, None] = {}
    for pod in pods:
        for sender in pod.plan.senders if pod.plan is not None else ():
            location = as_source_location(sender.name.origin.location)
            document = document_of(location) if location is not None else None
            if document is not None and document.file == name and _has_line(document, line):
                region = pod.ref.region()
                place = f"[{pod.id}]({uri_of(region.file)}#L{region.line})"
                found[f"- {place}: {safe(format_verdict(judge_pod(pod, UserFacts())))}"] = None
    return "\n".join(found)


def _has_line(document: Document, line: int) -> bool:
    first = document.line_offset + 1
    return first <= line <= first + document.text.count("\n")


def pod_at(pods: Sequence[PlannedPod], line: int) -> PlannedPod | None:
    """Return the pod whose document has that line, counted from 1."""
    return next((pod for pod in pods if _has_line(pod.ref.document, line)), None)
