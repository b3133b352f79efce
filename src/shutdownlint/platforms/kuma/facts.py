"""The behaviour of Kuma's sidecar at its stop signal, and the annotations that decide it."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.platforms.versions import Version
from shutdownlint.shutdown.durations import seconds

MESH: Final = "kuma"
PROXY_CONTAINER: Final = "kuma-sidecar"
#: A label of pods and namespaces; as an annotation it is not read.
#: Ports whose traffic does not pass the proxy (kuma.io docs, transparent proxying).
SKIPPED_PORTS: Final = "traffic.kuma.io/exclude-inbound-ports"
INJECT: Final = "kuma.io/sidecar-injection"
DRAIN_ANNOTATION: Final = "kuma.io/sidecar-drain-time"

DRAIN_TIME: Final = SourcedValue(
    seconds(30), "kuma annotations.go:62-63, kuma-cp.defaults.yaml:286-287"
)
NATIVE_BY_DEFAULT_SINCE: Final = SourcedValue(
    Version.parse("2.14.0"), "kuma UPGRADE.md:2101-2111 (experimental.sidecarContainers)"
)
SUPPORTED_VERSIONS: Final = SourcedValue(
    tuple(Version.parse(f"2.{minor}") for minor in range(10, 16)), "kuma releases"
)
VERSION_CHANGES: Final = (NATIVE_BY_DEFAULT_SINCE,)
AT_SIGNAL: Final = SourcedValue(
    "a classic one serves for the whole drain time; a native one ends at once",
    "kuma app/kuma-dp/cmd/run.go:384-427, webhooks/injector/injector.go:327-336",
)
