"""The timeline of a finding's pod as a code flow of SARIF: what happens when, by which line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.platforms.locations import source_location
from shutdownlint.reports.explanation import Explanation
from shutdownlint.reports.report import safe
from shutdownlint.reports.texts import EVENT_TEXTS
from shutdownlint.shutdown.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.yaml_source.location import Region


class FlowStep(Struct, frozen=True):
    """An event of a shutdown, and where it is decided."""

    text: str
    region: Region


def describe_flow(pod: PlannedPod, findings: Sequence[Finding]) -> tuple[FlowStep, ...]:
    """Return the events of a pod's shutdown; none without findings, or if it never runs."""
    if not findings or pod.plan is None:
        return ()
    explanation = Explanation(pod)
    if not explanation.has_timeline:
        return ()
    own = pod.ref.region()
    steps = []
    for event in explanation.events:
        written = [s for s in event.cause.settings if s.origin.written]
        places = map(source_location, written)
        region = next((place.region() for place in places if place is not None), own)
        who = event.container or "pod"
        cause = event.cause.describe(own.file)
        text = f"{format_duration(event.at)}: {who}: {EVENT_TEXTS[event.kind]}"
        steps.append(FlowStep(safe(f"{text} ({cause})" if cause else text), region))
    return tuple(steps)
