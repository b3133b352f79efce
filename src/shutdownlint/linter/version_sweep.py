"""Evaluates findings that depend on an unknown version again, with every version that matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint.engine.subjects import pod_subjects
from shutdownlint.linter.affected_versions import VersionGroups, describe_affected
from shutdownlint.platforms.planner import plan_pod
from shutdownlint.platforms.versions import WatchedVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shutdownlint.engine.evaluator import RuleEvaluator
    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.subjects import Subject
    from shutdownlint.linter.affected_versions import Combination
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.platform import Platform
    from shutdownlint.platforms.versions import Version


class _Trial:
    """The pods of a run as they are planned with certain versions."""

    def __init__(self, versions: Combination, context: AnalysisContext) -> None:
        #: They note what the planning and the rules compare them with.
        self.versions = {name: _watched(version) for name, version in versions}
        facts = context.user_facts
        known = {**self.versions, **facts.versions}
        self.context = context.with_facts(replace(facts, versions=known))

    def counts_for(self, versions: Combination) -> bool:
        """Whether nothing that was compared so far differs for these versions."""
        names = [name for name, _ in versions]
        return names == [*self.versions] and all(
            self.versions[name].is_like(version) for name, version in versions
        )


def _watched(version: Version) -> WatchedVersion:
    return WatchedVersion(version.major, version.minor, version.patch)


class VersionSweep:
    """Finds the versions that a finding holds for.

    A pod is planned again only for versions that a comparison of an earlier plan separates from all
    that were tried. The plans of one pod are kept until the next one comes.
    """

    def __init__(
        self, context: AnalysisContext, platforms: Sequence[Platform], evaluator: RuleEvaluator
    ) -> None:
        self.context = context
        self.platforms = platforms
        self.evaluator = evaluator
        self._groups: dict[str, VersionGroups] = {}
        self._trials: dict[Combination, _Trial] = {}
        self._pod: PlannedPod | None = None
        self._subjects: dict[_Trial, list[Subject]] = {}

    def with_versions(self, finding: Finding, pod: PlannedPod) -> Finding:
        """Return the finding, with the versions that it holds for if not for all."""
        if pod is not self._pod:
            self._pod, self._subjects = pod, {}
        groups = [group for name in finding.about_versions if (group := self._group(name))]
        affected = describe_affected(groups, lambda versions: self._holds(finding, pod, versions))
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

    def _holds(self, finding: Finding, pod: PlannedPod, versions: Combination) -> bool:
        """Whether the pod has the finding with these versions."""
        for trial, subjects in self._subjects.items():
            if trial.counts_for(versions):
                applies = self._applies(finding, subjects)
                # The rule itself may have compared more.
                if trial.counts_for(versions):
                    return applies
        trial = self._trial(versions)
        again = plan_pod(pod.workload, trial.context, self.platforms)
        facts = trial.context.user_facts
        subjects = self._subjects[trial] = [*pod_subjects(again, self.evaluator.vocabulary, facts)]
        return self._applies(finding, subjects)

    def _applies(self, finding: Finding, subjects: Iterable[Subject]) -> bool:
        return any(
            subject.container == finding.container and self.evaluator.applies(finding.rule, subject)
            for subject in subjects
        )

    def _trial(self, versions: Combination) -> _Trial:
        """Return the trial of exactly these versions, which all pods share."""
        if versions not in self._trials:
            self._trials[versions] = _Trial(versions, self.context)
        return self._trials[versions]
