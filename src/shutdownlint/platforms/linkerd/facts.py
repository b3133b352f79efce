"""Linkerd's defaults, names and versions.

Paths are in linkerd/linkerd2 at edge-26.8.3 (b24cd4059) and its tags version-2.15 to version-2.20,
and in linkerd/linkerd2-proxy at v2.366, where the path says so.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from shutdownlint.platforms.facts import SourcedValue, VersionTable
from shutdownlint.platforms.versions import Version, VersionRange

#: The time that the proxy lets its requests finish after its stop signal.
SHUTDOWN_GRACE_PERIOD: Final = SourcedValue(
    timedelta(seconds=120), "linkerd2-proxy linkerd/app/src/env.rs:313-314,907"
)
#: The time that a classic proxy sleeps in its preStop hook.
WAIT_BEFORE_EXIT: Final = SourcedValue(timedelta(0), "charts/linkerd-control-plane/values.yaml:232")
NATIVE_BY_DEFAULT_SINCE: Final = SourcedValue(
    Version(2, 20, 0), "charts/linkerd-control-plane/values.yaml:255 at version-2.19 and 2.20"
)
NATIVE_SINCE: Final = SourcedValue(Version(2, 15, 0), "CHANGES.md:222 (edge-23.11.4)")
NATIVE_BETA_SINCE: Final = SourcedValue(
    Version(2, 19, 0), "pkg/inject/inject.go:375 at version-2.19"
)
NATIVE_STABLE_SINCE: Final = SourcedValue(
    Version(2, 20, 0), "pkg/inject/inject.go:429-445 at version-2.20"
)
#: Releases whose injector refuses a pod that is to be native and to wait before its exit.
NATIVE_WAIT_REFUSED_IN: Final = SourcedValue(
    VersionRange.parse(">=2.16,<2.20"),
    "charts/partials/templates/_proxy.tpl:2-3, controller/webhook/server.go (allowed: false)",
)
SUPPORTED_VERSIONS: Final = SourcedValue(
    tuple(Version.parse(text) for text in ("2.16", "2.17", "2.18", "2.19", "2.20")),
    "tags version-2.16 to version-2.20",
)
#: Edge releases by the minor that they lead to: the first one that has its changes.
EDGE_RELEASES: Final = SourcedValue(
    (
        ("26.5.2", "2.20"),
        ("25.10.7", "2.19"),
        ("25.4.4", "2.18"),
        ("24.11.8", "2.17"),
        ("24.8.2", "2.16"),
    ),
    "tags of linkerd2: version-2.17 is edge-24.11.8, 2.18 edge-25.4.4, 2.19 edge-25.10.7; native "
    "by default since edge-26.5.2 (009a25fa3)",
)

MESH: Final = "linkerd"
PROXY_CONTAINER: Final = "linkerd-proxy"
INJECT: Final = "linkerd.io/inject"
INJECT_VALUES: Final = SourcedValue(
    ("enabled", "disabled", "ingress"), "pkg/inject/report.go:42-52, pkg/k8s/labels.go:102-114"
)
#: Ports whose traffic does not pass the proxy (linkerd.io/2/reference/proxy-configuration).
SKIPPED_PORTS: Final = "config.linkerd.io/skip-inbound-ports"
GRACE_ANNOTATION: Final = "config.linkerd.io/shutdown-grace-period"
WAIT_ANNOTATION: Final = "config.alpha.linkerd.io/proxy-wait-before-exit-seconds"
NATIVE_STABLE: Final = "config.linkerd.io/proxy-enable-native-sidecar"
NATIVE_BETA: Final = "config.beta.linkerd.io/proxy-enable-native-sidecar"
NATIVE_ALPHA: Final = "config.alpha.linkerd.io/proxy-enable-native-sidecar"
#: Of several, the first one counts (pkg/inject/inject.go:429-445).
NATIVE_ANNOTATIONS: Final = (NATIVE_STABLE, NATIVE_BETA, NATIVE_ALPHA)
NATIVE_SPELLED_SINCE: Final = {
    NATIVE_STABLE: NATIVE_STABLE_SINCE,
    NATIVE_BETA: NATIVE_BETA_SINCE,
    NATIVE_ALPHA: NATIVE_SINCE,
}
#: Annotations that pods inherit from their namespace (pkg/inject/inject.go:43-90).
INHERITED: Final = SourcedValue(
    (INJECT, GRACE_ANNOTATION, WAIT_ANNOTATION, NATIVE_STABLE, NATIVE_ALPHA),
    "pkg/inject/inject.go:43-90,177-189 at version-2.20",
)
#: The beta spelling was inherited in one release only.
BETA_INHERITED_IN: Final = SourcedValue(
    VersionRange.parse(">=2.19,<2.20"), "pkg/inject/inject.go:83 at version-2.19"
)
#: Annotations whose names others come close to.
TIMING_ANNOTATIONS: Final = (GRACE_ANNOTATION, WAIT_ANNOTATION, *NATIVE_ANNOTATIONS)
PREFIXES: Final = ("linkerd.io/", "config.linkerd.io/", "config.alpha.linkerd.io/")

GRACE_ENV: Final = "LINKERD2_PROXY_SHUTDOWN_GRACE_PERIOD"
CONFIG_MAP: Final = "linkerd-config"
CONTROL_PLANE_CHART: Final = "linkerd-control-plane"

VERSION_CHANGES: Final = (
    NATIVE_BY_DEFAULT_SINCE,
    NATIVE_BETA_SINCE,
    NATIVE_STABLE_SINCE,
    NATIVE_WAIT_REFUSED_IN,
    BETA_INHERITED_IN,
)

_NATIVE_DEFAULT = NATIVE_BY_DEFAULT_SINCE.value
VERSION_TABLES: Final = (
    VersionTable(
        NATIVE_STABLE,
        (
            (
                f"<{NATIVE_STABLE_SINCE.value}",
                "not read: only its beta and alpha spellings are",
            ),
            (f">={NATIVE_STABLE_SINCE.value}", "true or false decides for the pod"),
        ),
        NATIVE_STABLE_SINCE.source,
    ),
    VersionTable(
        "native sidecars",
        (
            (f"<{_NATIVE_DEFAULT}", "off by default"),
            (f">={_NATIVE_DEFAULT}", "on unless switched off"),
        ),
        NATIVE_BY_DEFAULT_SINCE.source,
    ),
    VersionTable(
        WAIT_ANNOTATION,
        (
            (
                NATIVE_WAIT_REFUSED_IN.value.text,
                "delays a classic proxy's stop signal; with a native one the injector refuses it",
            ),
            (
                f">={_NATIVE_DEFAULT}",
                "delays a classic proxy's stop signal; no effect on a native one",
            ),
        ),
        f"{NATIVE_WAIT_REFUSED_IN.source}; charts/partials/templates/_proxy.tpl:299-316",
    ),
    VersionTable(
        GRACE_ANNOTATION,
        (("all", "120s; the proxy exits as soon as its requests are finished"),),
        SHUTDOWN_GRACE_PERIOD.source,
    ),
)
