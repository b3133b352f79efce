"""One run: the rooms in their order, from files to findings. Data flows one way.

The typed models, the platforms and the rules are imported only once a document
was found that they are needed for: a hook on unrelated files stays cheap.
"""

from __future__ import annotations

import contextlib
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.halves import in_two
from shutdownlint.manifests.discovery import InputError
from shutdownlint.manifests.loader import load_files, replace_text_of
from shutdownlint.manifests.reader import ReadStats, UnreadableInput, gc_paused

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from shutdownlint.engine.affected_versions import ReleaseGroups
    from shutdownlint.engine.evaluator import Failure, RuleEvaluator
    from shutdownlint.engine.finding import Finding, Severity
    from shutdownlint.engine.rule import Rule
    from shutdownlint.engine.suppress import SuppressedFinding
    from shutdownlint.fixes.apply import FixResult
    from shutdownlint.manifests.discovery import InputFile
    from shutdownlint.manifests.loader import InputSource, LoadedFiles
    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.manifests.workloads import ObjectId, ObjectIndex, Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.homes import Homes, Packed
    from shutdownlint.platforms.istio.mesh_config import Mesh
    from shutdownlint.platforms.planner import Pod
    from shutdownlint.platforms.problem import ConfigProblem
    from shutdownlint.platforms.user_facts import UserFacts
    from shutdownlint.platforms.versions import Version
    from shutdownlint.yaml_source.location import Region


#: From so many files, or workloads, on reading or judging them is shared between two processes.
_FILES_WORTH_SHARING: Final = 400
_WORKLOADS_WORTH_SHARING: Final = 200
#: So many files are read before what they hold is put away.
_READ_AT_ONCE: Final = 2000
_VERSION_ASSUMED: Final = (
    "Istio's version is not known: sidecars are judged as classic ones (say --istio-version, and "
    "from Istio 1.27 on --kubernetes-version too)"
)


class Scene(Struct):
    """What a run has read, and what is to be said of it."""

    reading: ReadStats = field(default_factory=ReadStats)
    #: Only what is planned without asking rules keeps its pods.
    pods: list[Pod] = field(default_factory=list)
    #: What the manifests say is to be ignored.
    ignores: list[Suppression] = field(default_factory=list)
    #: What is to be said of ignores.
    of_ignores: list[str] = field(default_factory=list)
    #: Whether a pod's proxy is judged without knowing which release it is of.
    version_assumed: bool = False

    @property
    def whole(self) -> bool:
        """Whether everything could be read."""
        return not self.reading.unreadable

    @property
    def remarks(self) -> list[str]:
        """What a person should know of the run as a whole."""
        return [*([_VERSION_ASSUMED] if self.version_assumed else []), *self.of_ignores]


class Stage(Struct):
    """Workloads that are judged together, and the world that they meet."""

    world: AnalysisContext
    mesh: Mesh
    workloads: list[Workload]
    #: What is wrong in objects that are no workloads.
    defects: list[ConfigProblem]


class Result(Struct):
    """What a check has found. ``whole`` is False when part of the job could not be done."""

    scene: Scene
    findings: list[Finding] = field(default_factory=list)
    suppressed: list[SuppressedFinding] = field(default_factory=list)
    #: How many workloads were judged.
    workloads: int = 0
    whole: bool = True


def no_progress() -> None:
    """For runs that show no progress."""


def read(
    sources: Iterable[InputSource], given: UserFacts, on_file: Callable[[], None] = no_progress
) -> Scene:
    """Read the files and plan every pod's shutdown."""
    scene = Scene()
    with gc_paused():
        for stage in _stages(sources, given, scene, on_file):
            pods = (_planned(workload, stage, scene) for workload in stage.workloads)
            scene.pods += [pod for pod in pods if pod is not None]
    return scene


def _stages(
    sources: Iterable[InputSource], given: UserFacts, scene: Scene, on_file: Callable[[], None]
) -> Iterator[Stage]:
    """Read all files, telling the scene, and then set one stage after the other."""
    context: set[str] = set()
    homes = _read(sources, scene, context, on_file)
    if homes is not None:
        with contextlib.closing(homes):
            yield from (_stage(objects, given, context) for objects in homes.parts())


def _read(
    sources: Iterable[InputSource], scene: Scene, context: set[str], on_file: Callable[[], None]
) -> Homes | None:
    """What the files hold; None where nothing bears on shutdown."""
    homes: Homes | None = None
    left, put_away = iter(sources), False
    while lot := list(islice(left, _READ_AT_ONCE)):
        put_away = put_away or len(lot) == _READ_AT_ONCE  # more may come
        for gathered, others in _halves(lot, on_file, put_away=put_away):
            scene.reading.add(gathered.reading)
            scene.ignores += gathered.ignores
            context |= gathered.context
            if gathered.objects is None and others is None:
                continue
            from shutdownlint.platforms.homes import Homes  # noqa: PLC0415

            homes = homes or Homes()
            if gathered.objects is not None:
                homes.shared.add(gathered.objects)
            if others is not None:
                homes.add(others)
    return homes


