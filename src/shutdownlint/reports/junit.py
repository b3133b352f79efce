"""JUnit XML: every finding is a failed test of its file."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from shutdownlint.engine.finding import Severity
from shutdownlint.reports.report import full_message, safe

if TYPE_CHECKING:
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report


def render_junit(report: Report, _output: ReportOutput) -> str:
    """Return the report as XML. Notes are passed tests with an output; a clean run has one test."""
    failed = sum(finding.severity is not Severity.NOTE for finding in report.findings)
    tests = max(len(report.findings), 1)
    root = Element("testsuites", name="shutdownlint", tests=str(tests), failures=str(failed))
    for file, findings in groupby(report.findings, key=lambda finding: finding.region.file):
        suite = SubElement(root, "testsuite", name=safe(file))
        failures = 0
        for count, finding in enumerate(findings, 1):
            region = finding.region
            of = f" ({finding.workload})" if finding.workload is not None else ""
            case = SubElement(
                suite,
                "testcase",
                classname=safe(file),
                name=safe(f"{finding.rule} {finding.name} at line {region.line}{of}"),
                file=safe(file),
                line=str(region.line),
            )
            fix = f"\nFix: {safe(finding.fix.description)}" if finding.fix else ""
            text = safe(f"{region}: {full_message(finding)}") + fix
            if finding.severity is Severity.NOTE:
                SubElement(case, "system-out").text = text
            else:
                failures += 1
                message = safe(full_message(finding))
                problem = SubElement(case, "failure", type=finding.severity.value, message=message)
                problem.text = text
            suite.set("tests", str(count))
            suite.set("failures", str(failures))
    if not report.findings:
        suite = SubElement(root, "testsuite", name="shutdownlint", tests="1", failures="0")
        SubElement(suite, "testcase", classname="shutdownlint", name=safe(report.last_line()))
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"
