"""For people: each finding with its source line, the guilty part marked, and the fix in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from shutdownlint.engine.finding import Severity
from shutdownlint.reports.report import safe

if TYPE_CHECKING:
    from rich.console import Console

    from shutdownlint.engine.finding import Finding
    from shutdownlint.reports.report import Report

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
    *skipped, counted = report.summary()
    for line in skipped:
        console.print(Text(line, "dim"), soft_wrap=True)
    console.print(Text(counted), soft_wrap=True)


def write_concise(report: Report, console: Console) -> None:
    """One line a finding."""
    for finding in report.findings:
        line = Text(f"{safe(str(finding.region))}: ")
        line.append(f"{finding.severity.value} {finding.rule}", _COLOURS[finding.severity])
        line.append(f" {safe(finding.message)}")
        if finding.workload is not None:
            line.append(f" [{safe(str(finding.workload))}]", "dim")
        console.print(line, soft_wrap=True)


def _writable(finding: Finding, report: Report) -> bool:
    """Whether a fix could be written: a rendering is no file."""
    return not finding.template and finding.region.file not in report.reading.texts


def _finding(finding: Finding, report: Report, console: Console) -> None:
    colour = _COLOURS[finding.severity]
    head = Text()
    head.append(f"{finding.severity.value}[{finding.rule}]", colour)
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
    line = report.line(region.file, region.line)
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
    region = finding.region
    start = min(region.column - 1, len(line))
    stop = region.end_column - 1 if region.end_line == region.line else len(line)
    stop = max(min(stop, len(line)), start + 1)
    before, marked, after = safe(line[:start]), safe(line[start:stop]), safe(line[stop:])
    if len(line) > _LONGEST_LINE:  # minified: only what stands around the guilty part
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


def _remarks(finding: Finding, report: Report) -> list[tuple[str, str]]:
    remarks = []
    if finding.fix:
        option = "--fix" if finding.fix.safe else "--unsafe-fixes"
        can = f" [{option}]" if finding.fix.changes and _writable(finding, report) else ""
        remarks.append(("fix", f"{finding.fix.words}{can}"))
    for related in finding.related:
        near, far = f"line {related.region.line}", f"{related.region.file}:{related.region.line}"
        if near not in finding.message and far not in finding.message:
            remarks.append(("see", f"{related.label} at {related.region}"))
    if finding.template:
        remarks.append(("template", finding.template))
    remarks += [(f"{finding.confidence.value} confidence", text) for text in finding.assumed]
    return remarks
