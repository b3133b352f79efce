"""The typed models of Istio's ProxyConfig object and of its policies."""

from __future__ import annotations

from typing import Any

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


class MeshPolicy(Resource, frozen=True):
    """A policy for the proxies that it selects: who may call, what is traced, which filters run."""

    spec: Any = None
