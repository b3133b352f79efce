"""Istio as a platform: sidecars, gateways, and the mesh's own configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from shutdownlint.manifests.skips import SkipReason
from shutdownlint.platforms.istio import facts, fields, problems
from shutdownlint.platforms.istio.alternatives import find_alternatives
from shutdownlint.platforms.istio.annotations import (
    ignored_annotations,
    ineffective_settings,
    read_annotation,
    settings_without_proxy,
)
from shutdownlint.platforms.istio.effective_config import EffectiveConfig, merge_config
from shutdownlint.platforms.istio.gateways import deployed_gateways, requested_service
from shutdownlint.platforms.istio.injection import (
    find_sidecar,
    is_bare_proxy,
    is_gateway,
    is_waypoint,
)
from shutdownlint.platforms.istio.mesh_config import Mesh
from shutdownlint.platforms.istio.process import ProxyMode
from shutdownlint.platforms.istio.proxy_plan import plan_proxy
from shutdownlint.platforms.istio.retries import default_retries
from shutdownlint.platforms.locations import as_source_location
from shutdownlint.platforms.platform import Platform
from shutdownlint.shutdown.pod_plan import Assumption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.alternatives import Alternative
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.istio.injection import Sidecar
    from shutdownlint.platforms.istio.problems import IstioProblem
    from shutdownlint.platforms.observation import Observation
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.versions import Version

_UNKNOWN_PROXY: Final = SkipReason(
    "unknown-proxy", "pods that are only a proxy of which not enough is known"
)


class Plugin(Platform):
    """Istio."""

    name = "istio"
    fields = fields.FIELDS
    problems = problems.PROBLEMS
    supported_versions = facts.SUPPORTED_VERSIONS.value
    webhook = facts.WEBHOOK
    version_changes = facts.VERSION_CHANGES

    def newest_kubernetes(self, workload: Workload, context: AnalysisContext) -> Version | None:
        """Return the newest Kubernetes that an old Istio runs on."""
        version = context.state(Mesh).version_for(None, workload.namespace, workload)
        since, newest = facts.NEWEST_KUBERNETES_BEFORE.value
        return newest if version is not None and version < since else None

    def extra_workloads(self, context: AnalysisContext) -> Iterable[Workload]:
        """Return the pods that istiod deploys for Gateways."""
        return deployed_gateways(context.state(Mesh))

    def context_problems(self, context: AnalysisContext) -> Iterator[Problem]:
        """Yield the problems of the mesh's own configuration."""
        return context.state(Mesh).problems()

    def alternatives(self, pod: PlannedPod, context: AnalysisContext) -> Iterable[Alternative]:
        """In the mesh or not, and with which kind of sidecar, where the input leaves it open."""
        return find_alternatives(pod, context)

    def owns(self, container: ContainerDraft, _draft: PodDraft) -> bool:
        """Return the proxy that is written in the pod."""
        return container.name == facts.PROXY_CONTAINER

    def observations(self, pod: PlannedPod) -> Iterator[Observation]:
        """Return the agent's log lines, statistics and response flags."""
        from shutdownlint.platforms.istio.watching import (  # noqa: PLC0415 - for verify only
            istio_observations,
        )

        return istio_observations(pod)

    def contribute(self, draft: PodDraft) -> None:
        """Add the proxy that the pod has or gets."""
        workload, mesh = draft.workload, draft.context.state(Mesh)
        sidecar = find_sidecar(workload, mesh)
        planned = self._add_proxy(draft, mesh, sidecar)
        # A written proxy that is none (or not known) is not the app's container either.
        draft.containers = [c for c in draft.containers if c.owner != self.name]
        only_proxy = is_bare_proxy(workload) or is_gateway(workload)
        if draft.edge is None and only_proxy:
            draft.skipped = _UNKNOWN_PROXY
        if planned and workload.group == facts.GATEWAY_GROUP:
            service = requested_service(workload, waypoint=is_waypoint(workload))
            if service is not None:
                draft.note(service)

    def _add_proxy(self, draft: PodDraft, mesh: Mesh, sidecar: Sidecar | None) -> bool:
        """Whether a proxy has been added."""
        workload = draft.workload
        version = sidecar.version if sidecar is not None else mesh.version
        if version is not None:
            draft.versions["istio"] = version
        draft.problems += ignored_annotations(workload)
        draft.problems += [
            _with_version(problem, version) for problem in ineffective_settings(workload)
        ]
        annotation, annotation_problems = read_annotation(workload)
        if sidecar is None:
            known = draft.context.namespace_labels(workload) is not None
            draft.problems += settings_without_proxy(
                workload, annotation, namespace_known=known, is_gateway=is_gateway(workload)
            )
            return False
        # Whether the webhook refuses a pod depends on its being injected, not on how.
        draft.problems += [
            _with_version(replace(p, assumptions=sidecar.injection_assumptions), version)
            for p in annotation_problems
        ]
        if _rejected(workload, annotation_problems):
            text = "Istio's webhook rejects this pod: it is taken here without its proxy"
            draft.assumptions.append(Assumption(text))
            return False
        assumptions = [*sidecar.injection_assumptions, *sidecar.mode_assumptions]
        merged = merge_config(workload, mesh, sidecar, annotation, assumptions)
        if merged.unresolved:
            text = "the sidecar's settings are placeholders: the pod is taken without it"
            draft.assumptions.append(Assumption(text))
            return False
        self._note_merge_problems(draft, sidecar, merged, version)
        rests_on = tuple(assumptions)
        found = plan_proxy(draft, mesh, sidecar, merged, rests_on)
        draft.problems += [replace(problem, assumptions=rests_on) for problem in found]
        draft.note(default_retries(mesh, sidecar, workload, version))
        return True

    def _note_merge_problems(
        self, draft: PodDraft, sidecar: Sidecar, merged: EffectiveConfig, version: Version | None
    ) -> None:
        workload = draft.workload
        if merged.replaced:
            location = (workload.annotations / facts.CONFIG_ANNOTATION).key
            replaced = problems.MetadataReplaced(location=location, key=", ".join(merged.replaced))
            draft.problems.append(_with_version(replaced, version))
        # A native sidecar ends after the app, whatever these settings say.
        native = sidecar.mode.value is ProxyMode.NATIVE
        for each in () if native else merged.overrides or ():
            if not each.shorter:
                continue
            mesh = f"{each.mesh_value} ({each.mesh.describe(workload.ref.document.file)})"
            shortened = problems.MeshOverridden(
                location=each.location, key=each.name, value=each.value, mesh=mesh
            )
            draft.problems.append(_with_version(shortened, version))
        for name in (facts.EXIT_ON_ZERO_ENV, facts.MINIMUM_DRAIN_ENV):
            if name not in merged.env:
                continue
            _, origin = merged.env[name]
            place = as_source_location(origin.location)
            if place is not None:
                found = problems.DrainEnv(location=place, key=name, origin=origin.label)
                draft.problems.append(_with_version(found, version))
        if sidecar.gateway and (sidecar.deployed or sidecar.already_injected):
            annotation, _ = read_annotation(workload)
            for name in (facts.EXIT_ON_ZERO_ENV, facts.MINIMUM_DRAIN_ENV):
                if name in annotation.env and name not in merged.env:
                    value, written_at = annotation.env[name]
                    draft.problems.append(
                        problems.GatewayEnvInAnnotation(location=written_at, key=name, value=value)
                    )


def _with_version(problem: IstioProblem, version: Version | None) -> IstioProblem:
    """Return the problem, with the release that decides which rules hold for it."""
    return replace(problem, version=version) if version else problem


def _rejected(workload: Workload, found: Iterable[Problem]) -> bool:
    """Whether the webhook or the API server does not take the annotation."""
    annotated = ("metadata", "annotations", facts.CONFIG_ANNOTATION)
    return any(isinstance(p, problems.ProxyConfigRejected) for p in found) or any(
        error.key_path == annotated for error in workload.rejected
    )
