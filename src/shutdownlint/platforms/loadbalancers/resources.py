"""Typed models of the kinds by which load balancers are configured."""

from __future__ import annotations

from msgspec import field

from shutdownlint.manifests.decoding import ApiModel, Str
from shutdownlint.manifests.resources import BackendConfigSpec, Resource, TargetReference


class GCPBackendPolicySpec(ApiModel, frozen=True):
    """The settings of a Service that GKE's Gateway reads."""

    default: BackendConfigSpec | None = None
    targetRef: TargetReference | None = None  # noqa: N815


class GCPBackendPolicy(Resource, frozen=True):
    """networking.gke.io GCPBackendPolicy."""

    spec: GCPBackendPolicySpec = field(default_factory=GCPBackendPolicySpec)


class TargetGroupAttribute(ApiModel, frozen=True):
    """One attribute of a target group."""

    key: Str = ""
    value: Str | None = None


class TargetGroupProps(ApiModel, frozen=True):
    """The settings that AWS's controller gives a target group."""

    targetType: Str | None = None  # noqa: N815
    targetGroupAttributes: list[TargetGroupAttribute] = field(  # noqa: N815
        default_factory=list
    )


class TargetGroupConfigurationSpec(ApiModel, frozen=True):
    """The settings of a Service that AWS's Gateway reads."""

    targetReference: TargetReference | None = None  # noqa: N815
    defaultConfiguration: TargetGroupProps | None = None  # noqa: N815


class TargetGroupConfiguration(Resource, frozen=True):
    """gateway.k8s.aws TargetGroupConfiguration."""

    spec: TargetGroupConfigurationSpec = field(default_factory=TargetGroupConfigurationSpec)
