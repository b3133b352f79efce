"""GitHub workflow commands: findings as annotations of a pull request's lines.

Source: docs.github.com, workflow commands; escaping as in actions/toolkit, core/src/command.ts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.engine.finding import Severity
from shutdownlint.manifests.discovery import STDIN_NAME
from shutdownlint.reports.report import full_message, safe

if TYPE_CHECKING:
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report

#: So many annotations of a level are shown of one step (docs.github.com, annotations of checks).
_SHOWN: Final = 10
_COMMANDS: Final = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "notice",
}


def render_github(report: Report, _output: ReportOutput) -> str:
    """One command a finding, and the count as plain text."""
    lines = []
    for finding in report.findings:
        region = finding.region
        properties: dict[str, str | int] = {"title": f"{finding.rule} {finding.title}"}
        if region.file != STDIN_NAME:
            file = region.file.removeprefix("./")
            properties = {
                "file": file,
                "line": region.line,
                "endLine": region.end_line,
                **properties,
            }
        if (
            "file" in properties and region.line == region.end_line
        ):  # columns of several lines are refused
            properties |= {"col": region.column, "endColumn": region.end_column}
        text = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
        fix = f"\nFix: {safe(finding.fix.description)}" if finding.fix else ""
        message = _data(safe(full_message(finding)) + fix)
        lines.append(f"::{_COMMANDS[finding.severity]} {text}::{message}\n")
    if any(report.count(severity) > _SHOWN for severity in _COMMANDS):
        lines.append(
            f"GitHub annotates the first {_SHOWN} of a level; this list has all of them.\n"
        )
    return "".join([*lines, f"{report.last_line()}\n"])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(safe(text)).replace(":", "%3A").replace(",", "%2C")
