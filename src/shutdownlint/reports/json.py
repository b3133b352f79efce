"""For programs: version 1 of the JSON report. Fields are only ever added."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from shutdownlint.fixes.told import replacements
from shutdownlint.rules.finding import Severity

if TYPE_CHECKING:
    from shutdownlint.reports.report import Report
    from shutdownlint.rules.finding import Finding


def write_json(report: Report) -> str:
    """The report as JSON text."""
    return json.dumps(as_data(report), indent=2, ensure_ascii=False) + "\n"


def as_data(report: Report) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "version": 1,
        "findings": [_finding(finding) for finding in report.findings],
        "unreadable": [
            {"file": u.place.file, "line": u.place.line, "reason": u.reason}
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
        "passed_over": dict(report.passed_over()),
        "remarks": list(report.remarks),
    }


def _fixes(finding: Finding) -> list[dict[str, Any]]:
    """The fix as edits, where a program can make them: at most one for now."""
    edits = replacements(finding)
    if not edits or finding.fix is None:
        return []
    told = [
        {
            "file": edit.place.file,
            "line": edit.place.line,
            "column": edit.place.column,
            "end_line": edit.place.end_line,
            "end_column": edit.place.end_column,
            "text": edit.text,
        }
        for edit in edits
    ]
    return [{"safety": "safe" if finding.fix.safe else "unsafe", "edits": told}]


def _finding(finding: Finding) -> dict[str, Any]:
    place, workload = finding.place, finding.workload
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
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
                "file": related.place.file,
                "line": related.place.line,
                "column": related.place.column,
            }
            for related in finding.related
        ],
        "template": finding.template,
    }
