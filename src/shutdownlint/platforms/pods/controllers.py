"""The number of pods of a workload, and their replacement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from shutdownlint.manifests.resources import Scaler
from shutdownlint.numbers import read_percentage
from shutdownlint.platforms.nearness import nearest_of_each
from shutdownlint.platforms.pods import facts
from shutdownlint.shutdown.durations import ZERO, format_duration, seconds
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting
from shutdownlint.shutdown.serving_pods import Replacement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import LabelSelector
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext

#: A larger number is a typing error.
_MAX_REPLICAS: Final = 10**6
#: Kinds whose pods an eviction has to leave alone where a budget says so.
SCALED_KINDS: Final = ("Deployment", "StatefulSet", "ReplicaSet", "Rollout")


class Rollout(Struct, frozen=True):
    """The replacement of a workload's pods, and the cost of their shutdown.

    ``strategy`` is its type. ``replicas`` is None where the number of nodes or an autoscaler
    decides it; ``batch`` pods are replaced at a time; ``waits``: a new pod starts only once the old
    one is gone; ``all_at_once``: all old pods go before any new one starts. ``ready_after`` is
    minReadySeconds. ``per_node``: a drain leaves the pods alone. ``replacement`` counts the pods
    meanwhile, where their number is known.
    """

    strategy: str
    replicas: int | None
    batch: int
    waits: bool
    ready_after: timedelta
    all_at_once: bool = False
    per_node: bool = False
    replacement: Replacement | None = None

    @property
    def steps(self) -> int | None:
        """The number of pods (or batches) that are waited for one after the other."""
        if self.all_at_once:
            return 1
        return None if self.replicas is None else -(-self.replicas // self.batch)

    def waiting_time(self, shutdown: timedelta) -> timedelta | None:
        """Return the part of a rollout that is spent waiting, at worst; None where it is not known.

        ``shutdown`` is the longest that one pod's shutdown takes. The time that new pods need to
        become ready is not included.
        """
        if self.steps is None:
            return None
        each = (shutdown if self.waits else ZERO) + self.ready_after
        return self.steps * each

    def describe(self, shutdown: timedelta) -> str:
        """Return the same as a sentence."""
        pods = "one pod for each node" if self.replicas is None else f"{self.replicas} pods"
        longest = format_duration(shutdown)
        ready = (
            f" + {format_duration(self.ready_after)} minReadySeconds" if self.ready_after else ""
        )
        if self.all_at_once:
            return (
                f"{self.strategy}: no pod serves while all {pods} end (up to {longest}) and until "
                "new ones are ready"
            )
        if not self.waits:
            steps = ""
            if self.steps is not None and self.steps > 1:
                steps = (
                    f"{self.steps} steps of {self.batch}, each until new pods are ready{ready}; "
                )
            return (
                f"{self.strategy}: {steps}the rollout does not wait for old pods; each lives up to "
                f"{longest} beside its replacement"
            )
        waiting = self.waiting_time(shutdown)
        each = f"up to {longest}{ready}"
        if waiting is None:
            nodes = "; their nodes have no pod of it meanwhile, and a drain leaves it alone"
            return (
                f"{self.strategy}: {self.batch} at a time, {each} each before the replacement "
                f"starts{nodes if self.per_node else ''}"
            )
        saves = ""
        if self.steps is not None and self.steps > 1 and shutdown > ZERO:
            saves = f"; each second less of shutdown saves {self.steps}s"
        return (
            f"{self.strategy}: {pods}, {self.batch} at a time, {each} each before the replacement "
            f"starts: at most {format_duration(waiting)}, plus the time until new pods are ready"
            f"{saves}"
        )


def targets(scaler: LoadedResource[Scaler], wanted: ObjectId) -> bool:
    """Whether an autoscaler names this object; KEDA's may leave the kind out: a Deployment."""
    target = scaler.model.spec.scaleTargetRef
    if target is None or target.name != wanted.name:
        return False
    return (target.kind or "Deployment") == wanted.kind


def scalers_of(workload: Workload, context: AnalysisContext) -> Iterator[LoadedResource[Scaler]]:
    """Return the autoscalers of its namespace that name this workload."""
    scalers = context.in_namespace_of(Scaler, workload)
    found = [scaler for scaler in scalers if targets(scaler, workload.id)]
    return iter(nearest_of_each(found, workload.ref.document.file))


def least_replicas(scaler: LoadedResource[Scaler]) -> tuple[str, int | None]:
    """Return the fewest pods that an autoscaler leaves, with its key; None if that is not known."""
    spec = scaler.model.spec
    if spec.minReplicaCount is not None:
        return "minReplicaCount", _count(spec.minReplicaCount)
    if spec.minReplicas is not None or spec.maxReplicas is None:
        return "minReplicas", _count(spec.minReplicas)
    return "minReplicas", facts.DEFAULT_REPLICAS.value


def most_replicas(scaler: LoadedResource[Scaler]) -> int | None:
    """Return the most pods that an autoscaler makes; None where that is not known."""
    spec = scaler.model.spec
    return _count(spec.maxReplicaCount if spec.maxReplicas is None else spec.maxReplicas)


