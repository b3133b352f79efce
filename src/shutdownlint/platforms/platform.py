"""The interface of a platform: a system (mesh, program, policy) that affects pod shutdowns."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.alternatives import Alternative
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.facts import SourcedValue
    from shutdownlint.platforms.fields import Fields
    from shutdownlint.platforms.mutations import Mutation
    from shutdownlint.platforms.observation import Observation
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.versions import Version, VersionRange
    from shutdownlint.platforms.workload_index import WorkloadIndex
    from shutdownlint.shutdown.provenance import Setting


class Platform:
    """One platform. Every method has a default that does nothing.

    ``fields`` are the names that it gives to rules, ``problems`` the kinds that it reports.
    ``supported_versions`` are tried where the version is not known; ``version_changes`` are the
    facts that change with it. ``webhook`` is the webhook configuration that adds its containers.
    """

    name: ClassVar[str]
    fields: ClassVar[Fields] = {}
    problems: ClassVar[Sequence[type[Problem]]] = ()
    supported_versions: ClassVar[Sequence[Version]] = ()
    version_changes: ClassVar[Sequence[SourcedValue[Version] | SourcedValue[VersionRange]]] = ()

    webhook: ClassVar[str] = ""

    def draft(self, _workload: Workload, _context: AnalysisContext) -> PodDraft | None:
        """Return the first draft of a workload's pods; only the reader of pod specs has one."""
        return None

    def extra_workloads(self, _context: AnalysisContext) -> Iterable[Workload]:
        """Workloads that the platform derives from other objects."""
        return ()

    def context_problems(self, _context: AnalysisContext) -> Iterable[Problem]:
        """Return the problems of objects that are not workloads."""
        return ()

    def replicas(self, _workload: Workload, _context: AnalysisContext) -> Setting[int] | None:
        """Return the number of pods of a workload, if the platform knows it."""
        return None

    def newest_kubernetes(self, _workload: Workload, _context: AnalysisContext) -> Version | None:
        """Return the newest Kubernetes that the platform's version supports, if that matters."""
        return None

    def mutations(self, _context: AnalysisContext) -> Iterable[Mutation]:
        """Policies and webhooks that change pods as they are created."""
        return ()

    def selection_problems(
        self, _index: WorkloadIndex, _context: AnalysisContext
    ) -> Iterable[Problem]:
        """Return the problems of selectors that select no pod, once all workloads are known."""
        return ()

    def owns(self, _container: ContainerDraft, _draft: PodDraft) -> bool:
        """Whether a container that is written in a pod is this platform's, not the app's."""
        return False

    def alternatives(self, _pod: PlannedPod, _context: AnalysisContext) -> Iterable[Alternative]:
        """Other cases that fit what the input shows of a pod, the likeliest first."""
        return ()

    def observations(self, _pod: PlannedPod) -> Iterable[Observation]:
        """Return what can be observed of a pod's shutdown."""
        return ()

    def contribute(self, _draft: PodDraft) -> None:
        """Add to a pod what the platform means for it, or change what is there."""
