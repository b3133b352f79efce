"""What Kubernetes does by itself. Sources are paths in kubernetes/kubernetes v1.36.2."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from shutdownlint.platforms.facts import Fact

DEFAULT_GRACE: Final = Fact(
    timedelta(seconds=30),
    "staging/src/k8s.io/api/core/v1/types.go:3766, pkg/apis/core/v1/defaults.go:225",
)
#: A negative grace period is rewritten to this.
NEGATIVE_GRACE: Final = Fact(timedelta(seconds=1), "pkg/apis/core/v1/conversion.go:382")
#: A tcpSocket hook passes validation and fails at run time: no delay at all.
TCP_SOCKET_HOOK: Final = Fact(timedelta(0), "pkg/kubelet/lifecycle/handlers.go:105")
#: A hook that fails is told in an event, and the stop signal follows at once.
FAILING_HOOK: Final = Fact(timedelta(0), "pkg/kubelet/kuberuntime/kuberuntime_container.go:796")
