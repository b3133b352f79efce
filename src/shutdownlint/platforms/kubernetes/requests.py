"""Whether a pod gets requests, as far as the files show it, and who a longer delay would not help.

A Service, a port or a probe over the network shows it, and a preStop hook that waits. A pod without
any of these has its own work only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.manifests.decoding import value_at
from shutdownlint.manifests.resources import Service
from shutdownlint.platforms.context import scope_of
from shutdownlint.platforms.kubernetes import facts
from shutdownlint.platforms.kubernetes.stated import read_propagation
from shutdownlint.platforms.pods.images import ImageName
from shutdownlint.platforms.pods.services import is_monitoring, is_only_monitored
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.pod_plan import Assumption, Sender
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import Container, Probe
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft


def note_requests(draft: PodDraft, services: Sequence[LoadedResource[Service]]) -> None:
    """Note whether the pod gets requests, and whether a longer delay would help who sends them."""
    # A controller makes pods of its own objects to serve: gateways, models.
    shown = bool(services) or draft.workload.derived or _shows_requests(draft)
    shown = shown or any(_waits(container) for container in draft.app_containers)
    draft.gets_requests = shown and not draft.workload.runs_to_completion
    if draft.gets_requests:
        draft.no_delay = _why_no_delay(draft.workload, draft, services)


def assume_sender(draft: PodDraft, services: Sequence[LoadedResource[Service]]) -> None:
    """Assume who sends requests to a pod that no Service among the files selects.

    Where its namespace has Services, none is assumed; else its own is taken to be elsewhere.
    """
    if services or draft.senders or not draft.gets_requests:
        return
    if not (draft.workload.derived or _shows_requests(draft)):
        return  # only its hook shows that it gets requests
    what = "no Service among the files selects the pod"
    if draft.context.in_scope(Service, scope_of(draft.workload)):
        text = f"{what}: nothing is assumed to send it requests late"
        draft.assumptions.append(Assumption(text, "add its Service to the files, if it has one"))
        return
    text = f"{what}: one elsewhere is assumed"
    draft.assumptions.append(Assumption(text, "add its Service to the files"))
    assumed = Origin(OriginKind.ASSUMED, "the pod has ports or a probe")
    name = Setting("sender", "a Service that is not among the files", assumed)
    draft.senders.append(Sender(name, read_propagation(draft, name)))


def _apps(draft: PodDraft) -> Iterator[Container]:
    return (draft_of.spec for draft_of in draft.app_containers if draft_of.spec is not None)


def _shows_requests(draft: PodDraft) -> bool:
    """Whether the pod itself, or what the user says of it, shows that it gets requests."""
    return _is_stated(draft) or any(_listens(container) for container in _apps(draft))


def _is_stated(draft: PodDraft) -> bool:
    """Whether somebody says of this workload, not of all, how long its requests take."""
    if draft.p99 is not None and draft.p99.origin.location is not None:
        return True
    return draft.context.user_facts.states_of(draft.workload.id, "p99")


def _listens(container: Container) -> bool:
    """Whether a container shows a port for requests, or a probe over the network."""
    ports = (port.name or "" for port in container.ports)
    if any(not is_monitoring(name) for name in ports):
        return True
    probes = (container.livenessProbe, container.startupProbe)
    return container.readinessProbe is not None or any(_asks_network(probe) for probe in probes)


def _asks_network(probe: Probe | None) -> bool:
    if probe is None:
        return False
    return any(each is not None for each in (probe.httpGet, probe.tcpSocket, probe.grpc))


def _waits(container: ContainerDraft) -> bool:
    """Whether its preStop hook waits: that is of use for requests only."""
    return container.hook.duration.value.low > ZERO or container.hook.ending is not None


# Who is not helped by a longer delay


def _why_no_delay(
    workload: Workload, draft: PodDraft, services: Sequence[LoadedResource[Service]]
) -> str:
    """Why a longer delay would not help those who send requests; empty where it does."""
    if _is_replaced_after_its_end(workload, draft):
        return "its only pod is replaced after it has ended"
    if services and all(each.model.spec.internalTrafficPolicy == "Local" for each in services):
        update = value_at(workload.update.updateStrategy, "rollingUpdate", "maxSurge")
        if workload.id.kind == "DaemonSet" and update in (None, 0, "0%"):
            return "the node's only pod is replaced after it has ended"
    apps = list(_apps(draft))
    ports = [port for service in services for port in service.model.spec.ports]
    if is_only_monitored(ports):
        return "it is only monitored"
    names = [ImageName(each.image or "").path.rpartition("/")[2] for each in apps]
    if any(word in name for name in names[:1] for word in facts.EXPORTERS.value):
        return "it is only monitored"
    numbers = {port.port for port in ports} | {p.containerPort for c in apps for p in c.ports}
    if numbers & facts.DATABASE_PORTS.value.keys():
        return "clients of a database connect again"
    return ""


def _is_replaced_after_its_end(workload: Workload, draft: PodDraft) -> bool:
    """Whether there is one pod, and no other before it has ended."""
    if draft.replicas is None or draft.replicas.value != 1:
        return False
    strategy = value_at(workload.update.strategy, "type")
    return workload.id.kind == "StatefulSet" or strategy == "Recreate"
