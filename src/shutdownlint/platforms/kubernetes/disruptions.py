"""The causes of too many, or no, pods going at a time: budgets, probes, spread and updates.

Most of it is advice: it depends on objects that may not be among the files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint import limits
from shutdownlint.manifests.decoding import has_placeholder, value_at
from shutdownlint.manifests.resources import (
    LabelSelector,
    PodDisruptionBudget,
    Scaler,
    Service,
)
from shutdownlint.platforms.context import scope_of_object
from shutdownlint.platforms.kubernetes import facts, problems
from shutdownlint.platforms.kubernetes.budgets import BudgetIndex, is_rejected, lets_the_only_pod_go
from shutdownlint.platforms.nearness import nearest_of_each
from shutdownlint.platforms.pods.controllers import (
    least_replicas,
    min_available,
    scalers_of,
    selects,
    targets,
)
from shutdownlint.platforms.pods.services import containers_reached
from shutdownlint.platforms.registry import INJECTED_PORTS
from shutdownlint.yaml_source.location import FixedLocation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import Probe
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext, Scope
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.workload_index import WorkloadEntry, WorkloadIndex

_COUNTED: Final = ("Deployment", "StatefulSet", "Rollout")


def disruption_problems(
    workload: Workload,
    context: AnalysisContext,
    services: Sequence[LoadedResource[Service]],
    budgets: Sequence[LoadedResource[PodDisruptionBudget]],
) -> Iterator[Problem]:
    """Yield what is wrong, or missing, when these pods are drained, scaled in or updated.

    ``services`` and ``budgets`` are those that select them.
    """
    if workload.incomplete is not None or workload.unresolved:
        return
    yield from _updates(workload)
    if not services or workload.runs_to_completion:
        return
    yield from _probes(workload, services)
    if workload.id.kind not in _COUNTED:
        return
    scaler = next(scalers_of(workload, context), None)
    replicas = workload.update.replicas
    several = scaler is not None or (type(replicas) is int and replicas > 1)
    if several and not budgets:
        name = workload.object_ref / "metadata" / "name"
        yield problems.BudgetMissing(location=name, name=workload.id.name or "")
    if scaler is not None:
        yield from _autoscaler(scaler, budgets)
    elif several:
        yield from _spread(workload, replicas)


def budget_problems(context: AnalysisContext) -> Iterator[Problem]:
    """Budgets that are rejected, or keep a drain from removing pods which do not work."""
    for budget in context.index.all_of(PodDisruptionBudget):
        spec = budget.model.spec
        if is_rejected(spec):
            location = (budget.ref / "spec" / "maxUnavailable").key
            yield problems.BudgetRejected(
                location=location, budget=budget.model.metadata.name or ""
            )
        elif spec.unhealthyPodEvictionPolicy is None and spec.selector is not None:
            yield problems.BudgetKeepsUnhealthyPods(
                location=(budget.ref / "spec").key, budget=budget.model.metadata.name or ""
            )


def selection_problems(index: WorkloadIndex, context: AnalysisContext) -> Iterator[Problem]:
    """Services and budgets that select none of the workloads, and ports that none of them has.

    Only in namespaces of which workloads are among the files, and all of them can be read.
    """
    selections, budgets = _Selections(index), context.state(BudgetIndex)
    for service in context.index.all_of(Service):
        scope = scope_of_object(service, context.index.namespaces)
        yield from _service_problems(service, scope, selections, budgets)
    for budget in context.index.all_of(PodDisruptionBudget):
        selector = budget.model.spec.selector
        scope = scope_of_object(budget, context.index.namespaces)
        if selector is None or not (selector.matchLabels or selector.matchExpressions):
            continue
        selected = selections.select(selector, scope)
        if selected == []:
            name = budget.model.metadata.name or ""
            location = (budget.ref / "spec" / "selector").key
            yield problems.BudgetSelectsNothing(location=location, name=name)
        yield from _beside_autoscaler(budget, selected or (), context.in_scope(Scaler, scope))


def _single_replica(
    service: str, scope: Scope, selected: Sequence[WorkloadEntry], budgets: BudgetIndex
) -> Iterator[Problem]:
    """Yield the only pod of a Service, if nothing keeps a drain from taking it."""
    entry = selected[0]
    if entry.single is None or any(each.id != entry.id for each in selected):
        return
    own = budgets.selecting(scope, entry.labels, entry.region.file)
    if all(lets_the_only_pod_go(budget.model.spec) for budget in own):
        location, name = FixedLocation(entry.single), entry.id.name or ""
        yield problems.SingleReplica(
            location=location, workload=entry.id, name=name, service=service
        )


def _service_problems(
    service: LoadedResource[Service],
    scope: Scope,
    selections: _Selections,
    budgets: BudgetIndex,
) -> Iterator[Problem]:
    spec, name = service.model.spec, service.model.metadata.name or ""
    if not spec.selector or spec.type == "ExternalName":
        return
    if any(label in spec.selector for label in facts.CONTROLLER_LABELS.value):
        return
    selected = selections.select(LabelSelector(matchLabels=spec.selector), scope)
    if selected == []:
        location = (service.ref / "spec" / "selector").key
        yield problems.ServiceSelectsNothing(location=location, name=name)
    if not selected:
        return
    yield from _single_replica(name, scope, selected, budgets)
    names = {name for entry in selected for name in entry.port_names}
    for number, port in enumerate(spec.ports):
        target = port.targetPort
        if not isinstance(target, str) or target in names or target.isdigit():
            continue
        hidden = any(has_placeholder(text) for text in (target, *names))
        if not hidden and not any(part in target for part in INJECTED_PORTS):
            location = service.ref / "spec" / "ports" / number / "targetPort"
            yield problems.ServicePortMissing(location=location, port=target, name=name)


class _Selections:
    """The results of selectors, each computed once, and all together within a limit."""

    def __init__(self, index: WorkloadIndex) -> None:
        self._index = index
        self._left = limits.MAX_SELECTIONS
        self._known: dict[tuple[Scope, tuple[tuple[str, str], ...]], list[WorkloadEntry]] = {}

    def select(self, selector: LabelSelector, scope: Scope) -> list[WorkloadEntry] | None:
        """Return the selected workloads; None where that cannot be known."""
        labels = selector.matchLabels
        open_ended = any(has_placeholder(text) for text in (*labels, *labels.values()))
        if open_ended or not self._index.is_complete(scope):
            return None
        key = scope, tuple(sorted(labels.items()))
        if key in self._known and selector.matchExpressions is None:
            return self._known[key]
        entries = self._index.with_labels(scope, labels)
        self._left -= len(entries)
        if self._left < 0:
            return None
        found = [entry for entry in entries if selects(selector, entry.labels)]
        if selector.matchExpressions is None:
            self._known[key] = found
        return found


def _updates(workload: Workload) -> Iterator[Problem]:
    spec, here = workload.update, workload.object_ref / "spec"
    if workload.id.kind == "Deployment" and spec.paused is True:
        yield problems.RolloutPaused(location=here / "paused")
    if workload.id.kind not in ("StatefulSet", "DaemonSet"):
        return
    if value_at(spec.updateStrategy, "type") == "OnDelete":
        location = here / "updateStrategy" / "type"
        yield problems.UpdateOnDelete(location=location, what=workload.id.kind)
    partition = value_at(spec.updateStrategy, "rollingUpdate", "partition")
    if workload.id.kind == "StatefulSet" and type(partition) is int and partition > 0:
        location = here.below("updateStrategy", "rollingUpdate", "partition")
        yield problems.RolloutPartitioned(location=location, partition=partition)


def _probes(workload: Workload, services: Sequence[LoadedResource[Service]]) -> Iterator[Problem]:
    containers = workload.template.spec.containers
    reached = containers_reached(containers, services)
    for number, container in enumerate(containers):
        if container.name not in reached:
            continue
        here = workload.spec / "containers" / number
        readiness, liveness = container.readinessProbe, container.livenessProbe
        if readiness is None and container.startupProbe is None:
            yield problems.ReadinessMissing(location=here / "name", name=container.name)
        elif readiness and liveness and _asked(readiness) == _asked(liveness):
            location = (here / "readinessProbe").key
            yield problems.ReadinessLikeLiveness(location=location, name=container.name)


def _asked(probe: Probe) -> tuple[Any, ...]:
    """Return what a probe asks, and how long it may fail."""
    times = (probe.periodSeconds or 10, probe.failureThreshold or 3, probe.timeoutSeconds or 1)
    return (probe.httpGet, probe.tcpSocket, probe.exec, probe.grpc, *times)


def _spread(workload: Workload, replicas: int | None) -> Iterator[Problem]:
    spec = workload.template.spec
    if spec.topologySpreadConstraints or value_at(spec.affinity, "podAntiAffinity"):
        return
    if spec.hostNetwork is True:
        return  # two of them cannot have the same port of a node
    if workload.id.kind == "Deployment" and replicas is not None:
        location = workload.object_ref / "spec" / "replicas"
        yield problems.SpreadMissing(location=location, replicas=replicas)


def _autoscaler(
    scaler: LoadedResource[Scaler], budgets: Sequence[LoadedResource[PodDisruptionBudget]]
) -> Iterator[Problem]:
    key, least = least_replicas(scaler)
    blocked = any(budget.model.spec.minAvailable for budget in budgets)
    if least == 1 and not blocked:
        name = scaler.model.metadata.name or ""
        yield problems.AutoscalerMinimumOne(location=scaler.ref / "spec" / key, scaler=name)


def _beside_autoscaler(
    budget: LoadedResource[PodDisruptionBudget],
    selected: Sequence[WorkloadEntry],
    scalers: Sequence[LoadedResource[Scaler]],
) -> Iterator[Problem]:
    """Yield a budget of one workload that asks for all pods which its autoscaler may leave."""
    wanted = {entry.id for entry in selected}
    found = [each for each in scalers if len(wanted) == 1 and targets(each, *wanted)]
    near = nearest_of_each(found, budget.ref.document.file, agreed=True)
    scaler = next(iter(near), None)
    if scaler is None:
        return
    _, least = least_replicas(scaler)
    asked, spec = budget.model.spec.minAvailable, scaler.model.spec
    needed = min_available(asked, least)
    fixed = least in (spec.maxReplicas, spec.maxReplicaCount)  # then the replicas are known
    enough = _enough(asked)
    if least and needed is not None and needed >= least and enough is not None and not fixed:
        yield problems.BudgetBesideAutoscaler(
            location=budget.ref / "spec" / "minAvailable",
            budget=budget.model.metadata.name or "",
            asked=f"{asked}, rounded up to {needed}," if isinstance(asked, str) else str(asked),
            least=least,
            enough=enough,
        )


def _enough(asked: Any) -> int | None:
    """Return the fewest replicas of which minAvailable lets one go; None where it lets none go."""
    if isinstance(asked, int):
        return asked + 1
    missing = 100 - (min_available(asked, 100) or 0)
    return -(-100 // missing) if missing > 0 else None
