"""What Contour's shutdown manager does, with sources."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.shutdown.durations import ZERO, seconds

PROGRAM: Final = "contour"
_MANAGER: Final = "contour cmd/contour/shutdownmanager.go:94-200, 309-323"
#: How long it waits before Envoy's health checks begin to fail, and before it looks at connections.
DRAIN_DELAY: Final = SourcedValue(ZERO, f"{_MANAGER} (--drain-delay)")
CHECK_DELAY: Final = SourcedValue(ZERO, f"{_MANAGER} (--check-delay)")
#: How often it looks, without a limit, and how many connections may be left.
CHECK_INTERVAL: Final = SourcedValue(seconds(5), f"{_MANAGER} (--check-interval)")
OPEN_CONNECTIONS: Final = SourcedValue(0, f"{_MANAGER} (--min-open-connections)")
