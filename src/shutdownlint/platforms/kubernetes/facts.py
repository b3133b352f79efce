"""What Kubernetes does by itself. Sources are paths in kubernetes/kubernetes v1.36.2."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from shutdownlint.platforms.facts import Fact
from shutdownlint.platforms.versions import Version

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
#: What the cluster autoscaler grants at most when it takes a node away.
AUTOSCALER_LIMIT: Final = Fact(
    timedelta(seconds=600), "kubernetes/autoscaler FAQ.md:886 (--max-graceful-termination-sec)"
)
#: Before, the sleep action is off by default (1.29, dropped) or unknown.
SLEEP_SINCE: Final = Fact(Version(1, 30, 0), "pkg/features/kube_features.go:1785-1789, KEP-3960")
#: A hook that fails is told in an event, and the stop signal follows at once.
FAILING_HOOK: Final = Fact(timedelta(0), "pkg/kubelet/kuberuntime/kuberuntime_container.go:796")
