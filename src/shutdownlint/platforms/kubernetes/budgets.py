"""PodDisruptionBudgets: how many pods a drain may take at a time."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from shutdownlint import limits
from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.manifests.resources import PodDisruptionBudget
from shutdownlint.numbers import read_whole
from shutdownlint.platforms.context import scope_of_object
from shutdownlint.platforms.nearness import nearest, nearest_of_each
from shutdownlint.platforms.pods.controllers import SCALED_KINDS, min_available, selects
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import LabelSelector, PodDisruptionBudgetSpec
    from shutdownlint.platforms.context import AnalysisContext, Scope
    from shutdownlint.platforms.workload_index import WorkloadEntry, WorkloadIndex


#: A budget with its place among all.
_Numbered: TypeAlias = "tuple[int, LoadedResource[PodDisruptionBudget]]"


class BudgetIndex:
    """The budgets by where they live and by the label of their selector that is rarest."""

    def __init__(self, context: AnalysisContext) -> None:
        self._by_label: dict[tuple[Scope, str, str], list[_Numbered]] = {}
        self._others: dict[Scope, list[_Numbered]] = {}
        budgets = context.index.all_of(PodDisruptionBudget)
        counts = Counter(
            item
            for budget in budgets
            if budget.model.spec.selector is not None
            for item in budget.model.spec.selector.matchLabels.items()
        )
        for number, budget in enumerate(budgets):
            scope = scope_of_object(budget, context.index.namespaces)
            selector = budget.model.spec.selector
            if selector is not None and selector.matchLabels:
                rarest = min(selector.matchLabels.items(), key=lambda item: (counts[item], item))
                self._by_label.setdefault((scope, *rarest), []).append((number, budget))
            else:
                self._others.setdefault(scope, []).append((number, budget))

    def for_entry(self, entry: WorkloadEntry) -> list[LoadedResource[PodDisruptionBudget]]:
        """Return the budgets that may select a workload; none of the others does."""
        found = self._candidates(entry.scope, entry.labels)
        return nearest_of_each(found, entry.region.file, agreed=True)

    def selecting(
        self, scope: Scope, labels: dict[str, str], file: str
    ) -> list[LoadedResource[PodDisruptionBudget]]:
        """Return the budgets there that select pods with these labels, which ``file`` has."""
        found = [
            budget
            for budget in self._candidates(scope, labels)
            if budget.model.spec.selector is not None
            and selects(budget.model.spec.selector, labels)
        ]
        return nearest_of_each(found, file)

    def _candidates(
        self, scope: Scope, labels: Mapping[str, str]
    ) -> list[LoadedResource[PodDisruptionBudget]]:
        most = limits.MAX_BUDGETS_OF_A_WORKLOAD
        found = self._others.get(scope, [])[:most]
        for item in labels.items():
            found += self._by_label.get((scope, *item), [])[:most]
        return [budget for _, budget in sorted(found, key=lambda each: each[0])[:most]]


def is_rejected(spec: PodDisruptionBudgetSpec) -> bool:
    """Whether both of its numbers are set, which the API server does not take.

    Source: pkg/apis/policy/validation/validation.go (ValidatePodDisruptionBudgetSpec).
    """
    written = (spec.minAvailable, spec.maxUnavailable)
    return all(value is not None and not has_placeholder(str(value)) for value in written)


def lets_the_only_pod_go(spec: PodDisruptionBudgetSpec) -> bool:
    """Whether a drain may take the only pod of a workload.

    Percentages are rounded up, so of one pod each is one.
    Source: pkg/controller/disruption/disruption.go (GetScaledValueFromIntOrPercent, rounded up).
    """
    if spec.maxUnavailable is not None:
        return bool(read_whole(str(spec.maxUnavailable).removesuffix("%")))
    return spec.minAvailable in (0, "0", "0%")


def disruptions_allowed(
    entry: WorkloadEntry,
    index: WorkloadIndex,
    budgets: Sequence[LoadedResource[PodDisruptionBudget]],
) -> Setting[int] | None:
    """Return how many pods of a workload its budget lets go at a time, if that is certain."""
    if entry.id.kind not in SCALED_KINDS or entry.replicas == 0:
        return None  # drains leave DaemonSets alone, and where nothing runs nothing is blocked
    for budget in budgets:
        spec, here = budget.model.spec, budget.ref / "spec"
        if is_rejected(spec) or spec.selector is None:
            continue
        if not selects(spec.selector, entry.labels):
            continue
        label = f"PodDisruptionBudget {budget.model.metadata.name}"
        if spec.maxUnavailable in (0, "0", "0%"):
            origin = Origin(OriginKind.INHERITED, label, here / "maxUnavailable")
            return Setting("maxUnavailable", 0, origin)
        origin = Origin(OriginKind.INHERITED, label, here / "minAvailable")
        if spec.minAvailable == "100%":
            return Setting("minAvailable", 0, origin)
        pods = _selected_pods(budget, spec.selector, entry, index)
        needed = min_available(spec.minAvailable, pods)
        if pods is not None and needed is not None:
            return Setting("minAvailable", max(pods - needed, 0), origin)
    return None


def _selected_pods(
    budget: LoadedResource[PodDisruptionBudget],
    selector: LabelSelector,
    entry: WorkloadEntry,
    index: WorkloadIndex,
) -> int | None:
    """Count the pods of all workloads that a budget selects; None if the number is open."""
    key = id(selector), entry.scope
    if key not in index.selected:
        found = [
            other
            for other in index.with_labels(entry.scope, selector.matchLabels)
            if selects(selector, other.labels)
        ]
        index.selected[key] = _count_pods(found, budget.ref.document.file)
    return index.selected[key]


def _count_pods(entries: Iterable[WorkloadEntry], file: str) -> int | None:
    """Count the pods of the workloads; of one in several files, only the nearest count."""
    by_id: dict[ObjectId, list[WorkloadEntry]] = {}
    for entry in entries:
        by_id.setdefault(entry.id, []).append(entry)
    total = 0
    for same in by_id.values():
        own = nearest(same, file, lambda entry: entry.region.file)
        counts = [entry.replicas for entry in own if entry.replicas_written]
        if len(counts) < len(own) or None in counts:
            return None
        total += min(count for count in counts if count is not None)
    return total
