"""``explain --overrides``: the workloads whose drain settings replace those of their mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint.platforms.locations import as_source_location
from shutdownlint.platforms.overrides import Overrides
from shutdownlint.reports.columns import align
from shutdownlint.reports.report import safe, to_json, workload_data
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.platforms.overrides import Override
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.reports.output import ReportOutput

_HEADS: Final = ("workload", "setting", "value", "written at", "mesh", "mesh's value", "written at")


def render_text(pods: Sequence[PlannedPod], _output: ReportOutput) -> str:
    """Return a line for each setting that replaces the mesh's, and how many workloads have one."""
    members = _members(pods)
    rows = [
        (
            pod.title,
            each.name,
            each.value + (" (ends earlier)" if each.shorter else ""),
            str(each.location.region()),
            found.mesh,
            each.mesh_value,
            _place(each),
        )
        for pod, found in members
        for each in found.settings
    ]
    table = align([_HEADS, *(tuple(map(safe, row)) for row in rows)]) if rows else []
    departing = sum(bool(found.settings) for _, found in members)
    total = plural(len(members), "workload")
    end = f"{departing} of {total} in a mesh replace its drain settings"
    return "".join(f"{line}\n" for line in (*table, *([""] if table else []), end))


def render_json(pods: Sequence[PlannedPod], _output: ReportOutput) -> str:
    """Return the same as JSON: every workload that is in a mesh."""
    data = {
        "tool": "shutdownlint",
        "version": 1,
        "workloads": [
            {
                "workload": workload_data(pod.id),
                "variant": pod.variant or None,
                "mesh": found.mesh,
                "overrides": [_data(each) for each in found.settings],
            }
            for pod, found in _members(pods)
        ],
    }
    return to_json(data)


def _data(override: Override) -> dict[str, Any]:
    region = override.location.region()
    return {
        "setting": override.name,
        "value": override.value,
        "ends_earlier": override.shorter,
        "file": region.file,
        "line": region.line,
        "mesh_value": override.mesh_value,
        "mesh_written_at": _place(override),
    }


def _members(pods: Sequence[PlannedPod]) -> list[tuple[PlannedPod, Overrides]]:
    found = [(pod, pod.facts.get(Overrides)) for pod in pods]
    return [(pod, each) for pod, each in found if each is not None]


def _place(override: Override) -> str:
    location = as_source_location(override.mesh.location)
    return str(location.region()) if location is not None else override.mesh.label
