"""Knative's handling of its pods at their end, with sources."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.shutdown.durations import seconds

GROUP: Final = "serving.knative.dev"
#: The user container's preStop hook ends when no request has come for so long.
QUIET_TIME: Final = SourcedValue(
    seconds(30), "knative.dev/pkg network/handlers/drain.go:116-151, queue/sharedmain/main.go:64-67"
)
