"""Findings drawn on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from shutdownlint.engine.finding import Severity
from shutdownlint.linter.grouping import group_by_cause
from shutdownlint.project import rule_url
from shutdownlint.reports.causes import (
    CausePlace,
    describe_cause,
    describe_fix,
    format_places,
    list_places,
)
from shutdownlint.reports.report import full_message, safe
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
    """Draw the full report; as plain text if the console is not a terminal."""
    for findings in group_by_cause(report.findings):
        _cause(findings, report, console)
    if report.quiet:
        return
    *footnotes, counts = report.summary()
    for line in footnotes:
        console.print(Text(line, "dim"), soft_wrap=True)
    console.print(Text(counts), soft_wrap=True)


def draw_lines(report: Report, console: Console) -> None:
    """One line for each finding."""
    for finding in report.findings:
        line = Text(f"{safe(str(finding.region))}: ")
        line.append(f"{finding.severity.value} {finding.rule}", _COLOURS[finding.severity])
        line.append(f" {safe(full_message(finding))}")
        if finding.workload is not None:
            line.append(f" [{safe(str(finding.workload))}]", "dim")
        console.print(line, soft_wrap=True)


def _cause(findings: Sequence[Finding], report: Report, console: Console) -> None:
    """One cause: what is wrong, where, the fix, and the workloads that it holds for."""
    finding = findings[0]
    places = list_places(findings, report)
    colour = _COLOURS[finding.severity]
    head = Text()
    # A terminal that can shows the rule's page on a click.
    page = rule_url(finding.rule)
    head.append(
        f"{finding.severity.value}[{finding.rule}]", f"{colour} link {page}" if page else colour
    )
    head.append(f" {finding.name}: ", "bold")
    head.append(safe(describe_cause(findings, places)))
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
    for label, text in _details(findings, places, report):
        detail = Text()
        detail.append(f"{' ' * width} = ", "blue")
        detail.append(f"{label}: ", "bold")
        detail.append(safe(text))
        console.print(detail, soft_wrap=True)
    for text in format_places(places[1:]):
        console.print(Text(f"{' ' * width}   {text}", "dim"), soft_wrap=True)
    console.print()


def _source(line: str, finding: Finding, width: int, colour: str, console: Console) -> None:
    region = finding.region
    start = min(region.column - 1, len(line))
    stop = region.end_column - 1 if region.end_line == region.line else len(line)
    stop = max(min(stop, len(line)), start + 1)
    before, marked, after = line[:start], line[start:stop], line[stop:]
    if len(line) > _LONGEST_LINE:  # minified: only what is near the deciding part
        before = before if len(before) < 60 else f"…{before[-40:]}"
        marked, after = marked[:80], after if len(after) < 60 else f"{after[:40]}…"
    before, marked, after = safe(before), safe(marked), safe(after)
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


def _details(
    findings: Sequence[Finding], places: Sequence[CausePlace], report: Report
) -> Iterator[tuple[str, str]]:
    finding = findings[0]
    if len(places) > 1 and len({each.message for each in findings}) > 1:
        yield "here", finding.message
    fix = describe_fix(findings, places, report)
    if fix:
        yield "fix", fix
    for related in finding.related:
        near, far = f"line {related.region.line}", f"{related.region.file}:{related.region.line}"
        if near not in finding.message and far not in finding.message:
            yield "see", f"{related.label} at {related.region}"
    if finding.holds_for and len({each.holds_for for each in findings}) == 1:
        yield "holds for", finding.holds_for
    if places[0].variants:
        yield "variants" if places[0].variants[1:] else "variant", _list(places[0].variants)
    if finding.template and finding.template != finding.region.file:
        yield "template", finding.template
    for text in finding.assumptions:
        yield f"{finding.confidence.value} confidence", text
    if len(places) > 1:
        yield "also", plural(len(places) - 1, "other workload")
