"""A run that plans every pod, for ``explain``, ``suggest`` and ``init``."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.engine.evaluator import RuleEvaluator
from shutdownlint.engine.vocabulary import Vocabulary
from shutdownlint.linter.lint_run import PlannedRun
from shutdownlint.linter.pod_stage import (
    PodStage,
    evaluate_pod,
    load_rejecting_rules,
    make_context,
    version_warnings,
)
from shutdownlint.platforms.planned_pod import AlternativePod
from shutdownlint.platforms.planner import plan_pod
from shutdownlint.platforms.registry import mesh_remedy
from shutdownlint.shutdown.pod_plan import Assumption

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.linter.lint_run import LintOptions
    from shutdownlint.manifests.loader import Loader
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.registry import PlatformSet


class PlanRun:
    """Plans every pod, with the reasons why Kubernetes rejects it and its alternatives."""

    def __init__(self, loader: Loader, platforms: PlatformSet, options: LintOptions) -> None:
        self.loader = loader
        self.platforms = platforms
        self.context = make_context(loader, options)
        self.stage = PodStage(loader, self.context, platforms.platforms, debug=options.debug)

    def run(self) -> PlannedRun:
        """Return the planned pods."""
        pods = [pod for pod in self.stage.planned_pods() if pod.workload.described_by is None]
        rules = load_rejecting_rules(entry.name for entry in self.platforms.entries)
        evaluator = RuleEvaluator(rules, Vocabulary(self.platforms.platforms))
        for pod in pods:
            found = evaluate_pod(pod, evaluator, self.context.user_facts)
            pod.rejections = [finding.placed_message for finding in found]
            if pod.plan is not None:
                self._note_mesh(pod)
                pod.alternatives = list(self._alternatives(pod))
        return PlannedRun(self.loader.stats, pods, version_warnings(self.stage.assumed_versions))

    def _note_mesh(self, pod: PlannedPod) -> None:
        """Note that no mesh is assumed where the input leaves it open."""
        assert pod.plan is not None
        if self.stage.is_mesh_open(pod):
            namespace = pod.workload.namespace
            where = f"namespace {namespace}" if namespace else "the pod's namespace"
            why = "is not among the files"
            if self.context.shows_namespace(namespace):
                why = "has different labels in files that are equally near"
            elif pod.variant:
                why += f" of {pod.variant}"
            open_mesh = Assumption(f"{where} {why}: no mesh is assumed", mesh_remedy())
            pod.plan = replace(pod.plan, assumptions=(*pod.plan.assumptions, open_mesh))

    def _alternatives(self, pod: PlannedPod) -> Iterator[AlternativePod]:
        platforms = self.platforms.platforms
        found = (a for p in platforms for a in p.alternatives(pod, self.context))
        for alternative in islice(found, limits.MAX_ALTERNATIVES):
            context = self.context.with_facts(alternative.facts)
            planned = plan_pod(pod.workload, context, platforms)
            yield AlternativePod(alternative.when, alternative.how_to_say, planned)
