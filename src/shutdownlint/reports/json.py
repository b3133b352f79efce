"""For programs: version 1 of the JSON report. Fields are only ever added."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shutdownlint.engine.finding import Severity
from shutdownlint.fixes.replacements import replacements

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding
    from shutdownlint.reports.report import Report


def write_json(report: Report) -> str:
    """The report as JSON text."""
    return json.dumps(as_data(report), indent=2, ensure_ascii=False) + "\n"


def as_data(report: Report) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "version": 1,
        "findings": [_finding(finding) for finding in report.findings],
        "unreadable": [
            {"file": u.region.file, "line": u.region.line, "reason": u.reason}
            for u in report.reading.unreadable
        ],
        "summary": {
            "files": report.reading.files,
            "documents": report.reading.documents,
            "workloads": report.workloads,
            "errors": report.count(Severity.ERROR),
            "warnings": report.count(Severity.WARNING),
            "notes": report.count(Severity.NOTE),
        },
        "ignored": [
            {**_finding(one.finding), "reason": one.reason, "in_source": one.in_source}
            for one in report.suppressed
        ],
        "passed_over": dict(report.skipped()),
        "remarks": list(report.remarks),
    }


def _fixes(finding: Finding) -> list[dict[str, Any]]:
    """The fix as edits, where a program can make them: at most one for now."""
    edits = replacements(finding)
    if not edits or finding.fix is None:
        return []
    told = [
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
    return [{"safety": "safe" if finding.fix.safe else "unsafe", "edits": told}]


def _finding(finding: Finding) -> dict[str, Any]:
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
        "workload": None
        if workload is None
        else {
            "kind": workload.kind,
            "namespace": workload.namespace,
            "name": workload.name,
        },
        "container": finding.container,
        "message": finding.message,
        "fix": finding.fix.words if finding.fix else None,
        "fixes": _fixes(finding),
        "assumed": list(finding.assumed),
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
    }
