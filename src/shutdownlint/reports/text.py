"""For people: each finding with its source line, the guilty part marked, and the fix in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from shutdownlint.reports.report import safe
from shutdownlint.rules.finding import Severity

if TYPE_CHECKING:
    from rich.console import Console

    from shutdownlint.reports.report import Report
    from shutdownlint.rules.finding import Finding

_COLOURS: Final = {
    Severity.ERROR: "bold red",
    Severity.WARNING: "bold yellow",
    Severity.NOTE: "bold cyan",
}


_LONGEST_LINE: Final = 160


def write_text(report: Report, console: Console) -> None:
    """The full report; plain text where the console is no terminal."""
    for finding in report.findings:
        _finding(finding, report, console)
    *passed_over, counted = report.summary()
    for line in passed_over:
        console.print(Text(line, "dim"), soft_wrap=True)
    console.print(Text(counted), soft_wrap=True)


def write_concise(report: Report, console: Console) -> None:
    """One line a finding."""
    for finding in report.findings:
        line = Text(f"{safe(str(finding.place))}: ")
        line.append(f"{finding.severity.value} {finding.rule}", _COLOURS[finding.severity])
        line.append(f" {safe(finding.message)}")
        if finding.workload is not None:
            line.append(f" [{safe(str(finding.workload))}]", "dim")
        console.print(line, soft_wrap=True)


def _writable(finding: Finding, report: Report) -> bool:
    """Whether a fix could be written: a rendering is no file."""
    return not finding.template and finding.place.file not in report.reading.texts


def _finding(finding: Finding, report: Report, console: Console) -> None:
    colour = _COLOURS[finding.severity]
    head = Text()
    head.append(f"{finding.severity.value}[{finding.rule}]", colour)
    head.append(f" {finding.name}: ", "bold")
    head.append(safe(finding.message))
    console.print(head, soft_wrap=True)
    place = finding.place
    width = len(str(place.line))
    where = Text(" " * width)
    where.append("--> ", "blue")
    where.append(safe(str(place)))
    if finding.workload is not None:
        where.append(f"  {safe(str(finding.workload))}", "dim")
        if finding.container:
            where.append(f", container {safe(finding.container)}", "dim")
    console.print(where, soft_wrap=True)
    line = report.line(place.file, place.line)
    if line is not None:
        _source(line, finding, width, colour, console)
    for label, words in _remarks(finding, report):
        remark = Text()
        remark.append(f"{' ' * width} = ", "blue")
        remark.append(f"{label}: ", "bold")
        remark.append(safe(words))
        console.print(remark, soft_wrap=True)
    console.print()


def _source(line: str, finding: Finding, width: int, colour: str, console: Console) -> None:
    place = finding.place
    start = min(place.column - 1, len(line))
    stop = place.end_column - 1 if place.end_line == place.line else len(line)
    stop = max(min(stop, len(line)), start + 1)
    before, marked, after = safe(line[:start]), safe(line[start:stop]), safe(line[stop:])
    if len(line) > _LONGEST_LINE:  # minified: only what stands around the guilty part
        before = before if len(before) < 60 else f"…{before[-40:]}"
        marked, after = marked[:80], after if len(after) < 60 else f"{after[:40]}…"
    shown = Text()
    shown.append(f"{place.line} | ", "blue")
    shown.append(before)
    shown.append(marked, colour)
    shown.append(after)
    console.print(shown, soft_wrap=True)
    under = Text(f"{' ' * width} | ", "blue")
    under.append(" " * len(before))
    under.append("^" * max(len(marked), 1), colour)
    console.print(under, soft_wrap=True)


def _remarks(finding: Finding, report: Report) -> list[tuple[str, str]]:
    remarks = []
    if finding.fix:
        option = "--fix" if finding.fix.safe else "--unsafe-fixes"
        can = f" [{option}]" if finding.fix.changes and _writable(finding, report) else ""
        remarks.append(("fix", f"{finding.fix.words}{can}"))
    for related in finding.related:
        near, far = f"line {related.place.line}", f"{related.place.file}:{related.place.line}"
        if near not in finding.message and far not in finding.message:
            remarks.append(("see", f"{related.label} at {related.place}"))
    if finding.template:
        remarks.append(("template", finding.template))
    remarks += [(f"{finding.confidence.value} confidence", text) for text in finding.assumed]
    return remarks
