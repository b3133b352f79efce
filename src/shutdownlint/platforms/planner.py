"""From a workload to the plan of its pods: every platform of the run contributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.manifests.skips import PLACEHOLDERS
from shutdownlint.platforms.planned_pod import PlannedPod

if TYPE_CHECKING:
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext


def plan_pod(workload: Workload, context: AnalysisContext) -> PlannedPod:
    """Everything that is known about how this workload's pods stop."""
    counts = (platform.replicas(workload, context) for platform in context.platforms)
    replicas = next((count for count in counts if count is not None), None)
    if workload.incomplete is not None or workload.unresolved:
        pod = PlannedPod(workload.id, workload.ref, workload)
        pod.skipped = workload.incomplete or PLACEHOLDERS
        pod.replicas = replicas
        return pod
    drafts = (platform.draft(workload, context) for platform in context.platforms)
    draft = next(draft for draft in drafts if draft is not None)
    draft.replicas = replicas
    for container in draft.containers:
        for platform in context.platforms:
            if platform.owns(container, draft):
                container.owner = platform
                break
    for platform in context.platforms:
        platform.contribute(draft)
    return draft.finish()
