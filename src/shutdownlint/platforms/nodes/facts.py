"""The time that nodes give their pods when they are taken away, each with its source."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.facts import SourcedValue

#: The time that nodes that can be taken away at any time give their pods: by the label with which a
#: pod asks for such a node. A pod that only tolerates them is excluded.
SPOT_NOTICE: Final = SourcedValue(
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
SPOT_TAINTS: Final = SourcedValue(
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
NODE_POOL_GRACE: Final = SourcedValue(
    "overrides the pod's",
    "karpenter pkg/apis/v1/nodeclaim.go:57-73, terminator/eviction.go:226-303",
)
#: A kubelet's settings in the text that a machine runs at its first start: YAML (nodeadm,
#: cloud-init) or Bottlerocket's TOML (settings.kubernetes.shutdown-grace-period).
KUBELET_LINES: Final = lazy_pattern(
    r"(?m)^[ \t]*"
    r"(shutdownGracePeriod(?:CriticalPods)?|shutdown-grace-period(?:-for-critical-pods)?)"
    r"[ \t]*[:=][ \t]*[\"']?([0-9a-z.]{1,20})"
)
#: These pods end last when a node shuts down, within shutdownGracePeriodCriticalPods.
CRITICAL_CLASSES: Final = SourcedValue(
    ("system-cluster-critical", "system-node-critical"),
    "pkg/kubelet/nodeshutdown/nodeshutdown_manager.go:129-151,229-240",
)
#: The longest grace that the cluster autoscaler grants when it takes a node away.
AUTOSCALER_LIMIT: Final = SourcedValue(
    timedelta(seconds=600), "kubernetes/autoscaler FAQ.md:886 (--max-graceful-termination-sec)"
)
