"""The behaviour of Dapr's sidecar at its stop signal, and the annotations that decide it."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.shutdown.durations import ZERO, seconds

NAME: Final = "dapr"
SIDECAR_CONTAINER: Final = "daprd"
_PREFIX: Final = "dapr.io/"
ENABLED: Final = f"{_PREFIX}enabled"
GRACEFUL_ANNOTATION: Final = f"{_PREFIX}graceful-shutdown-seconds"
BLOCK_ANNOTATION: Final = f"{_PREFIX}block-shutdown-duration"
#: Since 1.18.
NATIVE_ANNOTATION: Final = f"{_PREFIX}enable-native-sidecar"
#: The values that are true in Dapr's annotations; everything else is false.
TRUTHY: Final = ("1", "y", "yes", "t", "true", "on")
ANNOTATIONS: Final = (ENABLED, GRACEFUL_ANNOTATION, BLOCK_ANNOTATION, NATIVE_ANNOTATION)

GRACEFUL_SHUTDOWN: Final = SourcedValue(
    seconds(5), "dapr pkg/runtime/config.go:69-70,475-479; a limit, not a delay (dapr 7211)"
)
BLOCK_SHUTDOWN: Final = SourcedValue(ZERO, "dapr pkg/runtime/runtime.go:410-545 (no block)")
AT_SIGNAL: Final = SourcedValue(
    "its APIs go on for the block duration, then close; it exits when it has finished",
    "dapr pkg/runtime/runtime.go:410-545",
)
