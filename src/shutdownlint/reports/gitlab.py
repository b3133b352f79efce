"""GitLab's code quality report. Source: docs.gitlab.com, code quality report format."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.engine.finding import Severity
from shutdownlint.linter.fingerprint import fingerprints
from shutdownlint.reports.report import full_message, to_json

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report

_SEVERITIES: Final = {
    Severity.ERROR: "critical",
    Severity.WARNING: "major",
    Severity.NOTE: "info",
}


def render_gitlab(report: Report, _output: ReportOutput) -> str:
    """Return the report as JSON text. GitLab needs fingerprints that are unique in the report."""
    names = fingerprints(report.findings, report.lines)
    # A file's name need not be UTF-8.
    keys = [
        f"{finding.region.file}\n{name}".encode(errors="surrogateescape")
        for finding, name in zip(report.findings, names, strict=True)
    ]
    entries = [
        {
            "description": _describe(finding),
            "check_name": f"{finding.rule} {finding.title}",
            "fingerprint": hashlib.sha256(key).hexdigest(),
            "severity": _SEVERITIES[finding.severity],
            "location": _location(finding),
        }
        for finding, key in zip(report.findings, keys, strict=True)
    ]
    return to_json(entries)


def _describe(finding: Finding) -> str:
    """Return the message with what GitLab has no field for: the workload and the fix."""
    workload = f"{finding.workload}: " if finding.workload is not None else ""
    fix = f". Fix: {finding.fix.description}" if finding.fix else ""
    return f"{workload}{full_message(finding)}{fix}"


def _location(finding: Finding) -> dict[str, Any]:
    region = finding.region
    return {
        "path": region.file.removeprefix("./"),
        "lines": {"begin": region.line, "end": region.end_line},
    }