def _halves(
    lot: Sequence[InputSource], on_file: Callable[[], None], *, put_away: bool
) -> list[tuple[LoadedFiles, Packed | None]]:
    """Read some files; what is to be put away is packed by whoever reads it."""

    def some(sources: Sequence[InputSource]) -> tuple[LoadedFiles, Packed | None]:
        gathered = load_files(sources, on_file)
        if not put_away or gathered.objects is None:
            return gathered, None
        from shutdownlint.platforms.homes import packed  # noqa: PLC0415

        others, gathered.objects = packed(gathered.objects), None
        return gathered, others

    stdin = any(not isinstance(s.file, InputError) and s.file.path is None for s in lot)
    found = in_two(lot, some, worth=len(lot) + 1 if stdin else _FILES_WORTH_SHARING)
    for other, _ in found[1:]:
        for _ in range(other.reading.files):
            on_file()
    return found


def _stage(objects: ObjectIndex, given: UserFacts, context: set[str]) -> Stage:
    from shutdownlint.manifests.workloads import mark_incomplete  # noqa: PLC0415
    from shutdownlint.platforms.context import AnalysisContext  # noqa: PLC0415
    from shutdownlint.platforms.istio.gateways import deployed_gateways  # noqa: PLC0415
    from shutdownlint.platforms.istio.mesh_config import Mesh  # noqa: PLC0415
    from shutdownlint.platforms.planner import context_defects  # noqa: PLC0415

    mark_incomplete(objects)
    world = AnalysisContext(objects, given)
    mesh = Mesh(world)
    workloads = [
        workload
        for workload in (*objects.workloads, *deployed_gateways(mesh))
        if workload.ref.document.file not in context
    ]
    defects = (*mesh.defects(), *context_defects(world))
    return Stage(
        world, mesh, workloads, [d for d in defects if d.location.region().file not in context]
    )


def _planned(workload: Workload, stage: Stage, scene: Scene) -> Pod | None:
    """The workload's pod; what it says of the whole run is told to the scene."""
    from shutdownlint.platforms.planner import plan_pod  # noqa: PLC0415

    try:
        pod = plan_pod(workload, stage.world, stage.mesh)
    except Exception as error:
        reason = f"shutdownlint fails on it ({type(error).__name__}: {error}): please report"
        scene.reading.unreadable.append(UnreadableInput(workload.ref.region(), reason))
        return None
    if pod.unplanned is not None:
        scene.reading.skipped[pod.unplanned] += 1
    if _version_assumed(pod):
        scene.version_assumed = True
    return pod


def _version_assumed(pod: Pod) -> bool:
    """Whether the pod's proxy is judged without knowing which release it is of."""
    proxy = pod.plan.proxy if pod.plan is not None else None
    return proxy is not None and not proxy.version and any(a.versions for a in proxy.assumptions)


def check(
    sources: Iterable[InputSource],
    given: UserFacts,
    *,
    rules: Callable[[], Sequence[Rule]],
    severities: Mapping[str, Severity] | None = None,
    on_file: Callable[[], None] = no_progress,
) -> Result:
    """Lint the files. ``rules`` is called only when there is something to ask of."""
    with gc_paused():  # a collection would walk all that was read, again and again
        return _check(sources, given, rules, severities or {}, on_file)


def _check(
    sources: Iterable[InputSource],
    given: UserFacts,
    rules: Callable[[], Sequence[Rule]],
    severities: Mapping[str, Severity],
    on_file: Callable[[], None],
) -> Result:
    scene = Scene()
    result = Result(scene)
    evaluator: RuleEvaluator | None = None
    # The same workload in several files (renderings of one chart) makes the same finding of what
    # they share.
    told: dict[tuple[Region, str, str], Finding] = {}

    def ask() -> RuleEvaluator:
        from shutdownlint.engine.evaluator import RuleEvaluator  # noqa: PLC0415

        return evaluator or RuleEvaluator(
            rules(), severities, kubernetes=given.kubernetes, istio=given.istio
        )

    for stage in _stages(sources, given, scene, on_file):
        if stage.workloads or stage.defects:
            evaluator = ask()
            _judge(stage, evaluator, result, told)
    if scene.reading.unreadable or evaluator is not None:
        evaluator = ask()
        told.update({_order(finding): finding for finding in _of_the_run(scene, evaluator)})
        result.findings = [told[key] for key in sorted(told)]
        _sort_out(result, evaluator.rules, given)
        result.whole = scene.whole and not evaluator.failures
    return result


