"""GitLab's code quality report. Source: docs.gitlab.com, code quality report format."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from shutdownlint.reports.fingerprint import fingerprints
from shutdownlint.rules.finding import Severity

if TYPE_CHECKING:
    from shutdownlint.reports.report import Report

_SEVERITIES: Final = {
    Severity.ERROR: "critical",
    Severity.WARNING: "major",
    Severity.NOTE: "info",
}


def write_gitlab(report: Report) -> str:
    """The report as JSON text. GitLab takes fingerprints that are unique in the whole report."""
    names = fingerprints(report.findings, report)
    entries = [
        {
            "description": finding.message,
            "check_name": f"{finding.rule} {finding.name}",
            "fingerprint": hashlib.sha256(f"{finding.place.file}\n{name}".encode()).hexdigest(),
            "severity": _SEVERITIES[finding.severity],
            "location": {
                "path": finding.place.file.removeprefix("./"),
                "lines": {"begin": finding.place.line, "end": finding.place.end_line},
            },
        }
        for finding, name in zip(report.findings, names, strict=True)
    ]
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"
