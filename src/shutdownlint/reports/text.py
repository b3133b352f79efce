"""For people: the full report, and one line for each finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report


def render_text(report: Report, output: ReportOutput) -> str | None:
    """The full report."""
    if not report.findings:
        # Nothing to draw: such a run does not wait for the library that draws.
        return "".join(f"{line}\n" for line in report.summary())
    from shutdownlint.reports import text_findings  # noqa: PLC0415 - needs that library

    return output.draw(lambda console: text_findings.draw_report(report, console))


def render_concise(report: Report, output: ReportOutput) -> str | None:
    """One line for each finding."""
    if not report.findings:
        return ""
    from shutdownlint.reports import text_findings  # noqa: PLC0415 - see above

    return output.draw(lambda console: text_findings.draw_lines(report, console))
