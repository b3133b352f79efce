"""GitLab's code quality report. Source: docs.gitlab.com, code quality report format."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.reports.fingerprint import fingerprints
from shutdownlint.reports.rendered import file_of
from shutdownlint.rules.finding import Severity

if TYPE_CHECKING:
    from shutdownlint.reports.report import Report
    from shutdownlint.rules.finding import Finding

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
            "location": _location(finding),
        }
        for finding, name in zip(report.findings, names, strict=True)
    ]
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def _location(finding: Finding) -> dict[str, Any]:
    file, known = file_of(finding)
    lines = (finding.place.line, finding.place.end_line) if known else (1, 1)
    return {
        "path": file.removeprefix("./"),
        "lines": {"begin": lines[0], "end": lines[1]},
    }
