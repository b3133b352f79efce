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
