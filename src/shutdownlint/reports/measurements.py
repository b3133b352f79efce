"""The measurements, a line for each workload; and the queries for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint.measurement.measure import (
    FEW_REQUESTS,
    can_be_asked,
    propagation_queries,
    queries,
)
from shutdownlint.promql import window_text
from shutdownlint.reports.report import safe
from shutdownlint.shutdown.durations import ZERO, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.measurement.histogram import Quantile
    from shutdownlint.measurement.measure import Measurement, Propagation, Query, Settings
    from shutdownlint.platforms.metric import Target

_PROPAGATION = "endpoint propagation"


def title_width(targets: Iterable[Target]) -> int:
    """Return the width of the first column."""
    return max(len(_PROPAGATION), *(len(safe(target.title)) for target in targets))


def format_queries(targets: Sequence[Target], settings: Settings) -> str:
    """Return the queries of each workload, with the system that has the metric."""
    lines = []
    for target in targets:
        lines += [f"# {safe(target.title)}"]
        if not can_be_asked(target):
            lines += ["# its name is no name of Kubernetes: no query", ""]
            continue
        lines += [*_queries(queries(target, settings)), ""]
    lines += [f"# {_PROPAGATION}", *_queries(propagation_queries(settings))]
    return "\n".join(lines) + "\n"


def _queries(found: Iterable[Query]) -> Iterator[str]:
    for query in found:
        caution = f" ({query.caution})" if query.caution else ""
        if query.system:
            yield f"# {query.system}{caution}"
        yield query.expression


def format_measurement(measurement: Measurement, settings: Settings, width: int) -> str:
    """One workload in one line."""
    title = f"{safe(measurement.target.title):<{width}}"
    reading = measurement.reading
    if reading is None:
        return f"{title}  not measured: {safe(measurement.problem)}"
    parts = [f"{title}  {_quantile(reading.quantile, settings)}", safe(reading.metric)]
    requests = reading.histogram.requests
    window = window_text(settings.window)
    if not math.isnan(requests):
        few = ", few" if round(requests) < FEW_REQUESTS else ""
        parts.append(f"{round(requests):,} requests in {window}{few}")
    else:
        parts.append(window)
    if reading.caution:
        parts.append(reading.caution)
    return "  ".join(parts)


def format_propagation(propagation: Propagation | None, settings: Settings, width: int) -> str:
    """Format how long endpoints take, in one line."""
    title = f"{_PROPAGATION:<{width}}"
    if propagation is None:
        return f"{title}  not measured: no metric of kube-proxy is there"
    names = " + ".join(propagation.metrics)
    if not propagation.whole:
        least = format_duration(propagation.quantile.lower)
        return f"{title}  at least {least}: only a part is measured  {names}"
    wanted = replace(settings, share=max(settings.share, type(settings)().share))
    return f"{title}  {_quantile(propagation.quantile, wanted)}  {names}"


def _quantile(quantile: Quantile, settings: Settings) -> str:
    name = f"p{100 * settings.share:.10g}"
    lower = format_duration(quantile.lower)
    if quantile.upper is None:
        return f"{name} at least {lower}: saturated, its buckets end there"
    upper = format_duration(quantile.upper)
    between = f" (between {lower} and {upper})" if quantile.lower > ZERO else ""
    return f"{name} {upper}{between}"