def _judge(
    stage: Stage,
    evaluator: RuleEvaluator,
    result: Result,
    told: dict[tuple[Region, str, str], Finding],
) -> None:
    """Ask the rules of all that is on the stage."""
    for part in in_two(
        stage.workloads,
        lambda some: _judged(some, stage, evaluator),
        worth=_WORKLOADS_WORTH_SHARING,
    ):
        told.update({_order(finding): finding for finding in part.findings})
        result.workloads += part.workloads
        part.tell(result.scene, evaluator)
    told.update({_order(finding): finding for finding in _of_defects(stage.defects, evaluator)})


def _sort_out(result: Result, asked: Sequence[Rule], given: UserFacts) -> None:
    """Take out what is ignored."""
    ignores = [*result.scene.ignores, *given.ignores]
    if not ignores:
        return
    import datetime as dt  # noqa: PLC0415

    from shutdownlint.engine.suppress import part  # noqa: PLC0415

    today = dt.datetime.now(dt.UTC).date()
    parted = part(result.findings, ignores, asked, today)
    result.findings, result.suppressed = parted.left, parted.suppressed
    result.scene.of_ignores += parted.remarks


class _Judged(Struct):
    """What was found on some of the workloads, and what that says of the run."""

    findings: list[Finding]
    workloads: int
    unreadable: list[UnreadableInput]
    skipped: Counter[str]
    ignores: list[Suppression]
    version_assumed: bool
    failures: dict[str, Failure]

    def tell(self, scene: Scene, evaluator: RuleEvaluator) -> None:
        """Tell the run, once, what may have been found in another process."""
        scene.reading.unreadable += self.unreadable
        scene.reading.skipped.update(self.skipped)
        scene.ignores += self.ignores
        scene.version_assumed = scene.version_assumed or self.version_assumed
        for name, failure in self.failures.items():
            evaluator.failures.setdefault(name, failure)


def _judged(workloads: Sequence[Workload], stage: Stage, evaluator: RuleEvaluator) -> _Judged:
    """Plan each pod and ask the rules of it; no pod is kept."""
    from shutdownlint.manifests.suppressions import read_annotations  # noqa: PLC0415

    part = Scene()
    trial = _Trial(stage.world, evaluator)
    findings: list[Finding] = []
    count = 0
    for workload in workloads:
        part.ignores += read_annotations(workload)
        pod = _planned(workload, stage, part)
        if pod is None:
            continue
        count += 1
        trial.found.clear()
        findings += [
            trial.dated(finding, pod) if finding.of_versions else finding
            for finding in _of_pod(pod, evaluator)
        ]
    reading = part.reading
    return _Judged(
        findings,
        count,
        reading.unreadable,
        reading.skipped,
        part.ignores,
        part.version_assumed,
        evaluator.failures,
    )


def fix_files(
    sources: Sequence[InputSource],
    given: UserFacts,
    *,
    rules: Callable[[], Sequence[Rule]],
    unsafe: bool,
    only: Container[ObjectId] | None = None,
    severities: Mapping[str, Severity] | None = None,
) -> tuple[Result, FixResult]:
    """Lint the files and mend what can be mended; the result is that of the mended files.

    ``only`` are the workloads whose findings are mended, all by default.
    """
    from shutdownlint.fixes.apply import FixApplier  # noqa: PLC0415

    last = [Result(Scene())]
    originals: dict[str, InputFile] = {
        source.file.shown: source.file
        for source in sources
        if not isinstance(source.file, InputError)
        and not source.context
        and (source.file.path is not None or source.file.shown == "<stdin>")
    }
    given_in: dict[str, bytes] = {}

    def judge(texts: Mapping[str, bytes]) -> list[Finding]:
        known = {**given_in, **texts}
        again = [replace_text_of(source, known) for source in sources]
        last[0] = check(again, given, rules=rules, severities=severities)
        if last[0].scene.reading.stdin:
            given_in.setdefault("<stdin>", last[0].scene.reading.stdin)
        return last[0].findings

    def original(file: str) -> bytes:
        found = originals[file]
        if found.data is not None:
            return found.data
        return given_in[file] if found.path is None else found.path.read_bytes()

    fix_result = FixApplier(judge, original, originals, unsafe=unsafe, only=only).run()
    if fix_result.refused:  # the last thing tried may have been given up
        judge(fix_result.texts)
        fix_result.left = last[0].findings
    fix_result.originals.update(given_in)
    return last[0], fix_result


