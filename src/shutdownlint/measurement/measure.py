"""Ask a Prometheus how long the requests of each workload take, and how long endpoints take."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from shutdownlint import promql
from shutdownlint.manifests.names import is_name
from shutdownlint.measurement.histogram import Histogram, Quantile, from_quantiles, read_buckets
from shutdownlint.measurement.metrics import (
    known_metrics,
    propagation_metrics,
    request_metrics,
)
from shutdownlint.measurement.prometheus import PrometheusError
from shutdownlint.platforms.metric import Form, Metric, Target, pod_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.measurement.prometheus import Sample

_SECOND: Final = timedelta(seconds=1)
#: Labels that the queries add, by which the parts of an answer are recognized.
_METRIC, _QUANTILE = "shutdownlint_metric", "shutdownlint_quantile"
#: Below so many requests a quantile is little more than the longest of them.
FEW_REQUESTS: Final = 1000


class Server(Protocol):
    """The server to query: a Prometheus, or a replacement in tests."""

    def query(self, expression: str) -> list[Sample]: ...

    def metric_names(self, candidates: Sequence[str], seconds: int) -> set[str]: ...


class Settings(Struct, frozen=True):
    """The settings of a measurement.

    ``share`` is the quantile (0.99), ``window`` how far back. ``expression`` is the user's own
    query with ``$namespace``, ``$workload``, ``$pods`` and ``$window``; empty: the known metrics.
    """

    share: float = 0.99
    window: timedelta = timedelta(days=7)
    expression: str = ""


class Query(Struct, frozen=True):
    """A query for one metric of one workload."""

    system: str
    name: str
    expression: str
    caution: str = ""


class Reading(Struct, frozen=True):
    """The values of one metric for a workload."""

    metric: str
    histogram: Histogram
    quantile: Quantile
    caution: str = ""


class Measurement(Struct, frozen=True):
    """The known facts about a workload's requests; ``problem`` says why there are none.

    ``failed``: the server could not be asked, or gave no usable answer.
    """

    target: Target
    reading: Reading | None = None
    problem: str = ""
    failed: bool = False


class Propagation(Struct, frozen=True):
    """The propagation time of endpoints, in the quantile that was asked for.

    ``whole``: the metrics cover all of the way, else only a part of it.
    """

    quantile: Quantile
    metrics: tuple[str, ...]
    whole: bool


def can_be_asked(target: Target) -> bool:
    """Whether its names are names of Kubernetes; others are in no query."""
    names = (target.namespace, target.workload.name, *target.services)
    return all(map(is_name, names))


def queries(target: Target, settings: Settings) -> Iterator[Query]:
    """One query for each metric that can name the workload; the user's own alone."""
    if settings.expression:
        yield Query("", "the given query", _own(target, settings))
        return
    for metric in request_metrics():
        selection = metric.select(target)
        if selection:
            expression = _classic(metric, selection, settings)
            yield Query(metric.system, metric.series, expression, metric.caution)


def propagation_queries(settings: Settings) -> Iterator[Query]:
    """Yield the queries for endpoint propagation."""
    for part in propagation_metrics():
        counts = promql.bucket_counts(f"{part.name}_bucket", [part.labels], settings.window)
        yield Query("Kubernetes", f"{part.name}_bucket", counts)


def measure(targets: Iterable[Target], server: Server, settings: Settings) -> Iterator[Measurement]:
    """Yield the measurement of each workload: one query for each. Raises ``PrometheusError``.

    It is raised where not even the names of the metrics are known; a query that fails is that
    workload's problem.
    """
    present = _present(server, settings)
    for target in targets:
        yield _measure(target, server, settings, present)


def measure_propagation(server: Server, settings: Settings) -> Propagation | None:
    """Measure how long endpoints take; None if no metric shows it. Raises ``PrometheusError``."""
    # Endpoints are a matter of the slowest, whatever share of the requests is asked about.
    wanted = max(settings.share, Settings().share)
    candidates = [f"{part.name}_bucket" for part in propagation_metrics()]
    present = server.metric_names(candidates, int(settings.window.total_seconds()))
    found: list[tuple[str, bool, Quantile]] = []
    for part, query in zip(propagation_metrics(), propagation_queries(settings), strict=True):
        if query.name not in present or (part.whole is False and any(w for _, w, _ in found)):
            continue
        try:
            histogram = read_buckets(_buckets(server.query(query.expression)), _SECOND)
        except ValueError as error:
            raise PrometheusError(f"{query.name}: {error}") from None
        if histogram is not None:
            found.append((query.name, part.whole, histogram.quantile(wanted)))
    if not found:
        return None
    uppers = [quantile.upper for _, _, quantile in found]
    known = [upper for upper in uppers if upper is not None]
    lower = sum((quantile.lower for _, _, quantile in found), timedelta())
    upper = sum(known, timedelta()) if len(known) == len(uppers) else None
    whole = all(part for _, part, _ in found)
    return Propagation(Quantile(lower, upper), tuple(name for name, _, _ in found), whole)


