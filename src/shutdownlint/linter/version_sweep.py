"""Evaluates findings that depend on an unknown version again, with every version that matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint.engine.subjects import pod_subjects
from shutdownlint.linter.affected_versions import VersionGroups, describe_affected
from shutdownlint.platforms.planner import plan_pod
from shutdownlint.platforms.user_facts import UserFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.engine.evaluator import RuleEvaluator
    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.subjects import Subject
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.platform import Platform
    from shutdownlint.platforms.versions import Version

_Combination = tuple[tuple[str, "Version"], ...]


class VersionSweep:
    """Finds the versions that a finding holds for. It caches the results of one pod."""

    def __init__(
        self, context: AnalysisContext, platforms: Sequence[Platform], evaluator: RuleEvaluator
    ) -> None:
        self.context = context
        self.platforms = platforms
        self.evaluator = evaluator
        self._groups: dict[str, VersionGroups] = {}
        self._contexts: dict[_Combination, AnalysisContext] = {}
        self._pod: PlannedPod | None = None
        self._subjects: dict[_Combination, list[Subject]] = {}

    def with_versions(self, finding: Finding, pod: PlannedPod) -> Finding:
        """The finding, with the versions that it holds for if not for all."""
        if not finding.about_versions:
            return finding
        groups = [group for name in finding.about_versions if (group := self._group(name))]

        def holds(versions: _Combination) -> bool:
            return any(
                subject.container == finding.container
                and self.evaluator.applies(finding.rule, subject)
                for subject in self._pod_subjects(pod, versions)
            )

        affected = describe_affected(groups, holds)
        if not affected:
            return finding
        return replace(finding, holds_for=affected)

    def _group(self, name: str) -> VersionGroups | None:
        if name not in self._groups:
            platform = next((p for p in self.platforms if p.name == name), None)
            if platform is None or not platform.supported_versions:
                return None
            rules = [r.versions[name] for r in self.evaluator.rules if name in r.versions]
            self._groups[name] = VersionGroups.of(platform, rules)
        return self._groups[name]

    def _pod_subjects(self, pod: PlannedPod, versions: _Combination) -> list[Subject]:
        if pod is not self._pod:
            self._pod, self._subjects = pod, {}
        if versions not in self._subjects:
            context = self._context(versions)
            again = plan_pod(pod.workload, context, self.platforms)
            found = pod_subjects(again, self.evaluator.vocabulary, context.user_facts)
            self._subjects[versions] = list(found)
        return self._subjects[versions]

    def _context(self, versions: _Combination) -> AnalysisContext:
        if versions not in self._contexts:
            facts = self.context.user_facts
            known = UserFacts(
                {**dict(versions), **facts.versions}, facts.meshes, facts.apps, facts.suppressions
            )
            self._contexts[versions] = self.context.with_facts(known)
        return self._contexts[versions]
