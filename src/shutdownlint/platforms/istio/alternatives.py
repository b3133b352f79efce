"""Cases that the manifests leave open: whether a pod has an Istio sidecar, and of which kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.alternatives import Alternative, in_mesh, with_versions
from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.istio.injection import VERSION_REMEDY, is_membership_open
from shutdownlint.platforms.istio.mesh_config import Mesh
from shutdownlint.platforms.registry import mesh_remedy
from shutdownlint.platforms.traffic import meshes_of
from shutdownlint.platforms.user_facts import NO_MESH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.planned_pod import PlannedPod

_ISTIO: Final = "istio"


def find_alternatives(pod: PlannedPod, context: AnalysisContext) -> Iterator[Alternative]:
    """In the mesh or not, and with a classic or a native sidecar, where both fit the input."""
    workload, user = pod.workload, context.user_facts
    namespace = workload.namespace
    meshes, remedy = meshes_of(pod), mesh_remedy()
    if not is_membership_open(workload, context.state(Mesh)):
        member = _ISTIO in meshes
    elif _ISTIO in meshes:
        member = True
        yield Alternative("in no mesh", remedy, in_mesh(user, NO_MESH, namespace))
    else:
        member = False
        if not meshes:
            yield Alternative(
                "behind a classic Istio sidecar", remedy, in_mesh(user, _ISTIO, namespace)
            )
    gateway = workload.group == facts.GATEWAY_GROUP
    if member and not gateway and pod.plan is not None and _rests_on_version(pod):
        kubernetes = facts.NATIVE_AUTO_KUBERNETES.value
        istio = facts.SUPPORTED_VERSIONS.value[-1]
        newest = with_versions(user, istio=istio, kubernetes=kubernetes)
        yield Alternative("behind a native Istio sidecar", VERSION_REMEDY, newest)


def _rests_on_version(pod: PlannedPod) -> bool:
    """Whether the kind of the sidecar was assumed."""
    assert pod.plan is not None
    return any(
        _ISTIO in assumption.about_versions or "kubernetes" in assumption.about_versions
        for proxy in pod.plan.proxies
        for assumption in proxy.assumptions
    )
