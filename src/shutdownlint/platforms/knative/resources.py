"""Knative's Service, as far as it says how its pods stop."""

from __future__ import annotations

from typing import Any

from shutdownlint.manifests.decoding import value_at
from shutdownlint.manifests.resources import Resource


class KnativeService(Resource, frozen=True):
    """serving.knative.dev Service, or the Configuration that it becomes."""

    spec: Any = None

    @property
    def template(self) -> dict[str, Any]:
        """The spec of its template; empty without one."""
        data = value_at(self.spec, "template", "spec")
        return data if isinstance(data, dict) else {}
