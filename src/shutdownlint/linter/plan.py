"""Plan: from a world to pods, how each of its workloads stops, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.dockerfiles.find import find_built_images
from shutdownlint.manifests.object_index import ObjectIndex
from shutdownlint.manifests.read_workloads import read_workloads
from shutdownlint.manifests.reader import UnreadableInput, contained
from shutdownlint.platforms.context import AnalysisContext
from shutdownlint.platforms.planner import plan_pod
from shutdownlint.platforms.registry import kind_table, mesh_names, platform_title
from shutdownlint.platforms.traffic import meshes_of
from shutdownlint.programs.images import ImageConfigs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.linter.options import LintOptions
    from shutdownlint.manifests.document_reader import DocumentReader
    from shutdownlint.manifests.inputs import Inputs
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.manifests.world import WorkloadFile, World
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.platform import Platform
    from shutdownlint.platforms.user_facts import UserFacts
    from shutdownlint.shutdown.pod_plan import PodPlan


def with_built_images(options: LintOptions, inputs: Inputs) -> LintOptions:
    """Return the options with what the Dockerfiles below the paths of a run show of images."""
    if not inputs.roots:
        return options
    built = find_built_images(inputs.roots, options.search)
    images = options.facts.images
    known = images.configs if images is not None else ()
    return replace(options, facts=replace(options.facts, images=ImageConfigs(known, built)))


def make_context(world: World, facts: UserFacts) -> AnalysisContext:
    """Return what a world has and what the user says, for the planning of its pods."""
    index = world.index if world.index is not None else ObjectIndex()
    return AnalysisContext(index, facts, world.mesh_evidence)


def plan(
    world: World,
    context: AnalysisContext,
    platforms: Sequence[Platform],
    reader: DocumentReader,
    files: Iterable[WorkloadFile],
    *,
    derived: bool = True,
) -> Iterator[PlannedPod]:
    """Yield the pods of the workloads in ``files``, which are all files of the world, or a share.

    ``derived``: also those that controllers make from objects without a pod template. Bad input
    never raises; ``reader`` notes what could not be read or planned, and counts what was skipped.
    """
    for workload in _workloads(world, context, platforms, reader, files, derived=derived):
        if not world.reports(workload.ref.document.file):
            continue
        spec = workload.template.spec
        if len(spec.containers) + len(spec.initContainers) > limits.MAX_CONTAINERS_OF_A_POD:
            why = f"more than {limits.MAX_CONTAINERS_OF_A_POD} containers"
            reader.stats.unreadable.append(UnreadableInput(workload.ref.region(), why))
            continue
        planned: list[PlannedPod] = []
        with contained(reader.stats, workload.ref.region, debug=reader.debug):
            planned.append(plan_pod(workload, context, platforms))
        for pod in planned:
            for reason in (workload.described_by, pod.skipped):
                if reason is not None:
                    reader.stats.skipped[reason] += 1
            yield pod


def _workloads(
    world: World,
    context: AnalysisContext,
    platforms: Sequence[Platform],
    reader: DocumentReader,
    files: Iterable[WorkloadFile],
    *,
    derived: bool,
) -> Iterator[Workload]:
    yield from read_workloads(files, kind_table(), context.index, reader)
    if derived and world.has_own_objects:
        for platform in platforms:
            found: list[Workload] = []
            with contained(reader.stats, lambda: world.place, debug=reader.debug):
                found.extend(platform.extra_workloads(context))
            for workload in found:
                yield replace(workload, derived=True)


def is_mesh_open(pod: PlannedPod, context: AnalysisContext) -> bool:
    """Whether a pod is planned without a mesh, though its namespace may be in one."""
    if pod.plan is None or pod.plan.runs_to_completion or pod.plan.edge is not None:
        return False
    if pod.workload.created or pod.workload.described_by is not None:
        return False
    if meshes_of(pod) or context.user_facts.mesh_of(pod.workload.namespace) is not None:
        return False
    return context.namespace_labels(pod.workload) is None


def assumed_versions(plan: PodPlan) -> Iterator[str]:
    """Yield the systems whose versions a plan assumes."""
    for proxy in plan.proxies:
        for assumption in proxy.assumptions:
            if assumption.about_versions:
                yield assumption.about_versions[0]


def version_warnings(assumed: Iterable[str]) -> list[str]:
    """Return warnings about the versions that a run had to assume."""
    meshes = mesh_names()
    return [
        f"{platform_title(name)}'s version is not known; classic sidecars are assumed "
        f"(set --mesh {name}=VERSION)"
        for name in dict.fromkeys(assumed)
        if name in meshes
    ]
