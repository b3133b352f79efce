"""Metrics that measure how long requests take, and how their series name a workload."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.promql import Matcher, equals, matches, quote_expression

if TYPE_CHECKING:
    from collections.abc import Callable

    from shutdownlint.manifests.object_id import ObjectId

MILLISECOND: Final = timedelta(milliseconds=1)
SECOND: Final = timedelta(seconds=1)


class Form(StrEnum):
    """The form of a metric."""

    HISTOGRAM = "histogram"
    #: The longest request of the last minutes.
    MAXIMUM = "maximum"


class Target(Struct, frozen=True):
    """A workload whose requests are measured, and the Services that lead to it."""

    workload: ObjectId
    services: tuple[str, ...] = ()

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.workload.namespace or "default"

    @property
    def title(self) -> str:
        """The name in reports and in the file of measurements."""
        return f"{self.workload.kind}/{self.namespace}/{self.workload.name}"


#: One list for each way in which the series may name the workload.
Selection = list[list[Matcher]]


class Metric(Struct, frozen=True):
    """A metric of request durations.

    ``unit`` is what its values count. ``select`` finds the series of a workload: empty where they
    cannot name it. ``caution`` is what its numbers do not show. ``distance`` orders them: the
    metrics of the app itself have the smallest.
    """

    system: str
    name: str
    unit: timedelta
    select: Callable[[Target], Selection]
    source: str
    form: Form = Form.HISTOGRAM
    caution: str = ""
    distance: int = 1

    @property
    def series(self) -> str:
        """The name of the series that are asked for."""
        return f"{self.name}_bucket" if self.form is Form.HISTOGRAM else self.name


#: The characters of generated parts of pod names.
_GENERATED: Final = SourcedValue(
    "[bcdfghjklmnpqrstvwxz2456789]",
    "kubernetes staging/src/k8s.io/apimachinery/pkg/util/rand/rand.go (SafeEncodeString)",
)
#: Longer names are cut before the generated part.
_LONGEST_BASE: Final = SourcedValue(
    58, "kubernetes staging/src/k8s.io/apiserver/pkg/storage/names/generate.go (63 - 5)"
)
_LONGEST_HASH: Final = 10


def pod_pattern(workload: ObjectId) -> str | None:
    """Return a pattern for the workload's pod names; None for kinds without such names."""
    name, part = workload.name, _GENERATED.value
    kind = workload.kind
    if kind == "Pod":
        return quote_expression(name)
    if kind == "StatefulSet":
        return f"{quote_expression(name)}-[0-9]+"
    hashes = [part + f"{{1,{_LONGEST_HASH}}}"] if kind in ("Deployment", "Rollout") else []
    if kind not in ("Deployment", "Rollout", "DaemonSet", "ReplicaSet", "ReplicationController"):
        return None
    needed = len(name) + 1 + (_LONGEST_HASH + 1 if hashes else 0)
    if needed > _LONGEST_BASE.value:
        return f"{quote_expression(name[: _LONGEST_BASE.value])}.*{part}{{5}}"
    return "-".join([quote_expression(name), *hashes, part + "{5}"])


def by_pod(*more: Matcher) -> Callable[[Target], Selection]:
    """Return the labels that Prometheus gives a pod's own metrics."""

    def select(target: Target) -> Selection:
        pattern = pod_pattern(target.workload)
        if pattern is None:
            return []
        return [[equals("namespace", target.namespace), matches("pod", pattern), *more]]

    return select


def by_resource(target: Target) -> Selection:
    """As _by_pod, or the resource's own attributes where a collector passes them on."""
    found = by_pod()(target)
    kind = {"Deployment": "deployment", "StatefulSet": "statefulset", "DaemonSet": "daemonset"}
    if target.workload.kind in kind:
        label = f"k8s_{kind[target.workload.kind]}_name"
        own = equals(label, target.workload.name)
        found.append([equals("k8s_namespace_name", target.namespace), own])
    return found


class PropagationMetric(Struct, frozen=True):
    """A metric of a part of the way from a pod's change to the rules of every node.

    ``whole``: it is all of the way by itself. ``labels`` are its matchers.
    """

    name: str
    whole: bool
    source: str
    labels: tuple[Matcher, ...] = ()
