"""Markdown: a table fit for a comment on a pull request or a job's summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.linter.grouping import group_by_cause
from shutdownlint.patterns import lazy_pattern
from shutdownlint.reports.causes import describe_cause, describe_fix, list_places
from shutdownlint.reports.report import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report

#: A comment on GitHub holds 65,536 characters; what is left is for the person who writes it.
MOST_CHARACTERS: Final = 60_000
#: Of the workloads of a cause so many are listed.
_MOST_PLACES: Final = 10
#: By this a bot finds the comment that it wrote for an earlier state of a pull request.
_MARKER: Final = "<!-- shutdownlint: since -->"
_SPECIAL: Final = lazy_pattern(r"([\\`*_{}\[\]<>#|~&@$])")


def render_markdown(report: Report, _output: ReportOutput) -> str:
    """Render the losses of stops, and a row for each cause, the worst first, if space allows."""
    counts = f"**shutdownlint**: {escape_markdown(report.last_line())}\n"
    notes = "".join(f"- {escape_markdown(line)}\n" for line in report.footnotes())
    head = f"{counts}\n{notes}" if notes else counts
    if report.since is not None:
        head = f"{_MARKER}\n{head}"
    if not report.findings:
        return head
    head += "\n| | rule | where | what | fix |\n|---|---|---|---|---|\n"
    rows, length = [], len(head)
    causes = group_by_cause(report.findings)
    for findings in causes:
        row = _row(findings, report)
        if length + len(row) > MOST_CHARACTERS:
            break
        rows.append(row)
        length += len(row)
    left = len(causes) - len(rows)
    cut = f"\n…and {left:,} more: this is as much as a comment holds.\n" if left else ""
    return head + "".join(rows) + cut


def _row(findings: Sequence[Finding], report: Report) -> str:
    first = findings[0]
    places = list_places(findings, report)
    where = [f"{place.where} {place.workload}" for place in places[:_MOST_PLACES]]
    if len(places) == 1:
        where = [str(first.region), places[0].workload]
    if len(places) > _MOST_PLACES:
        where.append(f"and {len(places) - _MOST_PLACES:,} more")
    holds = f" (holds for {first.holds_for})" if first.holds_for else ""
    cells = (
        first.severity.value,
        f"{first.rule} {escape_markdown(first.name)}",
        "<br>".join(escape_markdown(text.strip()) for text in where if text),
        escape_markdown(describe_cause(findings, places) + holds),
        escape_markdown(describe_fix(findings, places, report) or ""),
    )
    return f"| {' | '.join(cells)} |\n"


def escape_markdown(text: str) -> str:
    """Text from the input: no link, no mention, no HTML, no new row comes of it."""
    return _SPECIAL.sub(r"\\\1", safe(text)).replace("\\<", "&lt;").replace("\\@", "@\u200b")
