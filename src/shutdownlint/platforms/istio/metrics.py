"""The request durations that Istio's proxy counts."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.metric import (
    MILLISECOND,
    Metric,
    Selection,
    Target,
)
from shutdownlint.promql import equals


def _istio(target: Target) -> Selection:
    return [
        [
            equals("reporter", "destination"),
            equals("destination_workload_namespace", target.namespace),
            equals("destination_workload", target.workload.name),
        ]
    ]


METRICS: Final = (
    Metric(
        "Istio",
        "istio_request_duration_milliseconds",
        MILLISECOND,
        _istio,
        "istio manifests/addons/dashboards/istio-mesh-dashboard.gen.json:486",
        distance=0,
    ),
)