def _present(server: Server, settings: Settings) -> set[str]:
    if settings.expression:
        return set()
    return server.metric_names(known_metrics(), int(settings.window.total_seconds()))


def _measure(target: Target, server: Server, settings: Settings, present: set[str]) -> Measurement:
    if not can_be_asked(target):
        return Measurement(target, problem="its name is no name of Kubernetes", failed=True)
    asked = list(_combined(target, settings, present))
    if not asked:
        return Measurement(target, problem="no known metric of requests is there")
    try:
        samples = server.query(" or ".join(asked))
        readings = list(_readings(samples, settings))
    except (PrometheusError, ValueError) as error:
        return Measurement(target, problem=str(error), failed=True)
    if not readings:
        window = promql.window_text(settings.window)
        return Measurement(target, problem=f"no requests were seen in {window}")
    return Measurement(target, _choose(readings))


def _combined(target: Target, settings: Settings, present: set[str]) -> Iterator[str]:
    """Yield the expressions for what the server has, each with the name of its metric."""
    if settings.expression:
        yield promql.label(_own(target, settings), _METRIC, "")
        return
    for metric in request_metrics():
        selection = metric.select(target)
        if not selection:
            continue
        if metric.series in present:
            yield promql.label(_classic(metric, selection, settings), _METRIC, metric.name)
        elif metric.form is Form.HISTOGRAM and metric.name in present:
            for share in (*promql.QUANTILES, settings.share):
                one = promql.native_quantile(share, metric.name, selection, settings.window)
                named = promql.label(one, _QUANTILE, promql.share_text(share))
                yield promql.label(named, _METRIC, metric.name)


def _classic(metric: Metric, selection: list[list[promql.Matcher]], settings: Settings) -> str:
    if metric.form is Form.MAXIMUM:
        return promql.maximum(metric.series, selection, settings.window)
    return promql.bucket_counts(metric.series, selection, settings.window)


def _own(target: Target, settings: Settings) -> str:
    values = {
        "namespace": target.namespace,
        "workload": target.workload.name,
        "pods": pod_pattern(target.workload) or "",
        "window": promql.window_text(settings.window),
    }
    # The placeholders stand inside quotes, where a backslash has to be doubled.
    return re.sub(
        r"\$(namespace|workload|pods|window)\b",
        lambda found: values[found[1]].replace("\\", "\\\\"),
        settings.expression,
    )


def _readings(samples: Iterable[Sample], settings: Settings) -> Iterator[Reading]:
    by_metric: dict[str, list[Sample]] = {}
    for sample in samples:
        by_metric.setdefault(sample.labels.get(_METRIC, ""), []).append(sample)
    known = {metric.name: metric for metric in request_metrics()}
    for name, own in by_metric.items():
        metric = known.get(name)
        if metric is None and name:
            raise ValueError("its answer names a metric that was not asked for")
        unit = metric.unit if metric is not None else _SECOND
        caution = metric.caution if metric is not None else ""
        histogram = _histogram(own, unit, name, settings.share)
        if histogram is not None:
            quantile = histogram.quantile(settings.share)
            yield Reading(name or "the given query", histogram, quantile, caution)


def _histogram(
    samples: Sequence[Sample], unit: timedelta, name: str, wanted: float
) -> Histogram | None:
    if any("le" in sample.labels for sample in samples):
        try:
            return read_buckets(_buckets(samples), unit)
        except ValueError as error:
            raise ValueError(f"{name or 'the given query'}: {error}") from None
    asked = {promql.share_text(share): share for share in (*promql.QUANTILES, wanted)}
    quantiles = {}
    for sample in samples:
        share = sample.labels.get(_QUANTILE)
        if share is not None and share not in asked:
            raise ValueError("its answer has a quantile that was not asked for")
        # One value without a quantile bounds all requests: a maximum, or the user's own number.
        quantiles[1.0 if share is None else asked[share]] = sample.value
    return from_quantiles(quantiles, unit)


def _buckets(samples: Iterable[Sample]) -> dict[float, float]:
    found: dict[float, float] = {}
    for sample in samples:
        try:
            bound = float(sample.labels.get("le", "nan"))
        except ValueError:
            continue
        if not math.isnan(bound):
            found[bound] = found.get(bound, 0.0) + sample.value
    return found


def _choose(readings: Sequence[Reading]) -> Reading:
    """Return the reading that is believed: the longest; one that is open above gives way to a
    closed one.

    A metric whose last bucket is too low only says "at least"; where another one goes on from
    there, that one knows more.
    """
    histograms = [each for each in readings if not each.metric.endswith("_max")] or list(readings)
    closed = [each for each in histograms if each.quantile.upper is not None]
    highest = max(histograms, key=lambda each: each.quantile.lower)
    enough = [
        each
        for each in closed
        if each.quantile.upper is not None and each.quantile.upper >= highest.quantile.lower
    ]
    if not enough:
        return highest
    return max(enough, key=lambda each: each.quantile.upper or timedelta())