def _count(value: Any) -> int | None:
    """Return a number of pods; placeholders and what the API server rejects are none."""
    return min(value, _MAX_REPLICAS) if type(value) is int and value >= 0 else None


def read_replicas(workload: Workload, context: AnalysisContext) -> Setting[int] | None:
    """Return the number of pods; None if the nodes or an autoscaler decide."""
    if workload.id.kind not in SCALED_KINDS:
        return None
    for scaler in scalers_of(workload, context):
        return _fixed_by(scaler)
    location = workload.object_ref / "spec" / "replicas"
    written = workload.update.replicas
    if isinstance(written, int):
        return Setting(
            "replicas",
            min(written, _MAX_REPLICAS),
            Origin(OriginKind.EXPLICIT, "replicas", location),
        )
    if written is not None or workload.group not in ("apps", "argoproj.io"):
        return None
    default = Origin(OriginKind.DEFAULT, "the Kubernetes default", location)
    return Setting("replicas", facts.DEFAULT_REPLICAS.value, default)


def _fixed_by(scaler: LoadedResource[Scaler]) -> Setting[int] | None:
    """Return the number of pods of an autoscaler whose bounds are the same; None if they differ."""
    spec, here = scaler.model.spec, scaler.ref / "spec"
    for low, high in (("minReplicas", "maxReplicas"), ("minReplicaCount", "maxReplicaCount")):
        most = getattr(spec, high)
        key, least = least_replicas(scaler)
        if isinstance(most, int) and most == least and key == low:
            label = f"{low} and {high} of the autoscaler"
            return Setting(high, most, Origin(OriginKind.INHERITED, label, here / high))
    return None


def read_rollout(workload: Workload, count: Setting[int] | None) -> Setting[Rollout] | None:
    """Return how the pods are replaced; None for kinds that do not replace them."""
    update_spec, kind = workload.update, workload.id.kind
    field = "strategy" if kind == "Deployment" else "updateStrategy"
    strategy = _mapping(getattr(update_spec, field))
    written = isinstance(strategy.get("type"), str)
    way = str(strategy["type"]) if written else "RollingUpdate"
    location = workload.object_ref / "spec" / field / "type"
    origin_kind = OriginKind.EXPLICIT if written else OriginKind.DEFAULT
    origin = Origin(origin_kind, "the Kubernetes default" if not written else field, location)
    ready = update_spec.minReadySeconds
    after = seconds(min(max(ready, 0), 10**6)) if isinstance(ready, int) else ZERO
    number = count.value if count is not None else None
    update = _mapping(strategy.get("rollingUpdate"))
    if kind == "Deployment" and way == "Recreate":
        counted = Replacement(number, all_at_once=True) if number is not None else None
        rollout = Rollout(way, number, 1, True, after, all_at_once=True, replacement=counted)
        return Setting("strategy", rollout, origin)
    if kind == "Deployment":
        surge = _share(update.get("maxSurge"), number, up=True)
        gone = _share(update.get("maxUnavailable"), number, up=False)
        counted = Replacement(number, surge, gone) if number is not None else None
        rollout = Rollout(way, number, max(surge + gone, 1), False, after, replacement=counted)
        return Setting("strategy", rollout, origin)
    if kind == "StatefulSet" and way == "RollingUpdate":
        partition = update.get("partition")
        kept = min(partition, _MAX_REPLICAS) if type(partition) is int and partition > 0 else 0
        counted = Replacement(number, ordered=True, kept=kept) if number is not None else None
        if counted is not None and "maxUnavailable" in update:
            counted = None  # it counts only where its feature gate is on
        replaced = None if number is None else max(number - kept, 0)
        rollout = Rollout(way, replaced, 1, True, after, replacement=counted)
        return Setting("strategy", rollout, origin)
    if kind == "DaemonSet" and way == "RollingUpdate":
        if update.get("maxSurge") not in (None, 0, "0%"):
            return Setting("strategy", Rollout(way, None, 1, False, after, per_node=True), origin)
        batch = update.get("maxUnavailable", 1)
        if not isinstance(batch, int):
            return None  # a share of the nodes, whose number is not known
        rollout = Rollout(way, None, max(batch, 1), True, after, per_node=True)
        return Setting("strategy", rollout, origin)
    return None


def _share(value: Any, count: int | None, *, up: bool) -> int:
    """Return a number or percentage of the replicas: surge rounds up, unavailable down."""
    value = facts.DEFAULT_BATCH.value if value is None else value
    share = read_percentage(value) if isinstance(value, str) else None
    if share is not None and count is not None:
        exact = share * count
        return -(-exact // 100) if up else exact // 100
    return value if isinstance(value, int) and value >= 0 else 0


def _mapping(data: Any) -> dict[str, Any]:
    return data if isinstance(data, dict) else {}


def min_available(least: Any, count: int | None) -> int | None:
    """minAvailable as a number of pods; percentages round up. None where that is open."""
    if isinstance(least, int):
        return least
    share = read_percentage(least) if isinstance(least, str) else None
    return -(-share * count // 100) if share is not None and count is not None else None


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
