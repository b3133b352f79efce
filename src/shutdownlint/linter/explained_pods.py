"""Pods with everything that explains them: why they are rejected, and their alternatives."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.engine.evaluator import RuleEvaluator
from shutdownlint.engine.vocabulary import Vocabulary
from shutdownlint.linter.evaluate_pod import evaluate_pod, rejecting_rules
from shutdownlint.linter.plan import (
    assumed_versions,
    is_mesh_open,
    make_context,
    plan,
    version_warnings,
    with_built_images,
)
from shutdownlint.linter.result import PlannedRun
from shutdownlint.manifests.document_reader import DocumentReader
from shutdownlint.manifests.reader import add_stats, contained
from shutdownlint.platforms.planned_pod import AlternativePod
from shutdownlint.platforms.planner import plan_pod
from shutdownlint.platforms.registry import load_platforms, mesh_remedy
from shutdownlint.shutdown.pod_plan import Assumption

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.linter.expand import Expansion
    from shutdownlint.linter.options import LintOptions
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.platform import Platform


def plan_explained(expansion: Expansion, options: LintOptions) -> PlannedRun:
    """Plan every pod, with the reasons why Kubernetes rejects it and its alternatives."""
    options = with_built_images(options, expansion.inputs)
    platforms = load_platforms(entry.name for entry in expansion.platforms)
    rules = rejecting_rules(entry.name for entry in expansion.platforms)
    evaluator = RuleEvaluator(rules, Vocabulary(platforms))
    first, named, *others = expansion.read_stats
    counts = [first, named]
    pods: list[PlannedPod] = []
    warnings: list[str] = []
    for world, read in zip(expansion.worlds, [None, *others], strict=True):
        reader = DocumentReader(debug=options.debug)
        context = make_context(world, options.facts)
        assumed: list[str] = []
        for pod in plan(world, context, platforms, reader, world.files):
            if pod.plan is not None:
                assumed += assumed_versions(pod.plan)
            if pod.workload.described_by is not None:
                continue
            with contained(reader.stats, pod.ref.region, debug=options.debug):
                found = evaluate_pod(pod, evaluator, context.user_facts)
                rejected = replace(pod, rejections=tuple(f.placed_message for f in found))
                pods.append(_explain(rejected, context, platforms))
        counts += [read, reader.stats] if read is not None else [reader.stats]
        warnings += version_warnings(assumed)
    return PlannedRun(
        add_stats(counts),
        expansion.inputs,
        pods,
        [*dict.fromkeys(warnings)],
        expansion.variants_of,
    )


def _explain(
    pod: PlannedPod, context: AnalysisContext, platforms: Sequence[Platform]
) -> PlannedPod:
    """Return a pod with its alternatives, and the assumption that it is in no mesh."""
    if pod.plan is None:
        return pod
    if is_mesh_open(pod, context):
        namespace = pod.workload.namespace
        where = f"namespace {namespace}" if namespace else "the pod's namespace"
        why = "is not among the files"
        if context.shows_namespace(namespace):
            why = "has different labels in files that are equally near"
        elif pod.variant:
            why += f" of {pod.variant}"
        open_mesh = Assumption(f"{where} {why}: no mesh is assumed", mesh_remedy())
        plan = replace(pod.plan, assumptions=(*pod.plan.assumptions, open_mesh))
        pod = pod.with_plan(plan)
    return replace(pod, alternatives=tuple(_alternatives(pod, context, platforms)))


def _alternatives(
    pod: PlannedPod, context: AnalysisContext, platforms: Sequence[Platform]
) -> Iterator[AlternativePod]:
    found = (a for p in platforms for a in p.alternatives(pod, context))
    for alternative in islice(found, limits.MAX_ALTERNATIVES):
        planned = plan_pod(pod.workload, context.with_facts(alternative.facts), platforms)
        yield AlternativePod(alternative.when, alternative.how_to_say, planned)
