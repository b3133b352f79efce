"""What a cluster runs, read through the user's kubeconfig: only lists, and never Secrets."""

from shutdownlint.cluster.inputs import read_clusters
from shutdownlint.cluster.kubeconfig import ClusterError

__all__ = ["ClusterError", "read_clusters"]
