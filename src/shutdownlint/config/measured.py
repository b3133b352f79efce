"""The file that ``shutdownlint measure`` writes: what was measured of which workloads, when."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BeforeValidator, Field, WithJsonSchema

from shutdownlint.config.forms import DurationText, Form, read_form, read_toml
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.user_facts import AppFacts
from shutdownlint.shutdown.durations import P99_SHARE

if TYPE_CHECKING:
    from pathlib import Path

HEADER: Final = (
    "# Written by shutdownlint measure. check, explain, suggest and verify read it:\n"
    "# --measured FILE, or the key measured of the configuration.\n"
)


def _shares(value: Any) -> dict[dt.timedelta, float]:
    if not isinstance(value, dict):
        raise ValueError("must be a table of durations and shares")
    found = {}
    for key, share in value.items():
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise ValueError("a share is a number from 0 to 1")
        found[go_duration(key)] = 1.0 * share
    ordered = dict(sorted(found.items()))
    if list(ordered.values()) != sorted(ordered.values()):
        raise ValueError("a longer duration has a smaller share")
    return ordered


_Shares = Annotated[
    dict[dt.timedelta, float],
    BeforeValidator(_shares),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "number"}}),
]


class MeasuredWorkload(Form):
    """The measurements of one workload."""

    match: str = Field(description="Kind/namespace/name.")
    p99: DurationText = Field(description="How long the slowest ordinary requests take.")
    at_least: bool = Field(
        default=False, description="Whether p99 is only a lower bound: the measurement ends there."
    )
    quantile: float = Field(
        default=P99_SHARE, ge=0.5, le=1, description="The share of the requests that p99 is about."
    )
    metric: str = Field(default="", description="The metric.")
    window: str = Field(default="", description="How far back.")
    requests: float | None = Field(default=None, description="How many requests were counted.")
    date: dt.date = Field(description="The day of the measurement.")
    shares: _Shares = Field(
        default_factory=dict,
        description="The share of the requests that takes at most each duration.",
    )


class MeasuredForm(Form):
    """A file of measurements."""

    propagation: DurationText = Field(
        default=None, description="How long Services go on sending new requests."
    )
    propagation_date: dt.date | None = Field(
        default=None, description="The day of that measurement."
    )
    propagation_metrics: list[str] = Field(default_factory=list, description="The metrics.")
    workloads: list[MeasuredWorkload] = Field(default_factory=list, description="By workload.")


def load_measured(path: Path) -> list[AppFacts]:
    """Read the facts about apps from a file of measurements. Raises ``ConfigError``."""
    form = read_form(MeasuredForm, read_toml(path))
    found = [_facts(workload) for workload in form.workloads]
    if form.propagation is not None:
        when = f" {form.propagation_date}" if form.propagation_date else ""
        label = f"measured{when}"
        found.append(
            AppFacts("*", propagation=form.propagation, source_label=label, of_services=True)
        )
    return found


def _facts(workload: MeasuredWorkload) -> AppFacts:
    label = f"measured {workload.date}"
    if workload.quantile != P99_SHARE:
        label += f", {100 * workload.quantile:.10g}% of requests"
    if workload.at_least:
        label += ", a lower bound"
    return AppFacts(
        workload.match,
        workload.p99,
        source_label=label,
        shares=tuple(workload.shares.items()),
        p99_at_least=workload.at_least,
    )
