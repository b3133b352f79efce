"""Whether a pod of a namespace that no file shows is likely in a mesh."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.platforms.alternatives import Alternative, in_mesh
from shutdownlint.platforms.registry import mesh_names, mesh_remedy
from shutdownlint.platforms.traffic import meshes_of
from shutdownlint.platforms.user_facts import NO_MESH
from shutdownlint.shutdown.pod_plan import Assumption

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.planned_pod import PlannedPod


def allows_signs(mesh: str, workload: Workload, context: AnalysisContext) -> bool:
    """Whether other objects may suggest that a pod is in the mesh."""
    # Files that show the namespace contradict each other; jobs are seldom meant to be in a mesh.
    if context.shows_namespace(workload.namespace) or workload.runs_to_completion:
        return False
    metadata = workload.template.metadata
    named = context.mesh_evidence.named_in((*metadata.labels, *metadata.annotations))
    return not named or mesh in named  # else it is meant for another mesh


def find_sign(
    mesh: str,
    workload: Workload,
    context: AnalysisContext,
    own: Callable[[], str | None] = lambda: None,
) -> str | None:
    """Return what makes it likely that a pod of an unknown namespace is in the mesh.

    ``own`` looks for a route or policy of the mesh that concerns the pod itself.
    """
    if not allows_signs(mesh, workload, context):
        return None
    evidence = context.evidence_of(mesh, workload)
    sign = f"the {evidence.kind} in {evidence.file}" if evidence is not None else own()
    others = (other for other in mesh_names() if other != mesh)
    if sign is None or any(context.evidence_of(other, workload) for other in others):
        return None
    return sign


def find_hint(workload: Workload, context: AnalysisContext) -> str | None:
    """Return the mesh that nearby objects leave open for a pod of an unknown namespace."""
    found = [
        mesh
        for mesh in mesh_names()
        if allows_signs(mesh, workload, context) and context.hint_of(mesh, workload) is not None
    ]
    return found[0] if len(found) == 1 else None


def assume_member(sign: str, workload: Workload) -> Assumption:
    """Return the assumption that a pod is in a mesh, because of a sign."""
    namespace = workload.namespace
    location = f"namespace {namespace}" if namespace else "the pod's namespace"
    text = f"{location} is not among the files; {sign} suggests that the pod is in the mesh"
    return Assumption(text, mesh_remedy())


def without_assumed_mesh(
    mesh: str, pod: PlannedPod, context: AnalysisContext
) -> Iterator[Alternative]:
    """Yield the case that a pod, which is assumed to be in a mesh, is in none."""
    known = context.is_namespace_known(pod.workload.namespace)
    if mesh in meshes_of(pod) and not known and find_sign(mesh, pod.workload, context):
        facts = in_mesh(context.user_facts, NO_MESH, pod.workload.namespace)
        yield Alternative("in no mesh", mesh_remedy(), facts)
