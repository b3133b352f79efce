"""The metrics that say how long requests take, and how their series name a workload."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.measurement.promql import Matcher, equals, matches, quote_expression
from shutdownlint.platforms.facts import SourcedValue

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from shutdownlint.manifests.object_id import ObjectId

_MILLISECOND: Final = timedelta(milliseconds=1)
_SECOND: Final = timedelta(seconds=1)


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
    cannot name it. ``caution`` is what its numbers do not show.
    """

    system: str
    name: str
    unit: timedelta
    select: Callable[[Target], Selection]
    source: str
    form: Form = Form.HISTOGRAM
    caution: str = ""

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


def _by_pod(*more: Matcher) -> Callable[[Target], Selection]:
    """Return the labels that Prometheus gives a pod's own metrics."""

    def select(target: Target) -> Selection:
        pattern = pod_pattern(target.workload)
        if pattern is None:
            return []
        return [[equals("namespace", target.namespace), matches("pod", pattern), *more]]

    return select


def _by_resource(target: Target) -> Selection:
    """As _by_pod, or the resource's own attributes where a collector passes them on."""
    found = _by_pod()(target)
    kind = {"Deployment": "deployment", "StatefulSet": "statefulset", "DaemonSet": "daemonset"}
    if target.workload.kind in kind:
        label = f"k8s_{kind[target.workload.kind]}_name"
        own = equals(label, target.workload.name)
        found.append([equals("k8s_namespace_name", target.namespace), own])
    return found


def _istio(target: Target) -> Selection:
    return [
        [
            equals("reporter", "destination"),
            equals("destination_workload_namespace", target.namespace),
            equals("destination_workload", target.workload.name),
        ]
    ]


def _linkerd(target: Target) -> Selection:
    kinds = ("Deployment", "StatefulSet", "DaemonSet")
    if target.workload.kind not in kinds:
        return []
    label = target.workload.kind.lower()
    return [
        [
            equals("direction", "inbound"),
            equals("namespace", target.namespace),
            equals(label, target.workload.name),
        ]
    ]


def _envoy_cluster(target: Target) -> Selection:
    host = quote_expression(target.namespace)
    return [
        [
            matches(
                "envoy_cluster_name",
                rf"outbound\|.*\|{quote_expression(service)}\.{host}\.svc\.cluster\.local",
            )
        ]
        for service in target.services
    ]


def _traefik(target: Target) -> Selection:
    return [
        [
            matches(
                "service",
                f"{quote_expression(f'{target.namespace}-{service}')}-[^-@]+@kubernetes.*",
            )
        ]
        for service in target.services
    ]


def _ingress_nginx(target: Target) -> Selection:
    # Where the scrape keeps its own labels, those of the metric are renamed.
    return [
        [equals(label, target.namespace), equals("service", service)]
        for service in target.services
        for label in ("namespace", "exported_namespace")
    ]


