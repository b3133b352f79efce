"""``explain --summary``: one line for each workload, from the data of a check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint.linter.verdicts import NOT_JUDGED, count_outcomes, sort_verdicts
from shutdownlint.reports.columns import align
from shutdownlint.reports.report import safe, to_json, to_seconds, workload_data
from shutdownlint.reports.run_summary import describe_losses
from shutdownlint.reports.texts import format_verdict, format_weekly_loss
from shutdownlint.shutdown.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from shutdownlint.engine.finding import ReportedLoss
    from shutdownlint.linter.verdicts import WorkloadVerdict
    from shutdownlint.reports.output import ReportOutput

_HEADS: Final = ("workload", "file", "in flight", "arriving", "senders", "rules", "verdict")
#: Of the rules and senders of a workload so many are named.
_MOST_NAMES: Final = 2


def render_text(verdicts: Sequence[WorkloadVerdict], _output: ReportOutput) -> str:
    """Return a line for each workload, the worst first, and how many lose what."""
    if not verdicts:
        return ""
    rows = [_HEADS, *map(_row, sort_verdicts(verdicts))]
    return "".join(f"{line}\n" for line in (*align(rows), "", describe_losses(verdicts)))


def _row(verdict: WorkloadVerdict) -> tuple[str, ...]:
    in_flight = late = "-"
    if verdict.lost != NOT_JUDGED:
        in_flight = _longest(verdict.in_flight)
        late = (
            ("refused" if not verdict.late_at else _longest(verdict.late))
            if verdict.gets_requests
            else "-"
        )
    text = format_verdict(verdict).replace(", if the assumptions below are right", " (assumed)")
    if verdict.weekly is not None:
        text += f"; {format_weekly_loss(verdict.weekly)}"
    cells = (
        verdict.title,
        f"{verdict.region.file}:{verdict.region.line}",
        in_flight,
        late,
        _some(verdict.senders),
        _some(verdict.reported_by),
        text,
    )
    return tuple(map(safe, cells))


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" +{more}" if more > 0 else "") or "-"


def _longest(duration: timedelta | None) -> str:
    if duration is None:
        return "any"
    return format_duration(duration) if duration else "none"


def render_json(verdicts: Sequence[WorkloadVerdict], _output: ReportOutput) -> str:
    """Return the same as JSON. ``lost`` has the names of ``summary.losses``."""
    data = {
        "tool": "shutdownlint",
        "version": 1,
        "workloads": [_data(verdict) for verdict in sort_verdicts(verdicts)],
        "summary": {"losses": count_outcomes(verdicts)},
    }
    return to_json(data)


def _data(verdict: WorkloadVerdict) -> dict[str, Any]:
    return {
        "workload": workload_data(verdict.id),
        "variant": verdict.variant or None,
        "file": verdict.region.file,
        "line": verdict.region.line,
        "lost": verdict.lost,
        "verdict": format_verdict(verdict),
        "losses": [_loss(loss) for loss in verdict.losses],
        "reported_by": list(verdict.reported_by),
        "gets_requests": verdict.gets_requests,
        "senders": list(verdict.senders),
        "replicas": verdict.replicas,
        "assumed": verdict.is_assumed,
    }


def _loss(loss: ReportedLoss) -> dict[str, Any]:
    return {
        "kind": loss.kind.value,
        "text": loss.text,
        "process": loss.process,
        "from": to_seconds(loss.begin),
        "until": to_seconds(loss.end),
        "longer_than": to_seconds(loss.longer_than),
        "setting": loss.setting,
        "sure": loss.is_sure,
    }
