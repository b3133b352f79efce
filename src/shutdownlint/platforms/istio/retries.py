"""The retries that Istio's proxies make by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.retries import DefaultRetries, RetryPolicy
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.istio.injection import Sidecar
    from shutdownlint.platforms.istio.mesh_config import Mesh
    from shutdownlint.platforms.versions import Version

_KEY: Final = "defaultHttpRetryPolicy"


def default_retries(
    mesh: Mesh, sidecar: Sidecar, workload: Workload, version: Version | None
) -> DefaultRetries:
    """Return the policy of callers in the mesh; unknown if the mesh configuration has its own."""
    config, _ = mesh.config_for(sidecar.revision, workload)
    if config is not None and _KEY in config.location.document.text:
        return DefaultRetries(None)
    old = version is not None and version < facts.DEFAULT_RETRIES_WITHOUT_503.value
    name = Setting("retries", "Istio's default retries", Origin(OriginKind.DEFAULT, "Istio"))
    return DefaultRetries(RetryPolicy(name, facts.DEFAULT_RETRIES.value, (503,) if old else ()))
