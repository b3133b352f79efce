"""Routes, as far as they limit how long requests take."""

from __future__ import annotations

from typing import Any

from shutdownlint.manifests.resources import Resource


class HTTPRoute(Resource, frozen=True):
    """gateway.networking.k8s.io HTTPRoute."""

    spec: Any = None


class HTTPProxy(Resource, frozen=True):
    """projectcontour.io HTTPProxy."""

    spec: Any = None


class ServiceRouter(Resource, frozen=True):
    """consul.hashicorp.com ServiceRouter."""

    spec: Any = None


class Mapping(Resource, frozen=True):
    """getambassador.io Mapping."""

    spec: Any = None
