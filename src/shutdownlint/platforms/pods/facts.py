"""Facts of Kubernetes about any pod, each with its source."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from shutdownlint.platforms.facts import MEASURED_ON_NODE, SourcedValue

DEFAULT_GRACE: Final = SourcedValue(
    timedelta(seconds=30),
    "staging/src/k8s.io/api/core/v1/types.go:3766, pkg/apis/core/v1/defaults.go:225",
)
#: A tcpSocket hook passes validation and fails at run time: no delay at all.
TCP_SOCKET_HOOK: Final = SourcedValue(
    timedelta(0), f"pkg/kubelet/lifecycle/handlers.go:105; {MEASURED_ON_NODE}"
)
#: Of how many replicas a workload has that says nothing.
DEFAULT_REPLICAS: Final = SourcedValue(1, "pkg/apis/apps/v1/defaults.go:38-135")
#: Replaced at a time: of a Deployment's pods a quarter, of a DaemonSet's one.
DEFAULT_BATCH: Final = SourcedValue(
    "25%", f"pkg/apis/apps/v1/defaults.go:38-72; {MEASURED_ON_NODE}"
)
#: A hook that fails is reported in an event, and the stop signal follows at once.
FAILING_HOOK: Final = SourcedValue(
    timedelta(0), f"pkg/kubelet/kuberuntime/kuberuntime_container.go:796; {MEASURED_ON_NODE}"
)
#: The interval of a probe that says nothing of it.
PROBE_PERIOD: Final = SourcedValue(
    timedelta(seconds=10), "pkg/apis/core/v1/defaults.go (SetDefaults_Probe)"
)
