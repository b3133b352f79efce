"""Findings drawn on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from shutdownlint.engine.finding import Severity
from shutdownlint.project import rule_url
from shutdownlint.reports.report import full_message, safe, safe_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from shutdownlint.engine.finding import Finding
    from shutdownlint.reports.report import Report

_COLOURS: Final = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.NOTE: "bold cyan",
}
_LONGEST_LINE: Final = 160
#: Of the variants that share a finding, so many are named.
_MOST_NAMES: Final = 8


def draw_report(report: Report, console: Console) -> None:
    """The full report; plain text where the console is not a terminal."""
    for finding in report.findings:
        _finding(finding, report, console)
    if report.quiet:
        return
    *skipped, counts = report.summary()
    for line in skipped:
        console.print(Text(line, "dim"), soft_wrap=True)
    console.print(Text(counts), soft_wrap=True)


def draw_lines(report: Report, console: Console) -> None:
    """One line for each finding."""
    for finding in report.findings:
        line = Text(f"{safe_line(str(finding.region))}: ")
        line.append(f"{finding.severity.value} {finding.rule}", _COLOURS[finding.severity])
        line.append(f" {safe(full_message(finding))}")
        if finding.workload is not None:
            line.append(f" [{safe(str(finding.workload))}]", "dim")
        console.print(line, soft_wrap=True)


def _finding(finding: Finding, report: Report, console: Console) -> None:
    colour = _COLOURS[finding.severity]
    head = Text()
    # A terminal that can shows the rule's page on a click.
    page = rule_url(finding.rule)
    head.append(
        f"{finding.severity.value}[{finding.rule}]", f"{colour} link {page}" if page else colour
    )
    head.append(f" {finding.name}: ", "bold")
    head.append(safe(finding.message))
    console.print(head, soft_wrap=True)
    region = finding.region
    width = len(str(region.line))
    location = Text(" " * width)
    location.append("--> ", "blue")
    location.append(safe(str(region)))
    if finding.workload is not None:
        location.append(f"  {safe(str(finding.workload))}", "dim")
        if finding.container:
            location.append(f", container {safe(finding.container)}", "dim")
    console.print(location, soft_wrap=True)
    line = report.lines.line(region.file, region.line)
    if line is not None:
        _source(line, finding, width, colour, console)
    for label, text in _details(finding, report):
        detail = Text()
        detail.append(f"{' ' * width} = ", "blue")
        detail.append(f"{label}: ", "bold")
        detail.append(safe(text))
        console.print(detail, soft_wrap=True)
    console.print()


def _source(line: str, finding: Finding, width: int, colour: str, console: Console) -> None:
    region = finding.region
    start = min(region.column - 1, len(line))
    stop = region.end_column - 1 if region.end_line == region.line else len(line)
    stop = max(min(stop, len(line)), start + 1)
    before, marked, after = safe(line[:start]), safe(line[start:stop]), safe(line[stop:])
    if len(line) > _LONGEST_LINE:  # minified: only what is near the deciding part
        before = before if len(before) < 60 else f"…{before[-40:]}"
        marked, after = marked[:80], after if len(after) < 60 else f"{after[:40]}…"
    shown = Text()
    shown.append(f"{region.line} | ", "blue")
    shown.append(before)
    shown.append(marked, colour)
    shown.append(after)
    console.print(shown, soft_wrap=True)
    under = Text(f"{' ' * width} | ", "blue")
    under.append(" " * len(before))
    under.append("^" * max(len(marked), 1), colour)
    console.print(under, soft_wrap=True)


def _list(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _details(finding: Finding, report: Report) -> list[tuple[str, str]]:
    details = []
    if finding.fix:
        option = "--fix" if finding.fix.safe else "--unsafe-fixes"
        can = f" [{option}]" if report.is_fixable(finding) else ""
        details.append(("fix", f"{finding.fix.description}{can}"))
    for related in finding.related:
        near, far = f"line {related.region.line}", f"{related.region.file}:{related.region.line}"
        if near not in finding.message and far not in finding.message:
            details.append(("see", f"{related.label} at {related.region}"))
    if finding.holds_for:
        details.append(("holds for", finding.holds_for))
    if finding.variants:
        details.append(("variants" if finding.variants[1:] else "variant", _list(finding.variants)))
    if finding.template and finding.template != finding.region.file:
        details.append(("template", finding.template))
    details += [(f"{finding.confidence.value} confidence", text) for text in finding.assumptions]
    return details
