"""The kubelet's rules for stopping a container, as numbers.

Paths are in kubernetes/kubernetes at v1.36.2.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from shutdownlint.shutdown.durations import ZERO, whole_seconds

if TYPE_CHECKING:
    from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan

#: The shortest time between a stop signal and SIGKILL (minimumGracePeriodInSeconds,
#: pkg/kubelet/kuberuntime/kuberuntime_manager.go:84).
MINIMUM_AFTER_SIGNAL: Final = timedelta(seconds=2)
#: The pod worker never counts down from less (pkg/kubelet/pod_workers.go:999-1030).
MINIMUM_GRACE: Final = timedelta(seconds=1)


def grace_of(container: ContainerPlan | None, plan: PodPlan) -> timedelta:
    """Return the grace period that a container's kubelet counts down from."""
    own = plan.grace if container is None or container.grace is None else container.grace
    return max(own.value.low, MINIMUM_GRACE)


def runs_hook(grace: timedelta, *, grace_counts_hook: bool) -> bool:
    """Whether a preStop hook runs: kubelets of 1.22 to 1.27 left it out with a grace period of 0.

    ``grace_counts_hook`` is false for these (killContainer of 1.24.17,
    pkg/kubelet/kuberuntime/kuberuntime_container.go:709, and measured with it).
    """
    return grace_counts_hook or grace > ZERO


def time_to_kill(
    grace: timedelta, hook: timedelta, waited: timedelta, *, grace_counts_hook: bool = True
) -> timedelta:
    """Return the time from the stop signal to SIGKILL.

    Whole seconds of the hook, and of the wait for one's turn, are taken off the grace period
    (killContainer, pkg/kubelet/kuberuntime/kuberuntime_container.go:867-932). Kubernetes 1.22 to
    1.27 took nothing off, and had no minimum (``grace_counts_hook`` false; kubernetes PR 115835;
    measured with 1.24.17).
    """
    if not grace_counts_hook:
        return grace
    return max(grace - whole_seconds(hook) - whole_seconds(waited), MINIMUM_AFTER_SIGNAL)
