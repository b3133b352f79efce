"""The metrics of all platforms."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shutdownlint.platforms.metric import Form, Metric, PropagationMetric
from shutdownlint.platforms.registry import PLATFORMS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@cache
def request_metrics() -> Sequence[Metric]:
    """Return the metrics of request durations, those nearest to the app first."""
    return sorted(_entries("METRICS"), key=lambda metric: metric.distance)


@cache
def propagation_metrics() -> Sequence[PropagationMetric]:
    """Return the metrics of the way from a pod's change to the rules of every node."""
    return tuple(_entries("PROPAGATION_METRICS"))


def _entries(table: str) -> Iterator[Any]:
    for entry in PLATFORMS:
        if entry.metrics:
            yield from getattr(import_module(entry.metrics), table, ())


def known_metrics() -> Sequence[str]:
    """Return the names of all series that may be asked for, histograms in both forms."""
    names = [metric.series for metric in request_metrics()]
    names += [metric.name for metric in request_metrics() if metric.form is Form.HISTOGRAM]
    for part in propagation_metrics():
        names += [f"{part.name}_bucket", part.name]
    return sorted(set(names))
