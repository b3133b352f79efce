"""Who sends a pod requests: what several platforms note, and the rules of all of them look at."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.platforms.facts import MEASURED_ON_NODE, SourcedValue
from shutdownlint.shutdown.pod_plan import Assumption

if TYPE_CHECKING:
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.user_facts import AppFacts
    from shutdownlint.shutdown.provenance import Setting

#: The time that new requests still arrive after termination starts, without a load balancer that
#: states it.
DEFAULT_PROPAGATION: Final = SourcedValue(
    timedelta(seconds=5),
    "KEP-3960 README:118-119 (its example); no bound is published; "
    f"{MEASURED_ON_NODE}: kube-proxy sent new connections for up to 0.5s with one Service, and for "
    "up to 2.6s with 500, without the delay of more nodes, controllers and load balancers",
)


#: The assumption of a finding if each container of a pod may be the one that serves.
SERVES_ASSUMED: Final = Assumption(
    "which container serves requests is not shown: each is taken to",
    "declare its ports, or a Service with a target port",
)
#: The name of the setting that says so.
PROPAGATION: Final = "endpoint propagation"


class ServiceFacts(Struct, frozen=True):
    """The Service that sends the pod requests, and how long it goes on after a deletion."""

    service: Setting[str]
    propagation: Setting[timedelta]
    #: The ports of the pod that it sends to, numbers and names.
    ports: tuple[int | str, ...] = ()


class StreamFacts(Struct, frozen=True):
    """The port that shows streams of clients. ``p99_is_theirs``: a p99 that no request takes."""

    shown: Setting[str]
    p99_is_theirs: bool = False


class MeasuredRequests(Struct, frozen=True):
    """The measured time of a workload's requests."""

    facts: AppFacts


class LoadBalancerFacts(Struct, frozen=True):
    """A load balancer outside the cluster that sends the pod requests.

    ``window`` is how long it may go on with that after the pod's deletion, by its vendor's guides;
    ``deregistration`` how long it lets connections finish once it has taken the pod out, where
    that is written; ``containers`` are those it leads to, empty where no port shows that.
    ``no_readiness_gate``: new pods do not wait until it has them.
    """

    name: Setting[str]
    window: Setting[timedelta]
    deregistration: Setting[timedelta] | None = None
    containers: frozenset[str] = frozenset()
    no_readiness_gate: bool = False


class ClosesKeptConnections(Struct, frozen=True):
    """A proxy whose answers ask clients to open new connections while it drains.

    ``from_deletion``: it begins with the pod's deletion, else with the stop signal.
    """

    from_deletion: bool


class RequestedService(Struct, frozen=True):
    """A Service, reached from outside the cluster, that a controller makes for the pods."""

    name: Setting[str]


class MeshProxyFacts(Struct, frozen=True):
    """A proxy's mesh (the platform's name) and how it is put into the pod."""

    mesh: str
    mode: Setting[str]


def meshes_of(pod: PlannedPod) -> list[str]:
    """Return the mesh of each mesh proxy in a pod."""
    notes = (noted.get(MeshProxyFacts) for noted in pod.container_facts.values())
    return [note.mesh for note in notes if note is not None]
