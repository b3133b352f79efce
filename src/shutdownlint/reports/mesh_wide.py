"""``suggest --mesh-wide``: the change of a mesh's configuration, and what it leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint.reports.diff import unified_diff
from shutdownlint.reports.report import safe, to_json, workload_data
from shutdownlint.reports.texts import format_failure, format_reason
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.fixes.mesh_wide import MeshMember, MeshSuggestion
    from shutdownlint.reports.output import ReportOutput


def render_text(suggestions: Sequence[MeshSuggestion], _output: ReportOutput) -> str:
    """Return each mesh's changes, and the workloads that they do not serve."""
    blocks = ["".join(f"{safe(line)}\n" for line in _lines(each)) for each in suggestions]
    return "\n".join(blocks)


def _lines(suggestion: MeshSuggestion) -> Iterator[str]:
    yield f"Mesh {suggestion.mesh}  {_place(suggestion) or 'not among the files'}"
    for change in suggestion.changes:
        reason = format_reason(change.reason)
        yield f"  {change.old.name}: {change.old.value_text} -> {change.value_text}  {reason}"
    if not suggestion.changes:
        yield "  no setting of the mesh serves more"
    if suggestion.refused:
        yield f"  not written as an edit: {suggestion.refused}"
    served = sum(not each.lost for each in suggestion.members)
    total = plural(len(suggestion.members), "workload")
    yield f"  {served} of {total} lose nothing with it, {suggestion.served_before} as it is"
    for member in suggestion.members:
        if member.lost:
            yield f"  {member.suggestion.pod.title}: {'; '.join(_reasons(member))}"


def _reasons(member: MeshMember) -> Iterator[str]:
    """Say why a workload is not served by the mesh's settings alone."""
    for override in member.overrides:
        region = override.location.region()
        yield f"its own {override.name} {override.value} replaces the mesh's ({region})"
    yield from (loss.text for loss in member.lost)
    solution = member.suggestion.solution
    needs = [f"{change.old.name} {change.value_text}" for change in solution.changes]
    if needs:
        yield f"needs {', '.join(needs)}"
    if solution.failure is not None:
        yield format_failure(solution.failure)


def _place(suggestion: MeshSuggestion) -> str:
    return str(suggestion.place.location.region()) if suggestion.place is not None else ""


def render_json(suggestions: Sequence[MeshSuggestion], _output: ReportOutput) -> str:
    """Return the same as JSON."""
    data = {
        "tool": "shutdownlint",
        "version": 1,
        "meshes": [
            {
                "mesh": each.mesh,
                "place": _place(each) or None,
                "changes": [
                    {
                        "setting": change.old.name,
                        "old": change.old.value_text,
                        "new": change.value_text,
                        "reason": format_reason(change.reason),
                    }
                    for change in each.changes
                ],
                "refused": each.refused or None,
                "served_before": each.served_before,
                "workloads": [_member(member) for member in each.members],
            }
            for each in suggestions
        ],
    }
    return to_json(data)


def _member(member: MeshMember) -> dict[str, Any]:
    pod = member.suggestion.pod
    return {
        "workload": workload_data(pod.id),
        "variant": pod.variant or None,
        "served": not member.lost,
        "reasons": [*_reasons(member)] if member.lost else [],
    }


def render_diff(suggestions: Sequence[MeshSuggestion], _output: ReportOutput) -> str:
    """Return the changes of the meshes' files as a diff."""
    return "".join(
        unified_diff(name, each.originals[name], text)
        for each in suggestions
        for name, text in sorted(each.texts.items())
    )
