"""The behaviour of Consul's sidecar at its stop signal, and the annotations that decide it."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.platforms.versions import Version
from shutdownlint.shutdown.durations import seconds

MESH: Final = "consul"
PROXY_CONTAINER: Final = "consul-dataplane"
_PREFIX: Final = "consul.hashicorp.com/"
#: Ports whose traffic does not pass the proxy (Consul docs, annotations and labels).
SKIPPED_PORTS: Final = f"{_PREFIX}transparent-proxy-exclude-inbound-ports"
INJECT: Final = f"{_PREFIX}connect-inject"
LIFECYCLE: Final = f"{_PREFIX}enable-sidecar-proxy-lifecycle"
GRACE_ANNOTATION: Final = f"{_PREFIX}sidecar-proxy-lifecycle-shutdown-grace-period-seconds"
NATIVE_ANNOTATION: Final = f"{_PREFIX}enable-consul-dataplane-as-sidecar"
DRAIN_ANNOTATION: Final = f"{_PREFIX}enable-sidecar-proxy-lifecycle-shutdown-drain-listeners"
#: The chart's comments document this spelling, which nothing reads.
DRAIN_MISSPELLED: Final = f"{_PREFIX}enable-sidecar-proxy-shutdown-drain-listeners"
ANNOTATIONS: Final = (INJECT, LIFECYCLE, GRACE_ANNOTATION, NATIVE_ANNOTATION, DRAIN_ANNOTATION)

SHUTDOWN_GRACE: Final = SourcedValue(
    seconds(30), "consul-k8s charts/consul/values.yaml:3038-3052 (since 1.3.0)"
)
LIFECYCLE_ENABLED: Final = SourcedValue(
    True,
    "consul-k8s charts/consul/values.yaml:3038, webhook/consul_dataplane_sidecar.go:407-437",
)
#: The release of the chart from which the sidecar serves on by default.
LIFECYCLE_SINCE: Final = SourcedValue(
    Version.parse("1.3"), "consul-k8s charts/consul/values.yaml:3038-3052 at tag v1.3.0"
)
SUPPORTED_VERSIONS: Final = SourcedValue(
    tuple(Version.parse(text) for text in ("1.2", "1.3", "1.5", "1.7", "1.9", "2.0")),
    "consul-k8s releases",
)
AT_SIGNAL: Final = SourcedValue(
    "it drains, serves for the whole grace period, and then ends, whatever is open",
    "consul-dataplane cmd/consul-dataplane/main.go:194-204, pkg/consuldp/lifecycle.go:163-214",
)
