"""Istio's VirtualService, which several platforms read."""

from __future__ import annotations

from typing import Any

from shutdownlint.manifests.resources import Resource


class VirtualService(Resource, frozen=True):
    """networking.istio.io VirtualService."""

    spec: Any = None
