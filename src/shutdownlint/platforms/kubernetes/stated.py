"""The user's statements about a workload: the durations of its requests, jobs and endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.kubernetes import problems
from shutdownlint.platforms.traffic import DEFAULT_PROPAGATION, PROPAGATION, MeasuredRequests
from shutdownlint.platforms.user_facts import USER_FACTS
from shutdownlint.shutdown.durations import ZERO, format_duration
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from shutdownlint.platforms.pod_draft import PodDraft
    from shutdownlint.platforms.user_facts import AppFacts, UserFact


def read_stated(draft: PodDraft) -> dict[str, Setting[Any]]:
    """Return the facts that the user states of a workload, by name: an annotation counts first."""
    apps = [*draft.context.user_facts.apps_for(draft.workload.id)]
    found = {fact.name: _read_fact(draft, fact, apps) for fact in USER_FACTS}
    return {name: setting for name, setting in found.items() if setting is not None}


def _read_fact(draft: PodDraft, fact: UserFact, apps: Sequence[AppFacts]) -> Setting[Any] | None:
    workload = draft.workload
    places = (
        (workload.template.metadata, workload.ref),
        (workload.owner, workload.object_ref),
    )
    for metadata, ref in places if fact.annotated else ():
        text = metadata.annotations.get(fact.annotation)
        if text is None or has_placeholder(text):
            continue
        location = ref / "metadata" / "annotations" / fact.annotation
        try:
            value = go_duration(text)
            if value < ZERO:
                raise ValueError("must not be negative")
        except ValueError as error:
            draft.problems.append(
                problems.AnnotationUnreadable(
                    location=location, key=fact.annotation, reason=str(error)
                )
            )
            return None
        return Setting(fact.name, value, Origin(OriginKind.MEASURED, fact.annotation, location))
    for app in apps:
        from_app = getattr(app, fact.name)
        if from_app is not None and app.container is None:
            return Setting(fact.name, from_app, Origin(OriginKind.MEASURED, app.source_label))
    return None


def note_measured_requests(draft: PodDraft) -> None:
    """Note how the workload's requests were measured, and whether its p99 is only a lower bound."""
    apps = list(draft.context.user_facts.apps_for(draft.workload.id))
    measured = next((app for app in apps if app.shares), None)
    if measured is not None:
        draft.note(MeasuredRequests(measured))
    stated = next((app for app in apps if app.p99 is not None), None)
    annotated = draft.p99 is not None and draft.p99.origin.location is not None
    if stated is not None and stated.p99_at_least and draft.p99 is not None and not annotated:
        at_least = format_duration(draft.p99.value)
        text = f"requests may take longer than {at_least}: the measurement ends there"
        remedy = "give the histogram higher buckets, or say how long they take with --p99"
        draft.assumptions.append(Assumption(text, remedy))


def read_propagation(draft: PodDraft, service: Setting[str] | None) -> Setting[timedelta]:
    """Return how long the Service goes on sending: as the user states, else as it is assumed."""
    location = service.origin.location if service is not None else None
    for app in draft.context.user_facts.apps_for(draft.workload.id):
        if app.propagation is None or draft.workload.runs_to_completion:
            continue
        if service is not None or not app.of_services:
            origin = Origin(OriginKind.MEASURED, app.source_label, location)
            return Setting(PROPAGATION, app.propagation, origin)
    origin = Origin(OriginKind.ASSUMED, "the default for endpoints", location)
    return Setting(PROPAGATION, DEFAULT_PROPAGATION.value, origin)
