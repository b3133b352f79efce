"""Istio's defaults, versions and limits, each with its source.

Paths are in istio/istio at 86c9f01fd7 unless another repository is named; "first tag" facts were
read at every release tag.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from shutdownlint.platforms.facts import SourcedValue, VersionTable
from shutdownlint.platforms.versions import NEWEST_PATCH, Version, VersionRange
from shutdownlint.shutdown.durations import format_duration

DRAIN_DURATION: Final = SourcedValue(timedelta(seconds=45), "pkg/config/mesh/mesh.go:44")
TERMINATION_DRAIN_DURATION: Final = SourcedValue(timedelta(seconds=5), "pkg/config/mesh/mesh.go:45")
EXIT_ON_ZERO: Final = SourcedValue(False, "pilot/cmd/pilot-agent/options/options.go:171")
MINIMUM_DRAIN_DURATION: Final = SourcedValue(
    timedelta(seconds=5), "pilot/cmd/pilot-agent/options/options.go:175"
)

#: ``drainDuration`` must be whole seconds and at least this.
SHORTEST_DRAIN: Final = SourcedValue(
    timedelta(seconds=1), "pkg/config/validation/agent/validation.go:161"
)
NATIVE_AUTO_SINCE: Final = SourcedValue(
    Version(1, 27, 0), "pilot/pkg/features/pilot.go:345, releasenotes native-sidecar-default.yaml"
)
#: Profiles of these compatibility versions switch native sidecars off
#: (manifests/helm-profiles/compatibility-version-1.2*.yaml).
COMPATIBILITY_WITHOUT_NATIVE: Final = ("1.24", "1.25", "1.26")
#: The agent's settings for exit-on-zero exist from this release on (releasenotes/notes/35059.yaml).
EXIT_ON_ZERO_SINCE: Final = SourcedValue(Version(1, 12, 0), "releasenotes/notes/35059.yaml")
#: The retries of sidecars and gateways if no route sets others. The statuses are 503, once.
DEFAULT_RETRIES: Final = SourcedValue(
    ("connect-failure", "refused-stream", "unavailable", "cancelled", "retriable-status-codes"),
    "istio/api networking/v1alpha3/virtual_service.proto (HTTPRoute.retries); measured",
)
DEFAULT_RETRIES_WITHOUT_503: Final = SourcedValue(
    Version(1, 24, 0), "releasenotes/notes/50506.yaml; measured with a gateway and two pods"
)
#: Releases whose exit-on-zero never sees zero, since the statistic it reads is not there.
STATS_BUG: Final = SourcedValue(
    VersionRange.parse(">=1.12,<1.12.9 || >=1.13,<1.13.5"), "PR 37573, backport 39286 (tag scan)"
)
NATIVE_DRAIN_HOOK_SINCE: Final = SourcedValue(
    Version(1, 21, 0), "PR 47226, injection-template.yaml:225"
)
NATIVE_AUTO_KUBERNETES: Final = SourcedValue(Version(1, 33, 0), "pkg/kube/inject/webhook.go:1308")
NATIVE_ANNOTATION_SINCE: Final = SourcedValue(Version(1, 24, 0), "istio/api annotations.yaml:273")
#: From this release on the proxy is built on Envoy 1.40, which drains idle connections before the
#: drain is over.
EARLY_IDLE_DRAIN_SINCE: Final = SourcedValue(
    Version(1, 32, 0),
    "istio/proxy ENVOY_VERSION.txt (1.31.0-rc.0: 1.39.1, master: 1.40.0); Envoy 1.40 measured",
)
#: The time that Envoy drains a connection after its idle timeout, before it closes it.
CONNECTION_DRAIN: Final = SourcedValue(
    timedelta(seconds=5), "Envoy's drain_timeout, http_connection_manager.proto; measured"
)
#: The additional time that Envoy waits for the client to close a drained connection.
DELAYED_CLOSE: Final = SourcedValue(
    timedelta(seconds=1), "Envoy's delayed_close_timeout, http_connection_manager.proto; measured"
)
#: Fields of connectionSettings that bear on idle connections; they win over the variable.
CONNECTION_SETTINGS: Final = "connectionSettings"
IDLE_TIMEOUT_FIELD: Final = "httpIdleTimeout"
CONNECTION_DRAIN_FIELD: Final = "httpDrainTimeout"
CONNECTION_SETTINGS_SINCE: Final = SourcedValue(
    Version(1, 31, 0), "istio/api mesh/v1alpha1/proxy.proto:952, core/connection_settings.go:106"
)
#: The idle timeout of releases without these fields.
IDLE_TIMEOUT_ENV: Final = SourcedValue(
    "ISTIO_META_IDLE_TIMEOUT", "pilot/pkg/networking/core/listener_builder.go:432"
)

#: Waypoints of these releases are deployed with this grace period.
WAYPOINT_GRACE: Final = SourcedValue(
    timedelta(seconds=2), "releasenotes waypoint-termination-grace-period.yaml"
)
WAYPOINT_GRACE_IN: Final = SourcedValue(
    VersionRange.parse(">=1.18,<1.28"), "files/waypoint.yaml (tag scan), removed in 1.28.0"
)
#: Releases whose exit-on-zero never sees zero on a waypoint: it counts connections of its own.
WAYPOINT_STATS_BUG: Final = SourcedValue(
    VersionRange.parse("<1.29.6 || >=1.30,<1.30.3"), "#60728, releasenotes 60731"
)
#: A Gateway's deployment can be overridden through its parametersRef from this release on.
GATEWAY_OVERRIDES_SINCE: Final = SourcedValue(
    Version(1, 26, 0), "gatewaycommon/deploymentcontroller.go:605, PR 55283"
)
#: Before, an annotation's proxyMetadata replaced the mesh's instead of adding to it.
METADATA_MERGED_SINCE: Final = SourcedValue(
    Version(1, 10, 3), "PR 33522 (1.11.0), backport PR 33529 (1.10.3)"
)
#: Classes whose Gateways istiod deploys pods for (files/kube-gateway.yaml, waypoint.yaml).
GATEWAY_CLASS: Final = "istio"
WAYPOINT_CLASS: Final = "istio-waypoint"
#: Since 1.27 istiod deploys it from the waypoint's template.
EAST_WEST_CLASS: Final = "istio-east-west"
#: Another proxy without pilot-agent (1.29, 1.31): Istio's drain settings mean nothing there.
AGENTGATEWAY_CLASSES: Final = ("istio-agentgateway", "istio-agentgateway-waypoint")
GATEWAY_GROUP: Final = "gateway.networking.k8s.io"
#: The kind of Service that istiod makes for a Gateway; LoadBalancer unless this says otherwise.
SERVICE_TYPE: Final = "networking.istio.io/service-type"
#: The label of a ConfigMap that overrides the Deployments of a whole class.
CLASS_DEFAULTS: Final = "gateway.istio.io/defaults-for-class"
#: Where the mesh has the defaults of all its proxies.
MESH_DEFAULTS: Final = "meshConfig.defaultConfig"
#: The key of the mesh configuration in istiod's ConfigMap.
MESH_KEY: Final = "mesh"
#: The key of a Gateway's parameters that overrides its Deployment.
OVERRIDES_KEY: Final = "deployment"

#: Releases that are tried where the version is not known: those with tags of this year, and the few
#: before that are still in use.
SUPPORTED_VERSIONS: Final = SourcedValue(
    tuple(Version.parse(f"1.{minor}") for minor in range(26, 32)), "tags up to 1.31.0-rc.0"
)

CONFIG_ANNOTATION: Final = "proxy.istio.io/config"
#: The proxy's image, and its kind (istio/api annotation/annotations.yaml).
PROXY_IMAGE: Final = "sidecar.istio.io/proxyImage"
PROXY_IMAGE_TYPE: Final = "sidecar.istio.io/proxyImageType"
#: What the tags of images without a shell end in.
DISTROLESS: Final = "distroless"
#: Turns statistics on, like proxyStatsMatcher.inclusionRegexps.
STATS_ANNOTATION: Final = "sidecar.istio.io/statsInclusionRegexps"
NATIVE_ANNOTATION: Final = "sidecar.istio.io/nativeSidecar"
INJECT: Final = "sidecar.istio.io/inject"
REVISION: Final = "istio.io/rev"
TEMPLATES: Final = "inject.istio.io/templates"
DATAPLANE_MODE: Final = "istio.io/dataplane-mode"
AMBIENT: Final = "ambient"
NAMESPACE_INJECTION: Final = "istio-injection"
#: The ports whose traffic passes the sidecar (istio/api annotation/annotations.yaml): ``*`` are
#: all, and an empty text is none. Those left out count only where all are taken.
INBOUND_PORTS: Final = "traffic.sidecar.istio.io/includeInboundPorts"
INBOUND_PORTS_ENV: Final = "INBOUND_CAPTURE_PORTS"
SKIPPED_PORTS: Final = "traffic.sidecar.istio.io/excludeInboundPorts"
#: Empty, no call of the app passes the sidecar, unless ports are listed.
OUTBOUND_ADDRESSES: Final = "traffic.sidecar.istio.io/includeOutboundIPRanges"
OUTBOUND_PORTS: Final = "traffic.sidecar.istio.io/includeOutboundPorts"
#: The values of the chart below ``global.proxy`` that count without these annotations.
CAPTURE_VALUES: Final = SourcedValue(
    {
        INBOUND_PORTS: "includeInboundPorts",
        SKIPPED_PORTS: "excludeInboundPorts",
        OUTBOUND_ADDRESSES: "includeIPRanges",
        OUTBOUND_PORTS: "includeOutboundPorts",
    },
    "manifests/charts/istio-control/istio-discovery/files/injection-template.yaml:55-60",
)
#: Read by the agent up to 1.9.x, ignored since 1.10.0 (tag scan).
STALE_DRAIN_ENV: Final = "TERMINATION_DRAIN_DURATION_SECONDS"
#: Annotations that people write and Istio does not know, and what does what they are meant for.
UNKNOWN_ANNOTATIONS: Final = SourcedValue(
    {
        "sidecar.istio.io/native-side": "sidecar.istio.io/nativeSidecar",
        "sidecar.istio.io/terminationDrainDuration": "proxy.istio.io/config",
        "sidecar.istio.io/drainDuration": "proxy.istio.io/config",
        "sidecar.istio.io/holdApplicationUntilProxyStarts": "proxy.istio.io/config",
    },
    "istio/api annotation/annotations.yaml; the first is misspelled in the notes of 1.24 and 1.27",
)
#: The fields that a ProxyConfig object lacks (istio/api networking/v1beta1/proxy_config.proto:112).
NOT_IN_PROXY_CONFIG_OBJECT: Final = (
    "drainDuration",
    "terminationDrainDuration",
    "proxyMetadata",
    "proxyStatsMatcher",
    "holdApplicationUntilProxyStarts",
)
#: The agent's call that ends the proxy (status/server.go:1056; at once since 1.21.0, PR 47226).
QUIT_PATH: Final = "quitquitquit"
PROXY_CONTAINER: Final = "istio-proxy"
#: The init containers that lead requests through the proxy, or check that the CNI plugin does.
REDIRECTING: Final = SourcedValue(
    ("istio-init", "istio-validation"), "injection-template.yaml (initContainers)"
)
#: What the webhook writes into a pod that it has injected (pkg/kube/inject/inject.go).
INJECTED: Final = "sidecar.istio.io/status"
#: istio-discovery/templates/mutatingwebhook.yaml: its name; revisions add "-REVISION".
WEBHOOK: Final = "istio-sidecar-injector"
EXIT_ON_ZERO_ENV: Final = "EXIT_ON_ZERO_ACTIVE_CONNECTIONS"
MINIMUM_DRAIN_ENV: Final = "MINIMUM_DRAIN_DURATION"
NATIVE_ENV: Final = "ENABLE_NATIVE_SIDECARS"
ROOT_NAMESPACE: Final = "istio-system"

#: Namespaces the webhook never serves (pkg/kube/inject/initializer.go:38).
IGNORED_NAMESPACES: Final = frozenset(
    ("kube-system", "kube-public", "kube-node-lease", "local-path-storage")
)
#: Template names that put no draining sidecar beside the app (pkg/kube/inject, grpc-*).
PROXYLESS_TEMPLATES: Final = frozenset(("grpc-agent", "grpc-simple"))
GATEWAY_TEMPLATE: Final = "gateway"

#: The field that replaced the variable (api PR 1463).
TERMINATION_DRAIN_SINCE: Final = SourcedValue(Version(1, 7, 0), "istio/api PR 1463")
#: Earlier agents kill their proxy at the stop signal.
DRAIN_SINCE: Final = SourcedValue(Version(1, 1, 0), "pilot/pkg/proxy/agent.go (tag scan)")
STALE_DRAIN_ENV_FROM: Final = SourcedValue(Version(1, 10, 0), "tag scan")
PARENT_SHUTDOWN_REMOVED: Final = SourcedValue(Version(1, 17, 0), "istio/api c50e40013, PR 42253")
#: Earlier releases support Kubernetes up to this one, which has no sleep action of hooks yet.
NEWEST_KUBERNETES_BEFORE: Final = SourcedValue(
    (Version(1, 22, 0), Version(1, 29, NEWEST_PATCH)),
    "istio.io, supported releases: 1.21 with Kubernetes 1.26 to 1.29, 1.22 with 1.27 to 1.30",
)
NATIVE_SINCE: Final = SourcedValue(Version(1, 19, 0), "injection-template.yaml (tag scan)")
PROXY_CONFIG_OBJECT_SINCE: Final = SourcedValue(
    Version(1, 13, 0), "networking/v1beta1 proxy_config.proto"
)

#: The facts that change with the version.
VERSION_CHANGES: Final = (
    NATIVE_AUTO_SINCE,
    EXIT_ON_ZERO_SINCE,
    STATS_BUG,
    NATIVE_DRAIN_HOOK_SINCE,
    NATIVE_ANNOTATION_SINCE,
    EARLY_IDLE_DRAIN_SINCE,
    WAYPOINT_GRACE_IN,
    WAYPOINT_STATS_BUG,
    GATEWAY_OVERRIDES_SINCE,
    METADATA_MERGED_SINCE,
)

VERSION_TABLES: Final = (
    VersionTable(
        "terminationDrainDuration",
        (
            (f"<{TERMINATION_DRAIN_SINCE.value}", "unknown"),
            (
                f">={TERMINATION_DRAIN_SINCE.value}",
                (
                    f"{format_duration(TERMINATION_DRAIN_DURATION.value)}; a classic proxy lives "
                    f"that long after its stop signal, unless {EXIT_ON_ZERO_ENV} is on"
                ),
            ),
        ),
        f"{TERMINATION_DRAIN_SINCE.source}; {TERMINATION_DRAIN_DURATION.source}",
    ),
    VersionTable(
        STALE_DRAIN_ENV,
        (
            (f"<{STALE_DRAIN_ENV_FROM.value}", "the same in seconds, and stronger than the field"),
            (f">={STALE_DRAIN_ENV_FROM.value}", "ignored"),
        ),
        STALE_DRAIN_ENV_FROM.source,
    ),
    VersionTable(
        EXIT_ON_ZERO_ENV,
        (
            (f"<{EXIT_ON_ZERO_SINCE.value}", "unknown"),
            (
                f">={EXIT_ON_ZERO_SINCE.value}",
                "false; true ends a classic proxy once no connection is open",
            ),
            (STATS_BUG.value.text, "true never sees zero, unless proxyStatsMatcher asks for it"),
            (WAYPOINT_STATS_BUG.value.text, "true never sees zero on waypoints"),
        ),
        f"{EXIT_ON_ZERO_SINCE.source}; {STATS_BUG.source}; {WAYPOINT_STATS_BUG.source}",
    ),
    VersionTable(
        MINIMUM_DRAIN_ENV,
        (
            (f"<{EXIT_ON_ZERO_SINCE.value}", "unknown"),
            (
                f">={EXIT_ON_ZERO_SINCE.value}",
                (
                    f"{format_duration(MINIMUM_DRAIN_DURATION.value)}; "
                    f"read with {EXIT_ON_ZERO_ENV} only"
                ),
            ),
        ),
        MINIMUM_DRAIN_DURATION.source,
    ),
    VersionTable(
        "drainDuration",
        (
            (
                "all",
                f"{format_duration(DRAIN_DURATION.value)}; when the listener closes, no deadline",
            ),
        ),
        DRAIN_DURATION.source,
    ),
    VersionTable(
        "parentShutdownDuration",
        (
            (f"<{PARENT_SHUTDOWN_REMOVED.value}", "no effect"),
            (f">={PARENT_SHUTDOWN_REMOVED.value}", "an unknown field, ignored"),
        ),
        PARENT_SHUTDOWN_REMOVED.source,
    ),
    VersionTable(
        "native sidecars",
        (
            (f"<{NATIVE_SINCE.value}", "none"),
            (f">={NATIVE_SINCE.value},<{NATIVE_AUTO_SINCE.value}", "off by default"),
            (
                f">={NATIVE_AUTO_SINCE.value}",
                f"on where Kubernetes is {NATIVE_AUTO_KUBERNETES.value} or later",
            ),
            (f"<{NATIVE_DRAIN_HOOK_SINCE.value}", "without a drain hook of their own"),
        ),
        f"{NATIVE_AUTO_SINCE.source}; {NATIVE_DRAIN_HOOK_SINCE.source}",
    ),
    VersionTable(
        NATIVE_ANNOTATION,
        (
            (f"<{NATIVE_ANNOTATION_SINCE.value}", "unknown"),
            (f">={NATIVE_ANNOTATION_SINCE.value}", "'true' or 'false' decides for the pod"),
        ),
        NATIVE_ANNOTATION_SINCE.source,
    ),
    VersionTable(
        "ProxyConfig object",
        (
            (f"<{PROXY_CONFIG_OBJECT_SINCE.value}", "unknown"),
            (f">={PROXY_CONFIG_OBJECT_SINCE.value}", "environmentVariables only; no durations"),
        ),
        PROXY_CONFIG_OBJECT_SINCE.source,
    ),
    VersionTable(
        "proxyMetadata of mesh and annotation",
        (
            (f"<{METADATA_MERGED_SINCE.value}", "the annotation's replaces the mesh's"),
            (f">={METADATA_MERGED_SINCE.value}", "merged one by one"),
        ),
        METADATA_MERGED_SINCE.source,
    ),
    VersionTable(
        "a waypoint's grace period",
        (
            (WAYPOINT_GRACE_IN.value.text, format_duration(WAYPOINT_GRACE.value)),
            ("else", "Kubernetes' default"),
        ),
        WAYPOINT_GRACE.source,
    ),
    VersionTable(
        "a Gateway's parametersRef",
        (
            (f"<{GATEWAY_OVERRIDES_SINCE.value}", "ignored"),
            (f">={GATEWAY_OVERRIDES_SINCE.value}", "overrides its Deployment"),
        ),
        GATEWAY_OVERRIDES_SINCE.source,
    ),
)
