"""The result for one pod: its shutdown plan, and further facts for rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.shutdown.analysis import ShutdownAnalysis

if TYPE_CHECKING:
    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.skips import SkipReason
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.edit_target import EditTarget
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.versions import Version
    from shutdownlint.shutdown.pod_plan import PodPlan
    from shutdownlint.shutdown.provenance import Setting


class AlternativePod(Struct, frozen=True, eq=False):
    """The pod as it is planned in another case: when that is, and how to settle it."""

    when: str
    how_to_say: str
    pod: PlannedPod


class PlannedPod(Struct, frozen=True, eq=False):
    """One workload's pods.

    ``analysis`` answers everything about their shutdown; it is None where that is not known, and
    then ``skipped`` has the reason.
    ``facts`` and ``container_facts`` are what platforms noted for their rules, by type.
    ``edit_targets`` are by container (None: the pod's own) and by the field's name. ``versions``
    are those that apply to this pod, by platform, where they are known.
    ``replicas`` is None where nodes or an autoscaler decide, or that is not known.
    """

    id: ObjectId
    ref: NodeRef
    workload: Workload
    analysis: ShutdownAnalysis | None = None
    skipped: SkipReason | None = None
    problems: list[Problem] = field(default_factory=list)
    facts: dict[type[Any], Any] = field(default_factory=dict)
    container_facts: dict[str, dict[type[Any], Any]] = field(default_factory=dict)
    edit_targets: dict[str | None, dict[str, EditTarget]] = field(default_factory=dict)
    versions: dict[str, Version] = field(default_factory=dict)
    replicas: Setting[int] | None = None
    #: The same pod in the other cases that fit the input; only runs that explain need them.
    alternatives: tuple[AlternativePod, ...] = ()
    #: Why the API server or a webhook rejects it.
    rejections: tuple[str, ...] = ()

    @property
    def plan(self) -> PodPlan | None:
        """The settings of the pod that bear on its shutdown."""
        return self.analysis.plan if self.analysis is not None else None

    def with_plan(self, plan: PodPlan) -> PlannedPod:
        """Return the pod with another plan."""
        return replace(self, analysis=ShutdownAnalysis(plan))

    @property
    def variant(self) -> str:
        """The environment that it is deployed to, of several that exclude one another."""
        return self.workload.ref.document.variant

    @property
    def title(self) -> str:
        """The name of the pod in reports."""
        return f"{self.id}, variant {self.variant}" if self.variant else str(self.id)
