"""Envoy Gateway's reading of an EnvoyProxy, with sources (tags v1.2 to v1.9)."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.shutdown.durations import ZERO, seconds

GROUP: Final = "gateway.envoyproxy.io"
PROGRAM: Final = "envoy-gateway"
_MANAGER: Final = "envoy-gateway internal/cmd/envoy/shutdown_manager.go:118-183"
#: At most so long Envoy waits for its connections.
DRAIN_TIMEOUT: Final = SourcedValue(seconds(60), _MANAGER)
#: At least so long it goes on.
MINIMUM_DRAIN: Final = SourcedValue(seconds(10), _MANAGER)
#: When health checks begin to fail.
HEALTH_CHECK_DELAY: Final = SourcedValue(
    ZERO, "envoy-gateway docs graceful-shutdown.md:43-47 (v1.9.0)"
)
#: The interval of the manager's checks, and the number of connections that may be left.
CHECK_INTERVAL: Final = SourcedValue(seconds(1), _MANAGER)
EXIT_AT_CONNECTIONS: Final = SourcedValue(0, _MANAGER)
