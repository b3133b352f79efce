"""The signs of a pod's shutdown in Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.observation import Observation
from shutdownlint.platforms.traffic import ServiceFacts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.platforms.planned_pod import PlannedPod

_EVENTS: Final = Observation(
    'kubectl get events $namespace --field-selector involvedObject.name="$pod" --watch',
    "Killing: the kubelet has begun. FailedPreStopHook: a hook failed, so that the stop signal "
    "came at once. A container with exit code 137 was killed at the end of the grace period.",
    "kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go:796-800, pkg/kubelet/events",
)


def kubernetes_observations(pod: PlannedPod) -> Iterator[Observation]:
    """Events, and the pod's place in its Service."""
    yield _EVENTS
    facts: ServiceFacts | None = pod.facts.get(ServiceFacts)
    if facts is not None and facts.service.value:
        name = f"kubernetes.io/service-name={facts.service.value}"
        yield Observation(
            f"kubectl get endpointslices $namespace --selector {name} --watch --output yaml",
            "the pod's conditions become ready: false and terminating: true; from then on "
            "kube-proxy and others take it out.",
            "kubernetes staging/src/k8s.io/endpointslice/utils.go:38-50",
        )
