"""Builds the shutdown plan of a workload's pods; every platform of the run adds its part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.manifests.skips import PLACEHOLDERS
from shutdownlint.platforms.mutations import InjectedContainer, apply_mutations
from shutdownlint.platforms.planned_pod import PlannedPod
from shutdownlint.platforms.traffic import MeshProxyFacts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.platform import Platform
    from shutdownlint.platforms.pod_draft import PodDraft
    from shutdownlint.shutdown.provenance import Setting


def plan_pod(
    workload: Workload, context: AnalysisContext, platforms: Sequence[Platform]
) -> PlannedPod:
    """Everything that is known about how this workload's pods stop, as policies change them."""
    counts = (platform.replicas(workload, context) for platform in platforms)
    replicas = next((count for count in counts if count is not None), None)
    if workload.incomplete is not None or workload.unresolved:
        skipped = workload.incomplete or PLACEHOLDERS
        return PlannedPod(workload.id, workload.ref, workload, skipped=skipped, replicas=replicas)
    mutations = []
    if not workload.created:
        mutations = [each for platform in platforms for each in platform.mutations(context)]
    created, assumptions = apply_mutations(workload, mutations)
    draft = _draft_pod(created, context, platforms, replicas)
    injected = list(_injected(draft, platforms))
    if mutations and injected:
        again, assumptions = apply_mutations(workload, mutations, injected)
        if again is not workload:
            draft = _draft_pod(again, context, platforms, replicas)
    draft.assumptions += assumptions
    return draft.finish(workload)


def _injected(draft: PodDraft, platforms: Sequence[Platform]) -> Iterator[InjectedContainer]:
    """Yield the containers that meshes add to the pod, beside the app's."""
    webhooks = {platform.name: platform.webhook for platform in platforms}
    for container in draft.containers:
        proxy: MeshProxyFacts | None = container.facts.get(MeshProxyFacts)
        webhook = webhooks.get(proxy.mesh) if proxy is not None else None
        if webhook and container.spec is None and not container.native_sidecar:
            yield InjectedContainer(container.name, webhook)


def _draft_pod(
    workload: Workload,
    context: AnalysisContext,
    platforms: Sequence[Platform],
    replicas: Setting[int] | None,
) -> PodDraft:
    drafts = (platform.draft(workload, context) for platform in platforms)
    draft = next(draft for draft in drafts if draft is not None)
    draft.replicas = replicas
    newest = (platform.newest_kubernetes(workload, context) for platform in platforms)
    draft.newest_kubernetes = min((each for each in newest if each is not None), default=None)
    for container in draft.containers:
        for platform in platforms:
            if platform.owns(container, draft):
                container.owner = platform.name
                break
    for platform in platforms:
        platform.contribute(draft)
    return draft
