"""Suggestions to apply: a diff, a patch for kustomize, values for a chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint.fixes.merge_patch import changed_entries, make_patch
from shutdownlint.manifests.rendered import RenderedDocument
from shutdownlint.reports.diff import unified_diff
from shutdownlint.reports.report import safe
from shutdownlint.yaml_source.editor import LiteralText, block_text
from shutdownlint.yaml_source.location import EntryPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shutdownlint.fixes.suggest import SuggestReport
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.reports.output import ReportOutput


def render_diff(report: SuggestReport, _output: ReportOutput) -> str:
    """All changed files as one diff."""
    texts, originals = report.texts, report.originals
    names = sorted(name for name in texts if name in originals)
    return "".join(unified_diff(name, originals[name], texts[name]) for name in names)


def render_kustomize(report: SuggestReport, _output: ReportOutput) -> str:
    """Strategic merge patches, one document for each workload."""
    patches = [
        (each.pod, make_patch(each.pod, report.texts_for(each))) for each in report.suggestions
    ]
    text = "---\n".join(
        (f"# {safe(pod.title)}\n" if pod.variant else "") + _document(data)
        for pod, data in patches
        if data is not None
    )
    return "".join(_changed_elsewhere(report)) + text


def render_helm(report: SuggestReport, _output: ReportOutput) -> str:
    """Values for the charts: those that they read, where their templates are known.

    Of text that somebody else has rendered only the usual names can be given, as hints.
    """
    parts: list[str] = []
    for suggestion in report.suggestions:
        document = suggestion.pod.workload.object_ref.document
        if isinstance(document, RenderedDocument):
            parts += _chart_values(suggestion.pod, document, report.texts_for(suggestion))
            continue
        data = make_patch(suggestion.pod, report.texts_for(suggestion))
        if data is not None:
            parts.append(_comment(suggestion.pod) + _document(_values(data)))
    return "".join(_changed_elsewhere(report)) + "\n".join(parts)


def _chart_values(
    pod: PlannedPod, document: RenderedDocument, texts: Mapping[str, bytes]
) -> Iterator[str]:
    """Yield the values that make the suggested changes; a comment for each that the chart lacks."""
    values: dict[str, Any] = {}
    lacking = []
    for key_path, value in changed_entries(pod, texts):
        path = document.origins.value_path(document, key_path) if document.origins else ()
        if not path:
            region = document.region(key_path, EntryPart.KEY)
            name = ".".join(str(step) for step in key_path)
            lacking.append(f"# no value was found that sets {name}: see {safe(str(region))}\n")
            continue
        inner = values
        for step in path[:-1]:
            inner = inner.setdefault(step, {})
        inner[path[-1]] = value
    if values or lacking:
        head = f"# {safe(pod.title)}, from {safe(document.template or '')}\n"
        yield head + "".join(lacking) + (_document(values) if values else "")


def _changed_elsewhere(report: SuggestReport) -> Iterator[str]:
    """Yield a comment for each workload whose settings are in another file, such as a policy."""
    for suggestion in report.suggestions:
        own = suggestion.pod.ref.document.file
        for file in sorted({file for file, _ in suggestion.edits} - {own}):
            name = safe(suggestion.pod.title)
            yield f"# {name}: to change in {safe(file)}, see --format diff\n"


def _comment(pod: PlannedPod) -> str:
    template = safe(pod.ref.template or "its template")
    return f"# {safe(pod.title)}, from {template}: find this chart's names for these values\n"


def _values(data: dict[str, Any]) -> dict[str, Any]:
    template = data.get("spec", {})
    template = template.get("jobTemplate", data).get("spec", {}).get("template", data)
    spec, metadata = template.get("spec", {}), template.get("metadata", {})
    values: dict[str, Any] = {}
    if "terminationGracePeriodSeconds" in spec:
        values["terminationGracePeriodSeconds"] = spec["terminationGracePeriodSeconds"]
    containers = [c for c in spec.get("containers", ()) if "lifecycle" in c]
    hooks = {str(c.get("name", "")): c["lifecycle"] for c in containers}
    for name, hook in hooks.items():
        if len(hooks) == 1:
            values["lifecycle"] = hook
        else:
            values[name] = {"lifecycle": hook}
    if "annotations" in metadata:
        values["podAnnotations"] = metadata["annotations"]
    return values


def _document(data: dict[str, Any]) -> str:
    return block_text(_use_blocks(data), 0, "\n") + "\n"


def _use_blocks(data: Any) -> Any:
    """Return the data with texts of several lines as literal blocks."""
    if isinstance(data, dict):
        return {key: _use_blocks(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_use_blocks(item) for item in data]
    if not isinstance(data, str) or "\n" not in data:
        return data
    # A block takes printable text only.
    printable = all(safe(line) == line for line in data.split("\n"))
    return LiteralText(data) if printable else data
