"""``explain --summary``: one line for each workload."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from shutdownlint.reports.columns import align
from shutdownlint.reports.report import safe
from shutdownlint.reports.texts import format_verdict, format_weekly_loss, why_unplanned
from shutdownlint.shutdown.durations import format_duration
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.reports.explanation import Explanation, Explanations
    from shutdownlint.reports.output import ReportOutput

_HEADS = ("workload", "in flight", "arriving", "findings", "verdict")


def render_summary(explanations: Explanations, _output: ReportOutput) -> str:
    """A line for each workload: how long its requests may take, what is found, the verdict."""
    rows = [_HEADS, *(_row(explanation) for explanation in explanations)]
    rows += [
        (safe(pod.title), "-", "-", "-", safe(f"not checked: {why_unplanned(pod)}"))
        for pod in explanations.unplanned
    ]
    found = sum(bool(explanation.findings) for explanation in explanations)
    counts = f"{plural(len(explanations), 'workload')}, {found:,} with findings"
    if explanations.unplanned:
        counts += f"; {len(explanations.unplanned):,} not checked"
    return "".join(f"{line}\n" for line in (*align(rows), counts)) if rows[1:] else ""


def _row(explanation: Explanation) -> tuple[str, ...]:
    found = Counter(finding.severity.value for finding in explanation.findings)
    findings = ", ".join(plural(count, severity) for severity, count in sorted(found.items()))
    verdict = format_verdict(explanation).replace(
        ", if the assumptions below are right", " (assumed)"
    )
    if explanation.lost_requests is not None:
        verdict += f"; {format_weekly_loss(explanation.lost_requests)}"
    title = safe(explanation.pod.title)
    if not explanation.has_timeline:
        return title, "-", "-", findings or "-", safe(verdict)
    headroom = explanation.analysis.headroom
    in_flight = _longest(headroom.max_in_flight)
    late = "refused" if not headroom.late_at else _longest(headroom.max_late)
    return title, in_flight, late, findings or "-", safe(verdict)


def _longest(duration: timedelta | None) -> str:
    if duration is None:
        return "any"
    return format_duration(duration) if duration else "none"
