"""Builds the shutdown plan of a workload's pods; every platform of the run adds its part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.manifests.skips import PLACEHOLDERS
from shutdownlint.platforms.planned_pod import PlannedPod

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.platform import Platform


def plan_pod(
    workload: Workload, context: AnalysisContext, platforms: Sequence[Platform]
) -> PlannedPod:
    """Everything that is known about how this workload's pods stop."""
    counts = (platform.replicas(workload, context) for platform in platforms)
    replicas = next((count for count in counts if count is not None), None)
    if workload.incomplete is not None or workload.unresolved:
        pod = PlannedPod(workload.id, workload.ref, workload)
        pod.skipped = workload.incomplete or PLACEHOLDERS
        pod.replicas = replicas
        return pod
    drafts = (platform.draft(workload, context) for platform in platforms)
    draft = next(draft for draft in drafts if draft is not None)
    draft.replicas = replicas
    for container in draft.containers:
        for platform in platforms:
            if platform.owns(container, draft):
                container.owner = platform.name
                break
    for platform in platforms:
        platform.contribute(draft)
    return draft.finish()
