"""The changes of settings with which a pod serves every request, as changes of its manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.engine.finding import Change, EditAction

if TYPE_CHECKING:
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.shutdown.solver import Solution


def solution_changes(pod: PlannedPod, solution: Solution) -> tuple[Change, ...]:
    """One change for each knob; without a target where it cannot be written from here."""
    targets = pod.edit_targets
    return tuple(
        Change(
            EditAction.SET,
            change.field,
            targets.get(change.container, {}).get(change.field),
            change.value,
        )
        for change in solution.changes
    )
