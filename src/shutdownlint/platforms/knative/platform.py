"""Knative as a platform: it sets its pods' grace period and hooks itself.

Source: knative/serving pkg/reconciler/revision/resources/deploy.go:102-113,309.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.skips import SkipReason
from shutdownlint.platforms.knative import facts
from shutdownlint.platforms.knative.resources import KnativeService
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.problem import Problem
from shutdownlint.shutdown.durations import seconds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.pod_draft import PodDraft

_KNATIVE: Final = SkipReason("knative", "Knative workloads (Knative sets their shutdown itself)")
_GRACE: Final = "terminationGracePeriodSeconds"


class KnativeTimeoutShort(Problem, frozen=True, kw_only=True):
    """A timeout that Knative's own preStop hook uses up."""

    platform = "knative"

    timeout: timedelta
    quiet: timedelta


class KnativeGraceRejected(Problem, frozen=True, kw_only=True):
    """A grace period in a template of Knative."""

    platform = "knative"

    key: str


class Plugin(Platform):
    """Knative."""

    name = "knative"
    problems = (KnativeTimeoutShort, KnativeGraceRejected)

    def context_problems(self, context: AnalysisContext) -> Iterator[Problem]:
        """Yield the times of Services that prevent an orderly stop of their pods."""
        for loaded in context.index.all_of(KnativeService):
            template, here = loaded.model.template, loaded.ref / "spec" / "template" / "spec"
            timeout = template.get("timeoutSeconds")
            quiet = facts.QUIET_TIME.value
            if type(timeout) is int and seconds(0) < seconds(min(timeout, 10**9)) <= quiet:
                yield KnativeTimeoutShort(
                    location=here / "timeoutSeconds", timeout=seconds(timeout), quiet=quiet
                )
            if template.get(_GRACE) is not None:
                yield KnativeGraceRejected(location=(here / _GRACE).key, key=_GRACE)

    def contribute(self, draft: PodDraft) -> None:
        """Leave its pods alone."""
        if draft.workload.group == facts.GROUP:
            draft.skipped = _KNATIVE
