"""Whether pods can be replaced at all: what the API server rejects, and what takes all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint.manifests.decoding import decode, has_placeholder, mappings
from shutdownlint.manifests.resources import LabelSelector
from shutdownlint.numbers import read_percentage
from shutdownlint.platforms.kubernetes import facts, problems
from shutdownlint.platforms.pods.controllers import scalers_of, selects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.document import Document
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.problem import Problem

_SELECTING: Final = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet")
_SCALED: Final = ("Deployment", "StatefulSet")


def availability_problems(
    workload: Workload, context: AnalysisContext, *, serves: bool
) -> Iterator[Problem]:
    """Yield what prevents the replacement of pods, or replaces all of them at once."""
    if workload.incomplete is None and not workload.unresolved and workload.group == "apps":
        yield from _selector(workload)
        yield from _strategy(workload, context, serves=serves)
        yield from _replicas(workload, context)
        yield from _queue_consumer(workload, context)
    if not workload.runs_to_completion:
        yield from _probe_ports(workload)


def _selector(workload: Workload) -> Iterator[Problem]:
    written = workload.update.selector
    if workload.id.kind not in _SELECTING or not isinstance(written, dict):
        return
    selector, rejected = decode(LabelSelector, written)
    labels = workload.template.metadata.labels
    texts = [*selector.matchLabels.values(), *labels.values()]
    if rejected or any(has_placeholder(text) for text in texts):
        return
    if not selects(selector, labels):
        yield problems.SelectorMismatch(location=(workload.object_ref / "spec" / "selector").key)


def _strategy(workload: Workload, context: AnalysisContext, *, serves: bool) -> Iterator[Problem]:
    spec, here = workload.update, workload.object_ref / "spec"
    if workload.id.kind == "Deployment":
        ready = spec.minReadySeconds if type(spec.minReadySeconds) is int else 0
        deadline = spec.progressDeadlineSeconds
        default = int(facts.PROGRESS_DEADLINE.value.total_seconds())
        limit = default if deadline is None else deadline
        if type(limit) is int and 0 <= limit <= ready:
            key = "minReadySeconds" if deadline is None else "progressDeadlineSeconds"
            yield problems.ProgressDeadlineRejected(
                location=here / key, deadline=limit, ready=ready
            )
    strategy = spec.strategy if workload.id.kind == "Deployment" else None
    rolling = strategy.get("rollingUpdate") if isinstance(strategy, dict) else None
    if not isinstance(rolling, dict):
        return
    place = here / "strategy" / "rollingUpdate"
    surge, gone = rolling.get("maxSurge"), rolling.get("maxUnavailable")
    if _is_zero(surge) and _is_zero(gone):
        yield problems.RollingUpdateStuck(location=place / "maxUnavailable")
        return
    # Without written replicas an autoscaler, or somebody's hand, may decide them.
    count = spec.replicas if type(spec.replicas) is int else 0
    if not serves or not count:
        return
    # Where both round down to nothing, one pod may go (ResolveFenceposts).
    if gone is None and _is_zero(surge) and count * 25 // 100 == 0:
        gone = 1
    if _takes_all(gone, count) and next(scalers_of(workload, context), None) is None:
        yield problems.RollingUpdateTakesAll(
            location=place / ("maxUnavailable" if "maxUnavailable" in rolling else "maxSurge"),
            value=str(gone),
            replicas=count,
        )


def _is_zero(value: Any) -> bool:
    return (type(value) is int and value == 0) or (isinstance(value, str) and value == "0%")


def _takes_all(value: Any, count: int) -> bool:
    if type(value) is int:
        return value >= count
    share = read_percentage(value) if isinstance(value, str) else None
    return share is not None and share * count // 100 >= count


def _replicas(workload: Workload, context: AnalysisContext) -> Iterator[Problem]:
    """Replicas that every apply sets back, whatever the autoscaler has decided."""
    replicas = workload.update.replicas
    if workload.id.kind not in _SCALED or type(replicas) is not int or replicas == 0:
        return
    for scaler in scalers_of(workload, context):
        if not _deployed_together(workload.ref.document, scaler.ref.document):
            continue  # one of the same name that belongs to another installation
        yield problems.ReplicasBesideAutoscaler(
            location=(workload.object_ref / "spec" / "replicas").key,
            replicas=replicas,
            autoscaler=scaler.model.metadata.name or "",
        )
        return


def _deployed_together(one: Document, other: Document) -> bool:
    """Whether two documents are of one folder, or of one variant (an overlay and its base)."""
    if one.variant and one.variant == other.variant:
        return True
    return one.file.rpartition("/")[0] == other.file.rpartition("/")[0]


def _queue_consumer(workload: Workload, context: AnalysisContext) -> Iterator[Problem]:
    """Consumers of a queue that a scale-in stops within the default grace period."""
    if workload.template.spec.terminationGracePeriodSeconds is not None:
        return
    if any(app.longest_job is not None for app in context.user_facts.apps_for(workload.id)):
        return
    for scaler in scalers_of(workload, context):
        for number, trigger in enumerate(mappings(scaler.model.spec.triggers)):
            kind = trigger.get("type")
            if kind in facts.QUEUE_TRIGGERS.value:
                yield problems.QueueConsumerDefaultGrace(
                    location=scaler.ref / "spec" / "triggers" / number / "type",
                    trigger=str(kind),
                    scaler=scaler.model.metadata.name or "",
                )
                return


def _probe_ports(workload: Workload) -> Iterator[Problem]:
    """Readiness probes of ports by a name that the container does not have."""
    spec = workload.template.spec
    places = [("containers", *each) for each in enumerate(spec.containers)]
    places += [
        ("initContainers", number, container)
        for number, container in enumerate(spec.initContainers)
        if container.restartPolicy == "Always"
    ]
    for field, number, container in places:
        probe = container.readinessProbe
        port = probe.port if probe is not None else None
        if not isinstance(port, str) or not port or has_placeholder(port) or port.isdigit():
            continue
        if any(has_placeholder(each.name or "") for each in container.ports):
            continue
        if port not in {each.name for each in container.ports}:
            action = "httpGet" if probe is not None and probe.httpGet is not None else "tcpSocket"
            here = workload.spec / field / number / "readinessProbe" / action / "port"
            yield problems.ProbePortMissing(location=here, port=port, container=container.name)
