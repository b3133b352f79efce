"""For people: the full report, and one line for each finding."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report


def render_text(report: Report, output: ReportOutput) -> str | None:
    """Return the full report."""
    if report.quiet and not report.findings:
        return ""
    if not report.findings:
        # Nothing to draw: such a run does not wait for the library that draws.
        return "".join(f"{line}\n" for line in report.summary())
    from shutdownlint.reports import text_findings  # noqa: PLC0415 - needs that library

    return output.draw(lambda console: text_findings.draw_report(report, console))


def render_statistics(report: Report, _output: ReportOutput) -> str:
    """Return the findings counted by rule, the most frequent first."""
    counts = Counter(
        (finding.rule, finding.severity.value, finding.name) for finding in report.findings
    )
    fixable = Counter(f.rule for f in report.findings if report.is_fixable(f))
    lines = []
    for (rule, severity, name), count in sorted(counts.items(), key=lambda c: (-c[1], c[0])):
        can = f"  {fixable[rule]:,} fixable" if fixable[rule] else ""
        lines.append(f"{count:>6,}  {rule:<8} {severity:<8} {name}{can}")
    return "".join(f"{line}\n" for line in (*lines, *(() if report.quiet else report.summary())))


def render_concise(report: Report, output: ReportOutput) -> str | None:
    """One line for each finding."""
    if not report.findings:
        return ""
    from shutdownlint.reports import text_findings  # noqa: PLC0415 - see above

    return output.draw(lambda console: text_findings.draw_lines(report, console))
