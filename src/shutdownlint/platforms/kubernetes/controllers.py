"""How many pods a workload has, how they are replaced, and how many may go at a time."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.manifests.resources import PodDisruptionBudget, Scaler
from shutdownlint.platforms.kubernetes import facts
from shutdownlint.shutdown import Origin, OriginKind, Rollout, Setting

if TYPE_CHECKING:
    from shutdownlint.manifests.resources import LabelSelector
    from shutdownlint.manifests.workloads import ObjectId, Workload
    from shutdownlint.platforms.context import AnalysisContext

#: More is a slip of the keyboard.
_MOST: Final = 10**6
_SCALED: Final = ("Deployment", "StatefulSet", "ReplicaSet", "Rollout")


def replicas(workload: Workload, world: AnalysisContext) -> Setting[int] | None:
    """How many pods it has; None where the nodes or an autoscaler decide."""
    if workload.id.kind not in _SCALED:
        return None
    for scaler in world.near(Scaler, workload):
        target = scaler.model.spec.scaleTargetRef
        # KEDA's kind may be left out: a Deployment.
        if target is not None and target.name == workload.id.name:
            return None
    location = workload.object_ref / "spec" / "replicas"
    written = workload.rolling.replicas
    if isinstance(written, int):
        return Setting(
            "replicas", min(written, _MOST), Origin(OriginKind.EXPLICIT, "replicas", location)
        )
    if written is not None or workload.group not in ("apps", "argoproj.io"):
        return None
    default = Origin(OriginKind.DEFAULT, "the Kubernetes default", location)
    return Setting("replicas", facts.DEFAULT_REPLICAS.value, default)


def rollout(workload: Workload, count: Setting[int] | None) -> Setting[Rollout] | None:
    """How its pods are replaced; None for kinds that do not replace them."""
    rolling, kind = workload.rolling, workload.id.kind
    field = "strategy" if kind == "Deployment" else "updateStrategy"
    strategy = _mapping(getattr(rolling, field))
    written = isinstance(strategy.get("type"), str)
    way = str(strategy["type"]) if written else "RollingUpdate"
    location = workload.object_ref / "spec" / field / "type"
    origin_kind = OriginKind.EXPLICIT if written else OriginKind.DEFAULT
    origin = Origin(origin_kind, "the Kubernetes default" if not written else field, location)
    ready = rolling.minReadySeconds
    after = timedelta(seconds=min(ready, 10**6) if isinstance(ready, int) else 0)
    number = count.value if count is not None else None
    update = _mapping(strategy.get("rollingUpdate"))
    if kind == "Deployment" and way == "Recreate":
        return Setting("strategy", Rollout(way, number, 1, True, after, together=True), origin)
    if kind == "Deployment":
        surge = _share(update.get("maxSurge"), number, up=True)
        gone = _share(update.get("maxUnavailable"), number, up=False)
        return Setting("strategy", Rollout(way, number, max(surge + gone, 1), False, after), origin)
    if kind == "StatefulSet" and way == "RollingUpdate":
        kept = update.get("partition")
        if isinstance(kept, int) and number is not None:
            number = max(number - kept, 0)
        return Setting("strategy", Rollout(way, number, 1, True, after), origin)
    if kind == "DaemonSet" and way == "RollingUpdate" and not update.get("maxSurge"):
        batch = update.get("maxUnavailable", 1)
        if not isinstance(batch, int):
            return None  # a share of the nodes, whose number is not known
        return Setting("strategy", Rollout(way, None, max(batch, 1), True, after), origin)
    return None


def _share(value: Any, count: int | None, *, up: bool) -> int:
    """A number or percentage of the replicas: surge rounds up, unavailable down."""
    value = facts.DEFAULT_BATCH.value if value is None else value
    found = re.fullmatch(r"([0-9]+)%", value) if isinstance(value, str) else None
    if found is not None and count is not None:
        exact = int(found.group(1)) * count
        return -(-exact // 100) if up else exact // 100
    return value if isinstance(value, int) and value >= 0 else 0


def _mapping(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}


def disruptions_allowed(
    workload: Workload, count: Setting[int] | None, world: AnalysisContext
) -> Setting[int] | None:
    """How many pods its PodDisruptionBudget lets go at a time, where that is certain."""
    labels = workload.template.metadata.labels
    if workload.id.kind not in _SCALED or (count is not None and count.value == 0):
        return None  # drains leave DaemonSets alone, and where nothing runs nothing is blocked
    for located in world.near(PodDisruptionBudget, workload):
        spec, here = located.model.spec, located.ref / "spec"
        if spec.selector is None or not selects(spec.selector, labels):
            continue
        told = f"PodDisruptionBudget {located.model.metadata.name}"
        most = spec.maxUnavailable
        if most in (0, "0", "0%"):
            origin = Origin(OriginKind.INHERITED, told, here / "maxUnavailable")
            return Setting("maxUnavailable", 0, origin)
        least = spec.minAvailable
        origin = Origin(OriginKind.INHERITED, told, here / "minAvailable")
        if least == "100%":
            return Setting("minAvailable", 0, origin)
        everybody = _selected(spec.selector, workload, world)
        needed = _needed(least, everybody)
        if everybody is not None and needed is not None:
            return Setting("minAvailable", max(everybody - needed, 0), origin)
    return None


def _selected(selector: LabelSelector, workload: Workload, world: AnalysisContext) -> int | None:
    """How many pods a budget counts, of all workloads that it selects; None if that is open."""
    counts: dict[ObjectId, int] = {}  # a workload may be rendered into several files
    for other in world.neighbours(workload):
        if not selects(selector, other.template.metadata.labels):
            continue
        count = replicas(other, world)
        if count is None or not count.origin.written_down:
            return None
        counts[other.id] = min(count.value, counts.get(other.id, count.value))
    return sum(counts.values())


def _needed(least: Any, count: int | None) -> int | None:
    """minAvailable as a number; shares round up."""
    if isinstance(least, int):
        return least
    found = re.fullmatch(r"([0-9]{1,3})%", least) if isinstance(least, str) else None
    return -(-int(found.group(1)) * count // 100) if found and count is not None else None


def selects(selector: LabelSelector, labels: dict[str, str]) -> bool:
    """Whether a selector matches these labels; an expression that cannot be read never does."""
    if any(labels.get(name) != value for name, value in selector.matchLabels.items()):
        return False
    expressions = selector.matchExpressions
    if expressions is None:
        return True
    if not isinstance(expressions, list):
        return False
    return all(_holds(_mapping(expression), labels) for expression in expressions)


def _holds(expression: dict[str, Any], labels: dict[str, str]) -> bool:
    key, values = str(expression.get("key")), expression.get("values")
    listed = values if isinstance(values, list) else []
    match expression.get("operator"):
        case "In":
            return labels.get(key) in listed
        case "NotIn":
            return labels.get(key) not in listed
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False
