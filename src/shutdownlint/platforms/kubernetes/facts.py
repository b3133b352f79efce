"""What Kubernetes does by itself. Sources are paths in kubernetes/kubernetes v1.36.2."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from shutdownlint.platforms.facts import Dated, Fact
from shutdownlint.platforms.versions import Version
from shutdownlint.shutdown.durations import written

#: Releases that are tried where the version is not known.
SUPPORTED_VERSIONS: Final = Fact(
    tuple(Version.parse(f"1.{minor}") for minor in range(31, 37)), "read at v1.36.2 and v1.32.10"
)
DEFAULT_GRACE: Final = Fact(
    timedelta(seconds=30),
    "staging/src/k8s.io/api/core/v1/types.go:3766, pkg/apis/core/v1/defaults.go:225",
)
#: A negative grace period is rewritten to this.
NEGATIVE_GRACE: Final = Fact(timedelta(seconds=1), "pkg/apis/core/v1/conversion.go:382")
#: A tcpSocket hook passes validation and fails at run time: no delay at all.
TCP_SOCKET_HOOK: Final = Fact(timedelta(0), "pkg/kubelet/lifecycle/handlers.go:105")
#: How long nodes of a kind that can be taken away any time give their pods then: by the label that
#: a pod asks for such a node with. A pod that only tolerates them is not meant.
SPOT_NOTICE: Final = Fact(
    {
        ("cloud.google.com/gke-spot", "true"): ("GKE Spot", timedelta(seconds=15)),
        ("cloud.google.com/gke-preemptible", "true"): ("GKE preemptible", timedelta(seconds=15)),
        ("karpenter.sh/capacity-type", "spot"): ("EC2 Spot", timedelta(seconds=120)),
        ("eks.amazonaws.com/capacityType", "SPOT"): ("EC2 Spot", timedelta(seconds=120)),
        ("kubernetes.azure.com/scalesetpriority", "spot"): ("Azure Spot", timedelta(seconds=30)),
        ("kubernetes.azure.com/priority", "spot"): ("Azure Spot", timedelta(seconds=30)),
    },
    "GKE docs 'Spot VMs' (15 s for pods outside the system groups; up to 120 s where extended), "
    "EKS user guide managed-node-groups.adoc:99, Azure IMDS Preempt (30 s)",
)
#: Taints that keep ordinary pods off the same nodes: a pod that tolerates one may land there.
SPOT_TAINTS: Final = Fact(
    {
        ("cloud.google.com/gke-spot", "true"): ("GKE Spot", timedelta(seconds=15)),
        ("cloud.google.com/gke-preemptible", "true"): ("GKE preemptible", timedelta(seconds=15)),
        ("kubernetes.azure.com/scalesetpriority", "spot"): ("Azure Spot", timedelta(seconds=30)),
    },
    "GKE docs 'Spot VMs'; AKS spot-node-pool.md:41,176-195",
)
#: The label of Karpenter's nodes that names their pool. Its terminationGracePeriod overrides that
#: of the pods on them.
NODE_POOL_LABEL: Final = "karpenter.sh/nodepool"
NODE_POOL_GRACE: Final = Fact(
    "overrides the pod's",
    "karpenter pkg/apis/v1/nodeclaim.go:57-73, terminator/eviction.go:226-303",
)
#: Of how many replicas a workload has that says nothing.
DEFAULT_REPLICAS: Final = Fact(1, "pkg/apis/apps/v1/defaults.go:38-135")
#: Replaced at a time: of a Deployment's pods a quarter, of a DaemonSet's one.
DEFAULT_BATCH: Final = Fact("25%", "pkg/apis/apps/v1/defaults.go:38-72")
#: A Deployment that makes no progress for so long is reported.
PROGRESS_DEADLINE: Final = Fact(timedelta(seconds=600), "pkg/apis/apps/v1/defaults.go:38-72")
#: Terminating pods get traffic where no other is left, from this release on.
TERMINATING_FALLBACK_SINCE: Final = Fact(Version(1, 26, 0), "KEP-1669, pkg/proxy/topology.go:41-82")
#: Native sidecars end in reverse order, and after the containers, from this release on.
NATIVE_ORDER_SINCE: Final = Fact(Version(1, 29, 0), "KEP-753 README:925, kube_features.go:1993")
#: What the cluster autoscaler grants at most when it takes a node away.
AUTOSCALER_LIMIT: Final = Fact(
    timedelta(seconds=600), "kubernetes/autoscaler FAQ.md:886 (--max-graceful-termination-sec)"
)
#: Before, the sleep action is off by default (1.29, dropped) or unknown.
SLEEP_SINCE: Final = Fact(Version(1, 30, 0), "pkg/features/kube_features.go:1785-1789, KEP-3960")
#: A hook that fails is told in an event, and the stop signal follows at once.
FAILING_HOOK: Final = Fact(timedelta(0), "pkg/kubelet/kuberuntime/kuberuntime_container.go:796")
#: The sleep action's alpha release: known, and dropped.
SLEEP_KNOWN_SINCE: Final = Fact(Version(1, 29, 0), "pkg/features/kube_features.go:1785, KEP-3960")
#: From here on a sleep of zero seconds is taken.
SLEEP_ZERO_SINCE: Final = Fact(Version(1, 33, 0), "pkg/features/kube_features.go:1791, KEP-4818")
PROBE_GRACE_SINCE: Final = Fact(Version(1, 25, 0), "feature-gates/ProbeTerminationGracePeriod.md")
STOP_SIGNAL_SINCE: Final = Fact(Version(1, 33, 0), "pkg/features/kube_features.go:1340, KEP-4960")

BY_VERSION: Final = (
    Dated(
        "terminationGracePeriodSeconds",
        (("all", f"{written(DEFAULT_GRACE.value)}; runs through preStop"),),
        DEFAULT_GRACE.source,
    ),
    Dated(
        "preStop.sleep",
        (
            (f"<{SLEEP_KNOWN_SINCE.value}", "unknown: the object is refused"),
            (f">={SLEEP_KNOWN_SINCE.value},<{SLEEP_SINCE.value}", "dropped, and preStop with it"),
            (f">={SLEEP_SINCE.value}", "from 1 second to the grace period"),
            (f">={SLEEP_ZERO_SINCE.value}", "0 seconds is taken too"),
        ),
        f"{SLEEP_SINCE.source}; {SLEEP_ZERO_SINCE.source}",
    ),
    Dated(
        "a probe's terminationGracePeriodSeconds",
        (
            (f"<{PROBE_GRACE_SINCE.value}", "dropped"),
            (f">={PROBE_GRACE_SINCE.value}", "replaces the pod's where that probe kills"),
        ),
        PROBE_GRACE_SINCE.source,
    ),
    Dated(
        "lifecycle.stopSignal",
        (
            (f"<{STOP_SIGNAL_SINCE.value}", "unknown"),
            (f">={STOP_SIGNAL_SINCE.value}", "dropped unless the feature is switched on"),
        ),
        STOP_SIGNAL_SINCE.source,
    ),
    Dated(
        "initContainers with restartPolicy Always",
        (
            (f"<{NATIVE_ORDER_SINCE.value}", "no order at the end, or unknown"),
            (f">={NATIVE_ORDER_SINCE.value}", "end after the containers, in reverse order"),
        ),
        NATIVE_ORDER_SINCE.source,
    ),
    Dated(
        "traffic to terminating pods",
        (
            (f"<{TERMINATING_FALLBACK_SINCE.value}", "none"),
            (f">={TERMINATING_FALLBACK_SINCE.value}", "where no other pod is ready"),
        ),
        TERMINATING_FALLBACK_SINCE.source,
    ),
)
