"""PodDisruptionBudgets: how many pods a drain may take at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.platforms.kubernetes.controllers import SCALED_KINDS, min_available, selects
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import LabelSelector, PodDisruptionBudget
    from shutdownlint.platforms.workload_index import WorkloadEntry, WorkloadIndex


def disruptions_allowed(
    entry: WorkloadEntry,
    index: WorkloadIndex,
    budgets: Sequence[LoadedResource[PodDisruptionBudget]],
) -> Setting[int] | None:
    """How many pods of a workload its budget lets go at a time, where that is certain."""
    if entry.id.kind not in SCALED_KINDS or entry.replicas == 0:
        return None  # drains leave DaemonSets alone, and where nothing runs nothing is blocked
    for budget in budgets:
        spec, here = budget.model.spec, budget.ref / "spec"
        if spec.selector is None or not selects(spec.selector, entry.labels):
            continue
        label = f"PodDisruptionBudget {budget.model.metadata.name}"
        if spec.maxUnavailable in (0, "0", "0%"):
            origin = Origin(OriginKind.INHERITED, label, here / "maxUnavailable")
            return Setting("maxUnavailable", 0, origin)
        origin = Origin(OriginKind.INHERITED, label, here / "minAvailable")
        if spec.minAvailable == "100%":
            return Setting("minAvailable", 0, origin)
        pods = _selected_pods(spec.selector, entry, index)
        needed = min_available(spec.minAvailable, pods)
        if pods is not None and needed is not None:
            return Setting("minAvailable", max(pods - needed, 0), origin)
    return None


def _selected_pods(
    selector: LabelSelector, entry: WorkloadEntry, index: WorkloadIndex
) -> int | None:
    """How many pods a budget counts, of all workloads that it selects; None if that is open."""
    counts: dict[ObjectId, int] = {}  # a workload may be rendered into several files
    for other in index.in_scope(entry.scope):
        if not selects(selector, other.labels):
            continue
        if other.replicas is None or not other.replicas_written:
            return None
        counts[other.id] = min(other.replicas, counts.get(other.id, other.replicas))
    return sum(counts.values())
