"""The request durations that Linkerd's proxy counts."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.metric import (
    MILLISECOND,
    Metric,
    Selection,
    Target,
)
from shutdownlint.promql import equals


def _linkerd(target: Target) -> Selection:
    kinds = ("Deployment", "StatefulSet", "DaemonSet")
    if target.workload.kind not in kinds:
        return []
    label = target.workload.kind.lower()
    return [
        [
            equals("direction", "inbound"),
            equals("namespace", target.namespace),
            equals(label, target.workload.name),
        ]
    ]


METRICS: Final = (
    Metric(
        "Linkerd",
        "response_latency_ms",
        MILLISECOND,
        _linkerd,
        "linkerd2-proxy linkerd/metrics/src/latency.rs:7-35; docs/reference/proxy-metrics.md",
        caution="until the first byte of the answer, not its end",
        distance=2,
    ),
)
