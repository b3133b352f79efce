"""Suggestions for people, as a patch for kustomize, and as values for a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from shutdownlint.fixes.suggest import patch
from shutdownlint.reports.report import safe
from shutdownlint.shutdown import written
from shutdownlint.yaml_source.editor import LiteralText, block_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from shutdownlint.engine.finding import Finding
    from shutdownlint.fixes.suggest import Suggestion

_NAMES = {
    "grace": "terminationGracePeriodSeconds",
    "preStop": "preStop sleep",
    "terminationDrain": "terminationDrainDuration",
    "minimumDrain": "MINIMUM_DRAIN_DURATION",
    "drainDuration": "drainDuration",
}


def suggest_text(
    found: Sequence[Suggestion], fix_result: Sequence[Finding], console: Console
) -> None:
    """Each workload's changes, old and new, with the reason; and what they achieve.

    ``fix_result`` are the findings that go with them: what is refused, or in the way.
    """
    for one in found:
        solution, region = one.solution, one.pod.ref.region()
        head = Text(safe(str(one.pod.id)), "bold")
        head.append(f"  {safe(region.file)}:{region.line}", "dim")
        console.print(head, soft_wrap=True)
        for change in solution.changes:
            of = f" of {safe(change.container)}" if change.container else ""
            line = Text(f"  {_NAMES[change.field]}{of}: ")
            line.append(change.old.shown, "red")
            line.append(" -> ")
            line.append(written(change.value), "green")
            line.append(f"  {safe(change.why)}", "dim")
            console.print(line, soft_wrap=True)
        for finding in fix_result:
            if finding.workload == one.pod.id and finding.fix is not None:
                line = Text(f"  {finding.rule}: ")
                line.append(safe(finding.fix.words), "green")
                line.append(f"  {safe(finding.message)}", "dim")
                console.print(line, soft_wrap=True)
        console.print(Text(f"  {_achieved(one)}", "dim"), soft_wrap=True)
        if one.refused:
            refused = Text(f"  not written as an edit: {safe(one.refused)}", "yellow")
            console.print(refused, soft_wrap=True)
        console.print()


def _achieved(one: Suggestion) -> str:
    solution = one.solution
    p99, until = written(solution.aims.p99), written(solution.aims.propagation)
    if not solution.proven:
        return f"not proven: {safe(solution.because)}"
    if one.pod.plan is not None and one.pod.plan.runs_to_completion:
        return "runs to completion: nobody sends it requests"
    late = f" or arriving within {until}" if solution.aims.propagation else ""
    served = f"every request of up to {p99} is served, in flight at deletion{late}"
    return served if solution.changes else f"nothing to change: {served}"


def kustomize_patch(found: Sequence[Suggestion], texts: Mapping[str, bytes]) -> str:
    """Strategic merge patches, one document a workload."""
    patches = [patch(one, texts) for one in found]
    return "---\n".join(_document(data) for data in patches if data is not None)


def helm_values(found: Sequence[Suggestion], texts: Mapping[str, bytes]) -> str:
    """Values by the names that charts usually have for them: hints, since charts differ."""
    parts = []
    for one in found:
        data = patch(one, texts)
        if data is None:
            continue
        source = one.pod.ref.source or "its template"
        told = f"{safe(str(one.pod.id))}, from {safe(source)}"
        head = f"# {told}: look up what this chart calls these values\n"
        template = data.get("spec", {})
        template = template.get("jobTemplate", data).get("spec", {}).get("template", data)
        spec, metadata = template.get("spec", {}), template.get("metadata", {})
        values: dict[str, Any] = {}
        if "terminationGracePeriodSeconds" in spec:
            values["terminationGracePeriodSeconds"] = spec["terminationGracePeriodSeconds"]
        hooks = {c["name"]: c["lifecycle"] for c in spec.get("containers", ()) if "lifecycle" in c}
        for name, hook in hooks.items():
            if len(hooks) == 1:
                values["lifecycle"] = hook
            else:
                values[name] = {"lifecycle": hook}
        if "annotations" in metadata:
            values["podAnnotations"] = metadata["annotations"]
        parts.append(head + _document(values))
    return "\n".join(parts)


def _document(data: dict[str, Any]) -> str:
    return block_text(_literal(data), 0, "\n") + "\n"


def _literal(data: Any) -> Any:
    """Texts of several lines as blocks."""
    if isinstance(data, dict):
        return {key: _literal(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_literal(item) for item in data]
    if not isinstance(data, str) or "\n" not in data:
        return data
    # A block takes printable text only.
    printable = all(safe(line) == line for line in data.split("\n"))
    return LiteralText(data) if printable else data
