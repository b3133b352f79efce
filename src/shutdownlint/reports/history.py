"""The changes between the JSON reports of a folder: findings that are new, fixed and left."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from shutdownlint import limits
from shutdownlint.reports.columns import align
from shutdownlint.reports.markdown import escape_markdown
from shutdownlint.reports.report import safe, to_json
from shutdownlint.repository_root import read_regular_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from shutdownlint.reports.output import ReportOutput

_SEVERITIES: Final = ("error", "warning", "note")
_HEADS: Final = ("report", "errors", "warnings", "notes", "new", "fixed", "workloads")
_NO_TEAM: Final = "no team"


class HistoryError(Exception):
    """A file that is not a JSON report; the message names it."""


class HistoryRow(Struct, frozen=True):
    """One report beside the one before it.

    ``new`` and ``fixed`` are None for the first, and where one of both was made with a baseline.
    Notes count where both reports have them.
    """

    name: str
    counts: dict[str, int]
    workloads: int
    new: int | None
    fixed: int | None


class History(Struct, frozen=True):
    """The reports by name, and who owns the findings of the last one."""

    rows: tuple[HistoryRow, ...]
    owners: dict[str, int]


def read_history(folder: Path) -> History:
    """Return the JSON reports of a folder in the order of their names. Raises ``HistoryError``."""
    rows: list[HistoryRow] = []
    before: JsonReport | None = None
    owners: Counter[str] = Counter()
    for path in sorted(folder.glob("*.json")):
        report = read_report(path)
        counts = Counter(str(finding.get("severity")) for finding in report.findings)
        owners = Counter(str(finding.get("owner") or _NO_TEAM) for finding in report.findings)
        new = fixed = None
        # What a baseline hides is neither new nor fixed.
        if before is not None and before.baseline == report.baseline:
            notes = before.has_notes and report.has_notes
            ours, theirs = report.keys(notes=notes), before.keys(notes=notes)
            new, fixed = (ours - theirs).total(), (theirs - ours).total()
        own = {name: counts[name] for name in _SEVERITIES}
        rows.append(HistoryRow(path.name, own, report.workloads, new, fixed))
        before = report
    return History(tuple(rows), dict(owners.most_common()))


class JsonReport(Struct, frozen=True):
    """The contents of a report. ``has_notes`` is false if notes were only counted."""

    findings: list[dict[str, Any]]
    workloads: int
    has_notes: bool
    baseline: bool
    losses: dict[str, int]

    def keys(self, *, notes: bool) -> Counter[tuple[str, str]]:
        """Return the keys that identify its findings, with the notes or without."""
        return Counter(
            (str(finding.get("file")), str(finding.get("fingerprint")))
            for finding in self.findings
            if notes or finding.get("severity") != "note"
        )


def read_report(path: Path) -> JsonReport:
    """Return a report. Raises ``HistoryError``."""
    text = read_regular_file(path, limits.MAX_FILE_BYTES)
    if text is None:
        raise HistoryError(f"{path}: a link, no file, or too large")
    try:
        data = json.loads(text)
        findings = data["findings"]
        summary = data["summary"]
        workloads = summary["workloads"]
        if not all(isinstance(finding, dict) for finding in findings):
            raise TypeError
        if not isinstance(workloads, int) or workloads < 0:
            raise TypeError
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        reason = "not a report of shutdownlint check --format json"
        raise HistoryError(f"{path}: {reason}") from None
    hidden, known = bool(summary.get("hidden_notes")), bool(summary.get("known"))
    losses = summary.get("losses")
    counts = losses.items() if isinstance(losses, dict) else ()
    return JsonReport(
        findings,
        workloads,
        has_notes=not hidden,
        baseline=known,
        losses={key: max(count, 0) for key, count in counts if isinstance(count, int)},
    )


def render_text(history: History, _output: ReportOutput) -> str:
    """Return a line for each report, then the teams of the last one."""
    lines = align([_HEADS, *map(_cells, history.rows)], numbers=range(1, len(_HEADS)))
    if set(history.owners) - {_NO_TEAM}:
        lines += ["", "findings of the last report by team"]
        lines += [f"{count:>6,}  {safe(owner)}" for owner, count in history.owners.items()]
    return "".join(f"{line}\n" for line in lines)


def render_markdown(history: History, _output: ReportOutput) -> str:
    """Return the same as tables."""
    rows = [_HEADS, ("---",) * len(_HEADS), *map(_cells, history.rows)]
    text = "".join(
        f"| {' | '.join(c if c == '---' else escape_markdown(c) for c in row)} |\n" for row in rows
    )
    if set(history.owners) - {_NO_TEAM}:
        text += "\n| team | findings |\n| --- | --- |\n"
        for owner, count in history.owners.items():
            text += f"| {escape_markdown(owner)} | {count:,} |\n"
    return text


def render_json(history: History, _output: ReportOutput) -> str:
    """Return the same for programs, version 1."""
    reports = [
        {
            "report": row.name,
            **{f"{name}s": count for name, count in row.counts.items()},
            "new": row.new,
            "fixed": row.fixed,
            "workloads": row.workloads,
        }
        for row in history.rows
    ]
    data = {"tool": "shutdownlint", "version": 1, "reports": reports, "owners": history.owners}
    return to_json(data)


def _cells(row: HistoryRow) -> Sequence[str]:
    changes = ("-" if number is None else f"{number:,}" for number in (row.new, row.fixed))
    counts = (f"{count:,}" for count in row.counts.values())
    return (safe(row.name), *counts, *changes, f"{row.workloads:,}")
