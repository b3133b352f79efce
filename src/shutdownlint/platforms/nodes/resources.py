"""Typed models of the kinds by which nodes are made."""

from __future__ import annotations

from typing import Any

from msgspec import field

from shutdownlint.manifests.decoding import ApiModel, Str
from shutdownlint.manifests.resources import Metadata, Resource


class NodeClaimSpec(ApiModel, frozen=True):
    """The settings of Karpenter's nodes; the duration is as written."""

    terminationGracePeriod: Str | None = None  # noqa: N815
    taints: Any = None


class NodeClaimTemplate(ApiModel, frozen=True):
    """A NodePool's template."""

    metadata: Metadata = field(default_factory=Metadata)
    spec: NodeClaimSpec = field(default_factory=NodeClaimSpec)


class NodePoolSpec(ApiModel, frozen=True):
    """The settings of a NodePool for the end of its nodes."""

    template: NodeClaimTemplate = field(default_factory=NodeClaimTemplate)


class NodePool(Resource, frozen=True):
    """karpenter.sh NodePool."""

    spec: NodePoolSpec = field(default_factory=NodePoolSpec)


class KubeletSettings(ApiModel, frozen=True):
    """How long a kubelet lets its pods end when its node shuts down; durations as written."""

    shutdownGracePeriod: Str | None = None  # noqa: N815
    shutdownGracePeriodCriticalPods: Str | None = None  # noqa: N815


class KubeletConfiguration(Resource, frozen=True):
    """kubelet.config.k8s.io KubeletConfiguration, as kubeadm and kubelets read it."""

    shutdownGracePeriod: Str | None = None  # noqa: N815
    shutdownGracePeriodCriticalPods: Str | None = None  # noqa: N815


class NodeClassSpec(ApiModel, frozen=True):
    """The settings of Karpenter's machines in AWS: what they run at their first start."""

    userData: Str | None = None  # noqa: N815


class EC2NodeClass(Resource, frozen=True):
    """karpenter.k8s.aws EC2NodeClass."""

    spec: NodeClassSpec = field(default_factory=NodeClassSpec)


class KubeletConfigSpec(ApiModel, frozen=True):
    """The settings of the kubelets of a pool."""

    kubeletConfig: KubeletSettings = field(default_factory=KubeletSettings)  # noqa: N815


class KubeletConfig(Resource, frozen=True):
    """machineconfiguration.openshift.io KubeletConfig."""

    spec: KubeletConfigSpec = field(default_factory=KubeletConfigSpec)
