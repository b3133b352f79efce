"""Load balancers of the clouds as a platform."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yaml.nodes import ScalarNode

from shutdownlint.platforms.edit_target import EditTarget, ValueFormat
from shutdownlint.platforms.loadbalancers import facts, problems
from shutdownlint.platforms.loadbalancers.attributes import attribute_problems
from shutdownlint.platforms.loadbalancers.detect import gateway_balancer, load_balancer
from shutdownlint.platforms.locations import node_ref
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.pods.services import leads_to_pod
from shutdownlint.platforms.traffic import (
    DEFAULT_PROPAGATION,
    LoadBalancerFacts,
    RequestedService,
)
from shutdownlint.shutdown.pod_plan import DEREGISTRATION_FIELD, Sender
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting
from shutdownlint.yaml_source.scalars import read_scalar

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.pod_draft import PodDraft
    from shutdownlint.platforms.problem import Problem


class Plugin(Platform):
    """ALB and NLB, Google's load balancers, Azure's Application Gateway."""

    name = "loadbalancers"
    problems = problems.PROBLEMS

    def context_problems(self, context: AnalysisContext) -> Iterator[Problem]:
        """Annotations that AWS' controller cannot read."""
        return attribute_problems(context)

    def contribute(self, draft: PodDraft) -> None:
        """Add the load balancer that sends the pod requests."""
        found = None if draft.workload.runs_to_completion else _find(draft)
        if found is not None:
            draft.note(found)
            by_guide = found.window.origin.kind is OriginKind.ASSUMED
            sender = Sender(
                found.name,
                found.window,
                found.containers,
                # A guide says how long it may go on, not that it does.
                surely=DEFAULT_PROPAGATION.value if by_guide else None,
                closes_after=found.deregistration,
            )
            draft.senders.append(sender)
            _note_edit_target(draft, found.deregistration)


def _note_edit_target(draft: PodDraft, delay: Setting[timedelta] | None) -> None:
    """Note where the deregistration delay is written: alone, or as one of several pairs."""
    location = node_ref(delay)
    entry = location.document.tree.entry(location.key_path) if location is not None else None
    if location is None or entry is None or not isinstance(entry.value, ScalarNode):
        return
    is_pair = facts.DEREGISTRATION_KEY in entry.value.value
    is_number = isinstance(read_scalar(entry.value), int)
    value_format = ValueFormat.SECONDS if is_pair or is_number else ValueFormat.SECONDS_TEXT
    pair = facts.DEREGISTRATION_KEY if is_pair else ""
    draft.edit_targets[DEREGISTRATION_FIELD] = EditTarget(location, value_format, pair)


def _find(draft: PodDraft) -> LoadBalancerFacts | None:
    workload, context = draft.workload, draft.context
    requested: RequestedService | None = draft.facts.get(RequestedService)
    if requested is not None:
        window = facts.GATEWAY_WINDOW.value
        origin = Origin(OriginKind.ASSUMED, "its guide")
        setting = Setting("load balancer window", window, origin)
        return LoadBalancerFacts(requested.name, setting)
    services = [s for s in context.services_for(workload) if leads_to_pod(s.model, workload)]
    found = load_balancer(workload, services, context)
    if found is None and draft.edge is not None:
        return gateway_balancer(services)
    return found
