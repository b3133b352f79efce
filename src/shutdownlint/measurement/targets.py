"""The workloads of planned pods, as what is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.platforms.metric import Target
from shutdownlint.platforms.traffic import ServiceFacts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.platforms.planned_pod import PlannedPod


def targets_of(pods: Iterable[PlannedPod]) -> list[Target]:
    """Each workload that serves requests once, whatever its variants."""
    found: dict[str, Target] = {}
    for pod in pods:
        if pod.plan is None or pod.plan.runs_to_completion:
            continue
        facts: ServiceFacts | None = pod.facts.get(ServiceFacts)
        services = (facts.service.value,) if facts is not None and facts.service.value else ()
        target = Target(pod.id, services)
        known = found.get(target.title)
        if known is not None:
            services = tuple(dict.fromkeys((*known.services, *services)))
            target = Target(pod.id, services)
        found[target.title] = target
    return list(found.values())
