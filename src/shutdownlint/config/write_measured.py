"""The file of measurements, as ``config.measured`` reads it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import tomli_w

from shutdownlint.config.measured import HEADER
from shutdownlint.measurement.measure import Settings
from shutdownlint.promql import window_text
from shutdownlint.shutdown.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from shutdownlint.measurement.measure import Measurement, Propagation


def write_measurements(
    measurements: Iterable[Measurement],
    propagation: Propagation | None,
    settings: Settings,
    today: date,
) -> str:
    """Return the text of the file: an entry for each workload of which something is known."""
    data: dict[str, Any] = {}
    if propagation is not None and propagation.whole and propagation.quantile.upper is not None:
        data["propagation"] = format_duration(propagation.quantile.upper)
        data["propagation-date"] = today
        data["propagation-metrics"] = list(propagation.metrics)
    entries = [_entry(each, settings, today) for each in measurements if each.reading is not None]
    if entries:
        data["workloads"] = entries
    return f"{HEADER}\n{tomli_w.dumps(data)}"


def _entry(measurement: Measurement, settings: Settings, today: date) -> dict[str, Any]:
    reading = measurement.reading
    assert reading is not None
    quantile = reading.quantile
    entry: dict[str, Any] = {"match": measurement.target.title}
    entry["p99"] = format_duration(quantile.lower if quantile.upper is None else quantile.upper)
    if quantile.upper is None:
        entry["at-least"] = True
    if settings.share != Settings().share:
        entry["quantile"] = settings.share
    entry["metric"] = reading.metric
    entry["window"] = window_text(settings.window)
    if not math.isnan(reading.histogram.requests):
        entry["requests"] = round(reading.histogram.requests)
    entry["date"] = today
    shares = {format_duration(at): round(share, 9) for at, share in reading.histogram.shares}
    if shares:
        entry["shares"] = shares
    return entry
