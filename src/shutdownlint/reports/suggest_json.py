"""Suggestions as JSON, version 1. Durations are text, as people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint.reports.diff import unified_diff
from shutdownlint.reports.report import full_message, to_json, to_seconds, workload_data
from shutdownlint.reports.texts import format_failure, format_grace_reason, format_reason
from shutdownlint.shutdown.pod_plan import GRACE_FIELD

if TYPE_CHECKING:
    from shutdownlint.fixes.suggest import Suggestion, SuggestReport
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.shutdown.solver import Change


def render_json(report: SuggestReport, _output: ReportOutput) -> str:
    """Each workload's changes, and the patches of the files."""
    data = {
        "tool": "shutdownlint",
        "version": 1,
        "workloads": [_workload(suggestion, report) for suggestion in report.suggestions],
        "patches": [
            {"file": name, "diff": unified_diff(name, report.originals[name], text)}
            for name, text in sorted(report.texts.items())
            if text != report.originals.get(name)
        ],
    }
    return to_json(data)


def _workload(suggestion: Suggestion, report: SuggestReport) -> dict[str, Any]:
    pod, solution = suggestion.pod, suggestion.solution
    region = pod.ref.region()
    return {
        "workload": workload_data(pod.id),
        "variant": pod.variant or None,
        "file": region.file,
        "line": region.line,
        "rejected": pod.rejections,
        "changes": [_change(change) for change in solution.changes],
        "fixed": [
            {"rule": finding.rule, "message": full_message(finding)}
            for finding in report.fixed
            if finding.workload == pod.id
        ],
        "proven": suggestion.is_proven,
        "failure": None if solution.failure is None else format_failure(solution.failure),
        "served": to_seconds(solution.targets.p99),
        "servedAssumed": suggestion.p99_assumed,
        "lost": [loss.text for loss in suggestion.lost],
        "refused": suggestion.refused or suggestion.shared or None,
    }


def _change(change: Change) -> dict[str, Any]:
    is_grace = change.field == GRACE_FIELD
    return {
        "setting": change.old.name,
        "container": change.container,
        "old": change.old.value_text,
        "new": change.value_text,
        "reason": format_grace_reason(change.reason) if is_grace else format_reason(change.reason),
    }
