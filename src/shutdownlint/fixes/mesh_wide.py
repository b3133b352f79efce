"""The smallest change of a mesh's own configuration that helps all of its workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.engine.finding import Change, EditAction
from shutdownlint.engine.loss_texts import report_loss
from shutdownlint.fixes.apply import NOT_WRITABLE, splice, verified_edits
from shutdownlint.fixes.fixer import original_bytes
from shutdownlint.fixes.suggest import make_suggestions
from shutdownlint.fixes.verify import VerificationError
from shutdownlint.linter.linter import plan_workloads
from shutdownlint.platforms.overrides import Overrides
from shutdownlint.shutdown.loss import LossKind
from shutdownlint.yaml_source.editor import EditError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import timedelta

    from shutdownlint.engine.finding import ReportedLoss
    from shutdownlint.fixes.suggest import Suggestion
    from shutdownlint.linter.options import LintOptions
    from shutdownlint.linter.result import PlannedRun
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.platforms.edit_target import EditTarget
    from shutdownlint.platforms.overrides import Override
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.shutdown.solver import Change as SolvedChange

_Key = tuple[str, str, "ObjectId"]


class MeshMember(Struct, frozen=True):
    """A workload of a mesh with the change: what its pods still need, and what they replace."""

    suggestion: Suggestion
    overrides: tuple[Override, ...] = ()

    @property
    def lost(self) -> list[ReportedLoss]:
        """What a stop surely loses without a change of the workload itself."""
        analysis = self.suggestion.pod.analysis
        losses = map(report_loss, analysis.losses) if analysis is not None else ()
        return [loss for loss in losses if loss.is_sure and loss.kind is not LossKind.LONG]


class MeshSuggestion(Struct):
    """The change of one mesh's configuration, and the workloads with it.

    ``changes`` are the settings with their old values. ``served_before``: so many workloads lose
    nothing as it is. ``refused`` says why there is no edit.
    """

    mesh: str
    place: EditTarget | None
    changes: list[SolvedChange] = field(default_factory=list)
    members: list[MeshMember] = field(default_factory=list)
    served_before: int = 0
    refused: str = ""
    texts: dict[str, bytes] = field(default_factory=dict)
    originals: dict[str, bytes] = field(default_factory=dict)


def suggest_mesh_wide(
    pods: Iterable[PlannedPod], run: PlannedRun, options: LintOptions, p99: timedelta | None
) -> list[MeshSuggestion]:
    """Return a suggestion for each mesh configuration that pods of the run have."""
    groups: dict[tuple[str, str], list[tuple[PlannedPod, Overrides]]] = {}
    for pod in pods:
        found: Overrides | None = pod.facts.get(Overrides)
        if found is not None and pod.plan is not None:
            place = next(iter(found.targets.values()), None)
            region = str(place.location.region()) if place is not None else ""
            groups.setdefault((found.mesh, region), []).append((pod, found))
    return [_suggest(mesh, group, run, options, p99) for (mesh, _), group in groups.items()]


def _suggest(
    mesh: str,
    group: Sequence[tuple[PlannedPod, Overrides]],
    run: PlannedRun,
    options: LintOptions,
    p99: timedelta | None,
) -> MeshSuggestion:
    overrides = {_key(pod): noted for pod, noted in group}
    targets = group[0][1].targets
    before = make_suggestions((pod for pod, _ in group), p99)
    found = MeshSuggestion(mesh, next(iter(targets.values()), None))
    found.served_before = sum(not MeshMember(each).lost for each in before)
    wanted: dict[str, SolvedChange] = {}
    after = before
    # A change may make other settings count: exit-on-zero those that it waits for.
    while _raise(wanted, after, overrides) and not found.refused:
        try:
            pods = _replan(found, wanted, targets, run, options)
        except (EditError, VerificationError) as error:
            found.refused = str(error)
            continue
        after = make_suggestions((pods.get(_key(pod), pod) for pod, _ in group), p99)
    found.changes = list(wanted.values())
    found.members = [MeshMember(each, overrides[_key(each.pod)].settings) for each in after]
    return found


def _raise(
    wanted: dict[str, SolvedChange],
    suggestions: Iterable[Suggestion],
    overrides: Mapping[_Key, Overrides],
) -> bool:
    """Raise the mesh's settings to what pods that follow them need; whether that changed any."""
    before = dict(wanted)
    for suggestion in suggestions:
        for change in suggestion.solution.changes:
            if not overrides[_key(suggestion.pod)].is_mesh_wide(change.field):
                continue
            known = wanted.setdefault(change.field, change)
            if _seconds(change) > _seconds(known):
                # The first one has the value that is written.
                wanted[change.field] = replace(change, old=known.old)
    return wanted != before


def _seconds(change: SolvedChange) -> float:
    return 0.0 if isinstance(change.value, bool) else change.value.total_seconds()


def _replan(
    found: MeshSuggestion,
    wanted: dict[str, SolvedChange],
    targets: dict[str, EditTarget],
    run: PlannedRun,
    options: LintOptions,
) -> dict[_Key, PlannedPod]:
    """Edit the mesh's file, and return the pods of the run with it. Raises ``EditError``."""
    if not targets:
        raise EditError("no configuration of the mesh is among the files")
    changes = [
        Change(EditAction.SET, name, targets.get(name), change.value)
        for name, change in wanted.items()
    ]
    edits = verified_edits(changes)
    files = {each.display_path: each for each in run.inputs.files}
    for (name, start), own in edits.items():
        if name not in files:
            raise EditError(NOT_WRITABLE)
        found.originals[name] = original_bytes(files[name])
        found.texts[name] = splice(found.originals[name], {start: own})
    again = plan_workloads(run.inputs.with_texts(found.texts), options)
    return {_key(pod): pod for pod in again.pods}


def _key(pod: PlannedPod) -> _Key:
    return pod.ref.region().file, pod.variant, pod.id
