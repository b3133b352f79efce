"""Suggestions for people: each workload's changes, old and new, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from shutdownlint.platforms.registry import mesh_remedy
from shutdownlint.reports.explanation import Explanation
from shutdownlint.reports.report import full_message, safe
from shutdownlint.reports.texts import (
    format_failure,
    format_grace_reason,
    format_reason,
    format_share,
    format_share_cost,
    format_window,
)
from shutdownlint.shutdown.durations import format_duration
from shutdownlint.shutdown.loss import LossKind
from shutdownlint.shutdown.pod_plan import GRACE_FIELD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from shutdownlint.engine.finding import Finding
    from shutdownlint.fixes.suggest import Suggestion, SuggestReport
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.shutdown.solver import Change


def render_text(report: SuggestReport, output: ReportOutput) -> str | None:
    """Each workload's changes, and what they achieve."""

    def draw(console: Console) -> None:
        for suggestion in report.suggestions:
            for line in _lines(suggestion, report.fixed):
                console.print(line, soft_wrap=True)
            console.print()

    return output.draw(draw)


def _lines(suggestion: Suggestion, fixed: list[Finding]) -> Iterator[Text]:
    region, workload = suggestion.pod.ref.region(), suggestion.pod.id
    head = Text(safe(suggestion.pod.title), "bold")
    head.append(f"  {safe(region.file)}:{region.line}", "dim")
    yield head
    for text in suggestion.pod.rejections:
        yield Text(f"  rejected: {safe(text)}", "red")
    plan = suggestion.pod.plan
    for change in suggestion.solution.changes:
        yield _change(change, plan.how_to_change(change.container, change.field) if plan else "")
    own = [finding for finding in fixed if finding.workload == workload]
    for finding in own:
        if finding.fix is not None:
            line = Text(f"  {finding.rule}: ")
            line.append(safe(finding.fix.description), "green")
            line.append(f"  {safe(full_message(finding))}", "dim")
            yield line
    yield Text(f"  {_format_result(suggestion, fixed=bool(own))}", "dim")
    if suggestion.pod.plan is not None:
        explanation = Explanation(suggestion.pod)
        for row in explanation.shares:
            cost = format_share_cost(row, explanation.rollout)
            yield Text(f"  {format_share(row)}{f': {cost}' if cost else ''}", "dim")
    for text in _doubts(suggestion):
        yield Text(f"  {safe(text)}", "yellow")
    refused = suggestion.refused or suggestion.shared
    if refused:
        yield Text(f"  not written as an edit: {safe(refused)}", "yellow")


def _doubts(suggestion: Suggestion) -> Iterator[str]:
    """Yield the cases that the suggestion does not cover, and the mesh that it assumes."""
    plan = suggestion.pod.plan
    for loss in suggestion.lost:
        # That longer requests than these are cut is no news.
        if loss.is_sure or loss.kind is not LossKind.LONG or not loss.certain:
            lost = "still lost" if loss.is_sure else "perhaps lost"
            yield f"{lost}: {loss.text} ({format_window(loss)})"
    if suggestion.p99_assumed:
        taken = format_duration(suggestion.solution.targets.p99)
        yield f"assumption: requests take up to {taken} (set it with --p99 or --measured)"
    for alternative in suggestion.pod.alternatives:
        if alternative.pod.plan is not None and suggestion.is_proven:
            yield f"not computed for a pod {alternative.when} ({alternative.how_to_say})"
    for assumption in plan.assumptions if plan is not None else ():
        if assumption.remedy == mesh_remedy():
            yield f"assumption: {assumption}"


def _change(change: Change, how: str) -> Text:
    name, container = change.old.name, change.container
    owner = f" of {container}" if container and container not in name else ""
    line = Text(f"  {safe(name)}{safe(owner)}: ")
    line.append(change.old.value_text, "red")
    line.append(" -> ")
    line.append(change.value_text, "green")
    is_grace = change.field == GRACE_FIELD
    reason = format_grace_reason(change.reason) if is_grace else format_reason(change.reason)
    line.append(f"  {safe(reason)}{f' ({safe(how)})' if how else ''}", "dim")
    return line


def _format_result(suggestion: Suggestion, *, fixed: bool) -> str:
    solution = suggestion.solution
    p99, until = solution.targets.p99, solution.targets.propagation
    if solution.failure is not None:
        return f"not proven: {safe(format_failure(solution.failure))}"
    if not suggestion.is_proven:
        return "not everything is served:"
    done = "" if solution.changes else f"nothing {'else ' if fixed else ''}to change: "
    plan = suggestion.pod.plan
    if plan is not None and plan.runs_to_completion:
        return "runs to completion: it receives no requests"
    if plan is not None and not plan.gets_requests:
        return f"{done}it gets no requests, and its work has time after its hooks"
    late = f" or arriving within {format_duration(until)}" if until else ""
    served = f"every request of up to {format_duration(p99)} is served, in flight at deletion{late}"
    if suggestion.pod.rejections:
        return f"once no pod is rejected, {served}"
    return f"{done}{served}"
