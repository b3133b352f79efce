"""Knative as a platform: it sets its pods' grace period and hooks itself.

Source: knative/serving pkg/reconciler/revision/resources/deploy.go:102-113,309.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.skips import SkipReason
from shutdownlint.platforms.platform import Platform

if TYPE_CHECKING:
    from shutdownlint.platforms.pod_draft import PodDraft

_GROUP: Final = "serving.knative.dev"
_KNATIVE: Final = SkipReason("knative", "Knative workloads (Knative sets their shutdown itself)")


class Plugin(Platform):
    """Knative."""

    name = "knative"

    def contribute(self, draft: PodDraft) -> None:
        """Leave its pods alone."""
        if draft.workload.group == _GROUP:
            draft.skipped = _KNATIVE
