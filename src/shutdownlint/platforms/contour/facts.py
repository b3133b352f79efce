"""The behaviour of Contour's shutdown manager, with sources."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.shutdown.durations import ZERO, seconds

PROGRAM: Final = "contour"
_MANAGER: Final = "contour cmd/contour/shutdownmanager.go:94-200, 309-323"
#: The delay before Envoy's health checks start to fail, and before connections are checked.
DRAIN_DELAY: Final = SourcedValue(ZERO, f"{_MANAGER} (--drain-delay)")
CHECK_DELAY: Final = SourcedValue(ZERO, f"{_MANAGER} (--check-delay)")
#: The interval of the checks, without a limit, and the number of connections that may be left.
CHECK_INTERVAL: Final = SourcedValue(seconds(5), f"{_MANAGER} (--check-interval)")
OPEN_CONNECTIONS: Final = SourcedValue(0, f"{_MANAGER} (--min-open-connections)")
