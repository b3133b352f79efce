"""Markdown: a table fit for a comment on a pull request or a job's summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.patterns import lazy_pattern
from shutdownlint.reports.report import full_message, safe

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report

#: A comment on GitHub holds 65,536 characters; what is left is for the person who writes it.
MOST_CHARACTERS: Final = 60_000
_SPECIAL: Final = lazy_pattern(r"([\\`*_{}\[\]<>#|~&@$])")


def render_markdown(report: Report, _output: ReportOutput) -> str:
    """The counts, and a row for each finding, the worst first, as far as a comment holds them."""
    if not report.findings:
        return f"**shutdownlint**: {escape_markdown(report.last_line())}\n"
    head = f"**shutdownlint**: {escape_markdown(report.last_line())}\n\n"
    head += "| | rule | where | what | fix |\n|---|---|---|---|---|\n"
    rows, length = [], len(head)
    ordered = sorted(report.findings, key=lambda finding: -finding.severity.rank)
    for finding in ordered:
        row = _row(finding)
        if length + len(row) > MOST_CHARACTERS:
            break
        rows.append(row)
        length += len(row)
    left = len(ordered) - len(rows)
    cut = f"\n…and {left:,} more: this is as much as a comment holds.\n" if left else ""
    return head + "".join(rows) + cut


def _row(finding: Finding) -> str:
    of = f"<br>{escape_markdown(str(finding.workload))}" if finding.workload is not None else ""
    cells = (
        finding.severity.value,
        f"{finding.rule} {escape_markdown(finding.name)}",
        f"{escape_markdown(str(finding.region))}{of}",
        escape_markdown(full_message(finding)),
        escape_markdown(finding.fix.description) if finding.fix else "",
    )
    return f"| {' | '.join(cells)} |\n"


def escape_markdown(text: str) -> str:
    """Text from the input: no link, no mention, no HTML, no new row comes of it."""
    return _SPECIAL.sub(r"\\\1", safe(text)).replace("\\<", "&lt;").replace("\\@", "@\u200b")
