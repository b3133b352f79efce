"""The typed model of Istio's ProxyConfig object."""

from __future__ import annotations

from msgspec import field

from shutdownlint.manifests.decoding import ApiModel, StrMap
from shutdownlint.manifests.resources import LabelSelector, Resource


class ProxyConfigSpec(ApiModel, frozen=True):
    """networking.istio.io ProxyConfig: environment variables are all it can say of shutdown."""

    selector: LabelSelector | None = None
    environmentVariables: StrMap = field(default_factory=dict)  # noqa: N815


class ProxyConfigResource(Resource, frozen=True):
    """A ProxyConfig object."""

    spec: ProxyConfigSpec = field(default_factory=ProxyConfigSpec)
