"""Forms in which annotations of Services and Ingresses hold several values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from shutdownlint.manifests.resources import Service

#: The annotations by which a Service names its BackendConfig
#: (ingress-gce pkg/annotations/service.go:47).
BACKEND_CONFIG: Final = ("cloud.google.com/backend-config", "beta.cloud.google.com/backend-config")


def read_pair(part: str) -> tuple[str, str] | None:
    """``key=value`` without the blanks and line breaks around both; None for anything else."""
    key, equals, value = part.partition("=")
    return (key.strip(), value.strip()) if key.strip() and equals else None


def read_json(text: str | None) -> dict[str, Any]:
    """Return an object in JSON; empty for anything else."""
    try:
        data = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def backend_config_names(service: Service) -> set[str]:
    """Return the names of the BackendConfigs that a Service names, for all ports or one."""
    found: set[str] = set()
    for key in BACKEND_CONFIG:
        config = read_json(service.metadata.annotations.get(key))
        ports = config.get("ports")
        names = [config.get("default"), *(ports.values() if isinstance(ports, dict) else ())]
        found |= {name for name in names if isinstance(name, str)}
    return found
