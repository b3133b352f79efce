"""The built-in behaviour of Kubernetes. Sources are paths in kubernetes/kubernetes v1.36.2."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from shutdownlint.platforms.facts import MEASURED_ON_NODE, SourcedValue, VersionTable
from shutdownlint.platforms.pods.facts import DEFAULT_GRACE
from shutdownlint.platforms.versions import Version, VersionRange
from shutdownlint.shutdown.durations import format_duration, seconds

#: Releases that are tried where the version is not known.
SUPPORTED_VERSIONS: Final = SourcedValue(
    tuple(Version.parse(f"1.{minor}") for minor in range(31, 37)), "read at v1.36.2 and v1.32.10"
)
#: The least delay before a Rollout's old pods end that Argo Rollouts recommends.
SCALE_DOWN_DELAY: Final = SourcedValue(
    seconds(30),
    "argo-rollouts pkg/apis/rollouts/v1alpha1/types.go:196-202, 311-317; validation.go:294-302",
)
#: API versions that are served no more: since when, and what to write.
REMOVED_APIS: Final = SourcedValue(
    {
        ("extensions/v1beta1", "Deployment"): (Version(1, 16, 0), "apps/v1"),
        ("extensions/v1beta1", "DaemonSet"): (Version(1, 16, 0), "apps/v1"),
        ("extensions/v1beta1", "ReplicaSet"): (Version(1, 16, 0), "apps/v1"),
        ("apps/v1beta1", "Deployment"): (Version(1, 16, 0), "apps/v1"),
        ("apps/v1beta1", "StatefulSet"): (Version(1, 16, 0), "apps/v1"),
        ("apps/v1beta2", "Deployment"): (Version(1, 16, 0), "apps/v1"),
        ("apps/v1beta2", "StatefulSet"): (Version(1, 16, 0), "apps/v1"),
        ("apps/v1beta2", "DaemonSet"): (Version(1, 16, 0), "apps/v1"),
        ("apps/v1beta2", "ReplicaSet"): (Version(1, 16, 0), "apps/v1"),
        ("batch/v1beta1", "CronJob"): (Version(1, 25, 0), "batch/v1"),
        ("policy/v1beta1", "PodDisruptionBudget"): (Version(1, 25, 0), "policy/v1"),
        ("autoscaling/v2beta1", "HorizontalPodAutoscaler"): (Version(1, 25, 0), "autoscaling/v2"),
        ("autoscaling/v2beta2", "HorizontalPodAutoscaler"): (Version(1, 26, 0), "autoscaling/v2"),
    },
    f"kubernetes.io/docs/reference/using-api/deprecation-guide; {MEASURED_ON_NODE}",
)
#: A negative grace period is rewritten to this.
NEGATIVE_GRACE: Final = SourcedValue(timedelta(seconds=1), "pkg/apis/core/v1/conversion.go:382")
#: A Deployment that makes no progress for so long is reported.
PROGRESS_DEADLINE: Final = SourcedValue(
    timedelta(seconds=600), "pkg/apis/apps/v1/defaults.go:38-72"
)
#: Terminating pods get traffic where no other is left, from this release on.
TERMINATING_FALLBACK_SINCE: Final = SourcedValue(
    Version(1, 26, 0), f"KEP-1669, pkg/proxy/topology.go:41-82; {MEASURED_ON_NODE}"
)
#: Native sidecars end in reverse order, and after the containers, from this release on.
NATIVE_ORDER_SINCE: Final = SourcedValue(
    Version(1, 29, 0), f"KEP-753 README:925, kube_features.go:1993; {MEASURED_ON_NODE}"
)
#: Releases that reject every restart policy of a container but Always of an init container. The one
#: after them, and those before, drop it.
RESTART_POLICY_REJECTED_IN: Final = SourcedValue(
    VersionRange.parse(">=1.29,<1.34"),
    "pkg/apis/core/validation/validation.go at v1.29.15 and v1.30.14 "
    "(validateInitContainerRestartPolicy); kube_features.go (SidecarContainers)",
)
#: Containers have restart policies of their own from this release on.
RESTART_RULES_SINCE: Final = SourcedValue(
    Version(1, 35, 0),
    "pkg/features/kube_features.go:1335 (ContainerRestartRules); "
    f"{MEASURED_ON_NODE} (dropped) and 1.36.2 (rejected)",
)
RESTART_POLICIES: Final = SourcedValue(
    ("Always", "OnFailure", "Never"), "staging/src/k8s.io/api/core/v1/types.go (RestartPolicy)"
)
#: Before, the sleep action is off by default (1.29, dropped) or unknown.
SLEEP_SINCE: Final = SourcedValue(
    Version(1, 30, 0), "pkg/features/kube_features.go:1785-1789, KEP-3960"
)
#: The sleep action's alpha release: known, and dropped.
SLEEP_KNOWN_SINCE: Final = SourcedValue(
    Version(1, 29, 0), "pkg/features/kube_features.go:1785, KEP-3960"
)
#: From here on a sleep of zero seconds is taken.
SLEEP_ZERO_SINCE: Final = SourcedValue(
    Version(1, 33, 0), "pkg/features/kube_features.go:1791, KEP-4818"
)
PROBE_GRACE_SINCE: Final = SourcedValue(
    Version(1, 25, 0), "feature-gates/ProbeTerminationGracePeriod.md"
)
STOP_SIGNAL_SINCE: Final = SourcedValue(
    Version(1, 33, 0), "pkg/features/kube_features.go:1340, KEP-4960"
)

#: Releases whose kubelet counts the grace period after the preStop hook.
GRACE_AFTER_HOOK_IN: Final = SourcedValue(
    VersionRange.parse(">=1.22,<1.28"),
    "kubernetes PR 115835; killContainer read at 1.22.6 to 1.28.6; measured with a node of 1.24.17",
)
#: The facts that change with the version.
VERSION_CHANGES: Final = (
    TERMINATING_FALLBACK_SINCE,
    NATIVE_ORDER_SINCE,
    SLEEP_SINCE,
    SLEEP_KNOWN_SINCE,
    SLEEP_ZERO_SINCE,
    PROBE_GRACE_SINCE,
    STOP_SIGNAL_SINCE,
    GRACE_AFTER_HOOK_IN,
)

VERSION_TABLES: Final = (
    VersionTable(
        "terminationGracePeriodSeconds",
        (("all", f"{format_duration(DEFAULT_GRACE.value)}; runs through preStop"),),
        DEFAULT_GRACE.source,
    ),
    VersionTable(
        "preStop.sleep",
        (
            (f"<{SLEEP_KNOWN_SINCE.value}", "unknown: the object is refused"),
            (f">={SLEEP_KNOWN_SINCE.value},<{SLEEP_SINCE.value}", "dropped, and preStop with it"),
            (f">={SLEEP_SINCE.value}", "from 1 second to the grace period"),
            (f">={SLEEP_ZERO_SINCE.value}", "0 seconds is taken too"),
        ),
        f"{SLEEP_SINCE.source}; {SLEEP_ZERO_SINCE.source}",
    ),
    VersionTable(
        "a probe's terminationGracePeriodSeconds",
        (
            (f"<{PROBE_GRACE_SINCE.value}", "dropped"),
            (f">={PROBE_GRACE_SINCE.value}", "replaces the pod's where that probe kills"),
        ),
        PROBE_GRACE_SINCE.source,
    ),
    VersionTable(
        "lifecycle.stopSignal",
        (
            (f"<{STOP_SIGNAL_SINCE.value}", "unknown"),
            (f">={STOP_SIGNAL_SINCE.value}", "dropped unless the feature is switched on"),
        ),
        STOP_SIGNAL_SINCE.source,
    ),
    VersionTable(
        "initContainers with restartPolicy Always",
        (
            (f"<{NATIVE_ORDER_SINCE.value}", "no order at the end, or unknown"),
            (f">={NATIVE_ORDER_SINCE.value}", "end after the containers, in reverse order"),
        ),
        NATIVE_ORDER_SINCE.source,
    ),
    VersionTable(
        "traffic to terminating pods",
        (
            (f"<{TERMINATING_FALLBACK_SINCE.value}", "none"),
            (f">={TERMINATING_FALLBACK_SINCE.value}", "where no other pod is ready"),
        ),
        TERMINATING_FALLBACK_SINCE.source,
    ),
)
#: Labels that controllers add to pods, so that no template has them.
CONTROLLER_LABELS: Final = SourcedValue(
    (
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
        "controller-revision-hash",
        "pod-template-hash",
        "batch.kubernetes.io/job-name",
        "job-name",
        "gateway.networking.k8s.io/gateway-name",
    ),
    "kubernetes/website content/en/docs/reference/labels-annotations-taints/_index.md",
)
#: Triggers of KEDA that count jobs of a queue (https://keda.sh/docs, scalers).
QUEUE_TRIGGERS: Final = SourcedValue(
    (
        "activemq",
        "apache-kafka",
        "artemis-queue",
        "aws-kinesis-stream",
        "aws-sqs-queue",
        "azure-eventhub",
        "azure-queue",
        "azure-servicebus",
        "beanstalkd",
        "gcp-pubsub",
        "ibmmq",
        "kafka",
        "nats-jetstream",
        "pulsar",
        "rabbitmq",
        "redis",
        "redis-streams",
        "redis-sentinel",
        "redis-cluster",
        "solace-event-queue",
        "stan",
        "temporal",
    ),
    "keda-docs concepts/scaling-deployments.md:226-242 and its list of scalers",
)
#: Ports of databases, caches and queues, by their number.
DATABASE_PORTS: Final = SourcedValue(
    {
        1433: "SQL Server",
        1521: "Oracle",
        2181: "ZooKeeper",
        2379: "etcd",
        3306: "MySQL",
        4222: "NATS",
        5432: "PostgreSQL",
        5672: "AMQP",
        6379: "Redis",
        9042: "Cassandra",
        9092: "Kafka",
        11211: "memcached",
        26257: "CockroachDB",
        27017: "MongoDB",
    },
    "IANA's service names and port numbers; the projects' documentation for 9042, 9092, 26257",
)
#: Parts of the names of images that only give metrics.
EXPORTERS: Final = SourcedValue(
    ("exporter", "kube-state-metrics"),
    "prometheus.io docs/instrumenting/exporters; the names of their images",
)
