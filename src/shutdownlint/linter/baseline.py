"""Findings that were there when a team began: a file of their fingerprints.

They survive lines that move and files that are formatted anew elsewhere; a finding whose own line
changes is a new one.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from shutdownlint.engine.suppress import ALWAYS, SuppressedFinding
from shutdownlint.reports.fingerprint import fingerprints

if TYPE_CHECKING:
    from shutdownlint.engine.finding import Finding
    from shutdownlint.reports.report import Report


_IN_BASELINE: Final = "in the baseline"


class BaselineError(Exception):
    """A baseline that cannot be used."""


class BaselineEntry(Struct, frozen=True):
    """One finding of a baseline."""

    file: str
    fingerprint: str
    rule: str

    @property
    def digest(self) -> str:
        """The fingerprint without its count among equal ones of a file."""
        return self.fingerprint.partition(":")[0]


class Compared(Struct):
    """A run beside its baseline: what is new, what is known, what is gone."""

    new: list[Finding]
    known: list[SuppressedFinding]
    gone: list[BaselineEntry]


def _entries(report: Report) -> list[tuple[BaselineEntry, Finding]]:
    findings = [finding for finding in report.findings if finding.rule not in ALWAYS]
    names = fingerprints(findings, report)
    return [
        (BaselineEntry(finding.region.file.removeprefix("./"), name, finding.rule), finding)
        for finding, name in zip(findings, names, strict=True)
    ]


def baseline_text(report: Report) -> tuple[str, int]:
    """All findings of a report as a baseline, and how many there are."""
    entries = [
        {"rule": entry.rule, "file": entry.file, "fingerprint": entry.fingerprint}
        for entry, _ in _entries(report)
    ]
    data = {"version": 1, "findings": entries}
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n", len(entries)


def compare(report: Report, text: str) -> Compared:
    """Part a report's findings by the baseline. Raises ``BaselineError``."""
    try:
        data: Any = json.loads(text)
        known = Counter(
            BaselineEntry(e["file"], e["fingerprint"], e["rule"]) for e in data["findings"]
        )
    except (ValueError, KeyError, TypeError):
        raise BaselineError("it is no baseline: write one with --write-baseline") from None
    if data.get("version") != 1:
        raise BaselineError("it is a baseline of another version: write it anew")
    compared = Compared([f for f in report.findings if f.rule in ALWAYS], [], [])
    left: list[tuple[BaselineEntry, Finding]] = []
    for entry, finding in _entries(report):
        if known[entry] > 0:
            known[entry] -= 1
            compared.known.append(SuppressedFinding(finding, _IN_BASELINE, in_source=False))
        else:
            left.append((entry, finding))
    # The same in a file of another name: it was renamed, or is named from another folder.
    elsewhere: dict[tuple[str, str], list[BaselineEntry]] = {}
    for entry in known.elements():
        elsewhere.setdefault((entry.rule, entry.digest), []).append(entry)
    for entry, finding in left:
        same = elsewhere.get((entry.rule, entry.digest))
        if same:
            known[same.pop(0)] -= 1
            compared.known.append(SuppressedFinding(finding, _IN_BASELINE, in_source=False))
        else:
            compared.new.append(finding)
    compared.gone = list(known.elements())
    return compared
