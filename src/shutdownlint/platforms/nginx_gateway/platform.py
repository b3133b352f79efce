"""NGINX Gateway Fabric as a platform: how its data plane stops.

The entry point of its image hands SIGTERM to nginx as SIGTERM, which cuts every request
(build/entrypoint.sh:18-35, build/Dockerfile.nginx:43,84).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint.manifests.decoding import value_at
from shutdownlint.manifests.resources import Resource
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.platforms.context import AnalysisContext


class NginxProxy(Resource, frozen=True):
    """gateway.nginx.org NginxProxy."""

    spec: Any = None


class NginxProxyWithoutPreStop(Problem, frozen=True, kw_only=True):
    """A data plane without a preStop hook."""

    platform = "nginx_gateway"


class Plugin(Platform):
    """NGINX Gateway Fabric."""

    name = "nginx_gateway"
    problems = (NginxProxyWithoutPreStop,)

    def context_problems(self, context: AnalysisContext) -> Iterator[Problem]:
        """Yield the data planes that are configured here and cut their requests."""
        for loaded in context.index.all_of(NginxProxy):
            for kind in ("deployment", "daemonSet"):
                shape = value_at(loaded.model.spec, "kubernetes", kind)
                if isinstance(shape, dict) and not value_at(
                    shape, "container", "lifecycle", "preStop"
                ):
                    location = loaded.ref.below("spec", "kubernetes", kind)
                    yield NginxProxyWithoutPreStop(location=location.key)
