"""The report as JSON, version 1. Fields are only ever added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint.engine.finding import Severity
from shutdownlint.linter.fingerprint import fingerprints
from shutdownlint.linter.verdicts import count_outcomes
from shutdownlint.reports.report import full_message, to_json, workload_data

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report


def render_json(report: Report, _output: ReportOutput) -> str:
    """Return the report as JSON text."""
    return to_json(to_data(report))


def to_data(report: Report) -> dict[str, Any]:
    """Return the report as plain data."""
    return {
        "tool": "shutdownlint",
        "version": 1,
        "findings": [
            {
                **_finding(report, finding),
                "owner": report.owner_of(finding) or None,
                "fingerprint": name,
            }
            for finding, name in zip(
                report.placed, fingerprints(report.placed, report.lines), strict=True
            )
        ],
        "unreadable": [
            {"file": u.region.file, "line": u.region.line, "reason": u.reason}
            for u in report.stats.unreadable
        ],
        "summary": {
            "files": report.stats.files,
            "documents": report.stats.documents,
            "workloads": report.result.workloads,
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "notes": report.count(Severity.NOTE),
            "unsure": report.result.unsure,
            "ignored": report.result.ignored,
            "rules_left_out": report.result.left_out,
            "hidden_notes": dict(sorted(report.result.hidden.items())),
            "known": report.result.known,
            "losses": count_outcomes(report.result.verdicts),
            **_since(report),
        },
        "suppressed": [
            {**_finding(report, one.finding), "reason": one.reason, "in_source": one.in_source}
            for one in report.result.suppressed
        ],
        "skipped": [
            {"code": reason.code, "reason": reason.text, "count": count}
            for reason, count in report.stats.skipped.items()
        ],
        "warnings": list(report.result.warnings),
    }


def _fixes(report: Report, finding: Finding) -> list[dict[str, Any]]:
    """Return the fix as edits, where a program can make them."""
    edits = report.replacements(finding)
    if not edits or finding.fix is None:
        return []
    data = [
        {
            "file": edit.region.file,
            "line": edit.region.line,
            "column": edit.region.column,
            "end_line": edit.region.end_line,
            "end_column": edit.region.end_column,
            "text": edit.text,
        }
        for edit in edits
    ]
    return [{"safety": "safe" if finding.fix.safe else "unsafe", "edits": data}]


def _workloads(finding: Finding) -> list[dict[str, Any]]:
    """Return the workloads that a finding holds for, each with where it is written."""
    found: dict[tuple[ObjectId, str, int], None] = {}
    for each in finding.each:
        if each.workload is not None:
            region = each.subject_region or each.region
            found[each.workload, region.file, region.line] = None
    return [
        {**workload_data(workload), "file": file, "line": line} for workload, file, line in found
    ]


def _since(report: Report) -> dict[str, Any]:
    """Return what a change made worse, in a run that reports only that."""
    if report.since is None:
        return {}
    ref, found = report.since
    worse = [
        {
            "workload": workload_data(grown.after.id),
            "file": grown.after.region.file,
            "line": grown.after.region.line,
            "lost": grown.after.lost,
            "before": grown.before.lost if grown.before is not None else None,
            "own_file_changed": not grown.elsewhere,
        }
        for grown in found.worse
    ]
    change = {"ref": ref, "changed_files": list(found.changed), "worse": worse}
    return {"since": {**change, "better": found.better, "of_other_files": found.reached}}


def _finding(report: Report, finding: Finding) -> dict[str, Any]:
    region, workload = finding.region, finding.workload
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "file": region.file,
        "line": region.line,
        "column": region.column,
        "end_line": region.end_line,
        "end_column": region.end_column,
        "workload": workload_data(workload) if workload is not None else None,
        "workloads": _workloads(finding),
        "container": finding.container,
        "message": full_message(finding),
        "title": finding.title,
        "holds_for": finding.holds_for or None,
        "fix": finding.fix.description if finding.fix else None,
        "fixes": _fixes(report, finding),
        "assumed": list(finding.assumptions),
        "related": [
            {
                "label": related.label,
                "file": related.region.file,
                "line": related.region.line,
                "column": related.region.column,
            }
            for related in finding.related
        ],
        "template": finding.template,
        "variants": list(finding.variants),
    }
