"""The words of manifests that are about the shutdown of pods."""

from __future__ import annotations

from typing import Any, Final

#: The words of a policy that changes the shutdown of pods, or the mesh that they are in.
SHUTDOWN_WORDS: Final = (
    b"terminationGracePeriodSeconds",
    b"lifecycle",
    b"preStop",
    b"stopSignal",
    b"proxy.istio.io/config",
    b"sidecar.istio.io/inject",
    b"linkerd.io/inject",
    b"shutdown-grace-period",
    b"proxy-wait-before-exit-seconds",
    b"consul.hashicorp.com/connect-inject",
    b"sidecar-proxy-lifecycle",
    b"kuma.io/sidecar",
    b"dapr.io/",
)


def find_shutdown_words(data: Any) -> tuple[str, ...]:
    """Those in a part of a policy."""
    text = str(data)
    found = [word for each in SHUTDOWN_WORDS if (word := each.decode()) in text]
    return tuple(word for word in found if word != "lifecycle" or "preStop" not in found)