def _order(finding: Finding) -> tuple[Region, str, str]:
    return finding.region, finding.rule, finding.message


def _of_the_run(scene: Scene, evaluator: RuleEvaluator) -> Iterator[Finding]:
    """Findings on the run itself: what could not be read, rules that failed."""
    from shutdownlint.engine.fields import defect_subject  # noqa: PLC0415
    from shutdownlint.platforms.problem import ConfigProblem  # noqa: PLC0415
    from shutdownlint.yaml_source.location import FixedLocation  # noqa: PLC0415

    for unreadable in scene.reading.unreadable:
        defect = ConfigProblem(
            "unreadable", FixedLocation(unreadable.region), {"reason": unreadable.reason}
        )
        yield from evaluator.ask(defect_subject(defect))
    for failure in list(evaluator.failures.values()):
        words = {"key": failure.rule.id, "reason": failure.reason}
        defect = ConfigProblem("rule-failed", FixedLocation(failure.rule.region), words)
        yield from evaluator.ask(defect_subject(defect))


def _of_defects(defects: Iterable[ConfigProblem], evaluator: RuleEvaluator) -> Iterator[Finding]:
    from shutdownlint.engine.fields import defect_subject  # noqa: PLC0415

    for defect in defects:
        yield from evaluator.ask(defect_subject(defect))


def _of_pod(pod: Pod, evaluator: RuleEvaluator) -> Iterator[Finding]:
    from shutdownlint.engine.fields import defect_subject, subjects  # noqa: PLC0415
    from shutdownlint.platforms.edit_targets import slots_of  # noqa: PLC0415

    name = pod.id
    for defect in pod.defects:
        yield from evaluator.ask(defect_subject(defect), name)
    if pod.plan is None:
        return
    names = {"kind": name.kind, "name": name.name, "namespace": name.namespace or ""}
    for subject in subjects(pod.plan, pod.ref, names, slots_of(pod)):
        yield from evaluator.ask(subject, name)


class _Trial:
    """Findings that rest on an unknown version, judged again with every release that is tried."""

    def __init__(self, world: AnalysisContext, evaluator: RuleEvaluator) -> None:
        self.world = world
        self.evaluator = evaluator
        self.settings: dict[
            tuple[Version | None, Version], tuple[AnalysisContext, Mesh, RuleEvaluator]
        ] = {}
        #: Of one pod at a time.
        self.found: dict[tuple[Version | None, Version], set[tuple[str, str | None]]] = {}

    @cached_property
    def releases(self) -> tuple[ReleaseGroups, ReleaseGroups]:
        """Those of Istio and of Kubernetes."""
        from shutdownlint.engine.affected_versions import releases  # noqa: PLC0415

        return releases(self.evaluator.rules)

    def dated(self, finding: Finding, pod: Pod) -> Finding:
        """The finding, with the releases that it holds for, where not for all."""
        from shutdownlint.engine.affected_versions import format_affected_versions  # noqa: PLC0415

        def holds(istio: Version, kubernetes: Version) -> bool:
            return (finding.rule, finding.container) in self._found(pod, istio, kubernetes)

        told = format_affected_versions(*self.releases, holds)
        return (
            replace(finding, message=f"{finding.message} (holds for {told})") if told else finding
        )

    def _found(self, pod: Pod, istio: Version, kubernetes: Version) -> set[tuple[str, str | None]]:
        shown = pod.plan.proxy.version if pod.plan and pod.plan.proxy else ""
        known = None if shown else istio  # what the files show of Istio stays
        key = (known, kubernetes)
        if key not in self.found:
            from shutdownlint.platforms.planner import plan_pod  # noqa: PLC0415

            world, mesh, evaluator = self._setting(known, kubernetes)
            again = plan_pod(pod.workload, world, mesh)
            self.found[key] = {(f.rule, f.container) for f in _of_pod(again, evaluator)}
        return self.found[key]

    def _setting(
        self, istio: Version | None, kubernetes: Version
    ) -> tuple[AnalysisContext, Mesh, RuleEvaluator]:
        from shutdownlint.engine.evaluator import RuleEvaluator  # noqa: PLC0415
        from shutdownlint.platforms.istio.mesh_config import Mesh  # noqa: PLC0415

        key = (istio, kubernetes)
        if key not in self.settings:
            known = self.world.given
            given = replace(
                known, istio=known.istio or istio, kubernetes=known.kubernetes or kubernetes
            )
            world = self.world.under(given)
            evaluator = RuleEvaluator(
                self.evaluator.rules,
                self.evaluator.severities,
                kubernetes=given.kubernetes,
                istio=given.istio,
            )
            self.settings[key] = (world, Mesh(world), evaluator)
        return self.settings[key]