#: The first ones are nearest to the app.
METRICS: Final = (
    Metric(
        "Istio",
        "istio_request_duration_milliseconds",
        _MILLISECOND,
        _istio,
        "istio manifests/addons/dashboards/istio-mesh-dashboard.gen.json:486",
    ),
    Metric(
        "OpenTelemetry",
        "http_server_request_duration_seconds",
        _SECOND,
        _by_resource,
        "semantic-conventions docs/http/http-metrics.md:66",
    ),
    Metric(
        "OpenTelemetry (older name)",
        "http_server_duration_milliseconds",
        _MILLISECOND,
        _by_resource,
        "semantic-conventions docs/http/http-metrics.md",
    ),
    Metric(
        "Spring Boot (Micrometer)",
        "http_server_requests_seconds",
        _SECOND,
        _by_pod(matches("uri", "/actuator.*", negated=True)),
        "micrometer AbstractTimerBuilder.java:35-37",
    ),
    Metric(
        "gRPC (go-grpc-middleware)",
        "grpc_server_handling_seconds",
        _SECOND,
        _by_pod(equals("grpc_type", "unary")),
        "go-grpc-middleware providers/prometheus/server_metrics.go:34-53",
        caution="streams are left out",
    ),
    Metric(
        "gRPC (OpenTelemetry)",
        "rpc_server_call_duration_seconds",
        _SECOND,
        _by_resource,
        "semantic-conventions docs/rpc/rpc-metrics.md",
    ),
    Metric(
        "gRPC (OpenTelemetry, older name)",
        "rpc_server_duration_milliseconds",
        _MILLISECOND,
        _by_resource,
        "semantic-conventions docs/rpc/rpc-metrics.md",
    ),
    Metric(
        "vLLM",
        "vllm:e2e_request_latency_seconds",
        _SECOND,
        _by_pod(),
        "vllm docs/design/metrics.md",
    ),
    Metric(
        "SGLang",
        "sglang:e2e_request_latency_seconds",
        _SECOND,
        _by_pod(),
        "sglang docs/references/production_metrics.md",
    ),
    Metric(
        "Text Generation Inference",
        "tgi_request_duration",
        _SECOND,
        _by_pod(),
        "text-generation-inference router/src/server.rs:1938-1946",
    ),
    Metric(
        "Linkerd",
        "response_latency_ms",
        _MILLISECOND,
        _linkerd,
        "linkerd2-proxy linkerd/metrics/src/latency.rs:7-35; docs/reference/proxy-metrics.md",
        caution="until the first byte of the answer, not its end",
    ),
    Metric(
        "Envoy",
        "envoy_cluster_upstream_rq_time",
        _MILLISECOND,
        _envoy_cluster,
        "envoy source/common/stats/histogram_impl.cc (defaultBuckets)",
        caution="each attempt of a retried request counts",
    ),
    Metric(
        "Traefik",
        "traefik_service_request_duration_seconds",
        _SECOND,
        _traefik,
        "traefik pkg/observability/types/metrics.go:36",
    ),
    Metric(
        "ingress-nginx",
        "nginx_ingress_controller_request_duration_seconds",
        _SECOND,
        _ingress_nginx,
        "ingress-nginx internal/ingress/metric/collectors/socket.go:89-99",
        caution="with the time that clients need to read the answer",
    ),
    Metric(
        "Spring Boot (Micrometer)",
        "http_server_requests_seconds_max",
        _SECOND,
        _by_pod(matches("uri", "/actuator.*", negated=True)),
        "micrometer issue 3298 (the maximum of about the last three minutes)",
        form=Form.MAXIMUM,
    ),
)


class PropagationMetric(Struct, frozen=True):
    """A metric of a part of the way from a pod's change to the rules of every node.

    ``whole``: it is all of the way by itself. ``labels`` are its matchers.
    """

    name: str
    whole: bool
    source: str
    labels: tuple[Matcher, ...] = ()


PROPAGATION_METRICS: Final = (
    PropagationMetric(
        "kubeproxy_network_programming_duration_seconds",
        True,
        "kubernetes pkg/proxy/metrics/metrics.go (NetworkProgrammingLatency: from the change of "
        "the pod or Service until the rules are synced)",
    ),
    PropagationMetric(
        "kubeproxy_sync_proxy_rules_duration_seconds",
        False,
        "kubernetes pkg/proxy/metrics/metrics.go (SyncProxyRulesLatency: one round of kube-proxy)",
    ),
    PropagationMetric(
        "workqueue_queue_duration_seconds",
        False,
        "kubernetes staging/src/k8s.io/component-base/metrics/prometheus/workqueue/metrics.go",
        (equals("name", "endpoint_slice"),),
    ),
    PropagationMetric(
        "workqueue_work_duration_seconds",
        False,
        "kubernetes staging/src/k8s.io/component-base/metrics/prometheus/workqueue/metrics.go",
        (equals("name", "endpoint_slice"),),
    ),
)


def known_metrics() -> Sequence[str]:
    """Return the names of all series that may be asked for, histograms in both forms."""
    names = [metric.series for metric in METRICS]
    names += [metric.name for metric in METRICS if metric.form is Form.HISTOGRAM]
    for part in PROPAGATION_METRICS:
        names += [f"{part.name}_bucket", part.name]
    return sorted(set(names))
