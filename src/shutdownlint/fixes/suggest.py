"""The smallest consistent set of settings for each workload, and the edits that write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.engine.loss_texts import report_loss
from shutdownlint.engine.solution_changes import solution_changes
from shutdownlint.fixes.apply import NOT_WRITABLE, add_unless_overlapping, splice, verified_edits
from shutdownlint.fixes.fixer import fix_files, original_bytes
from shutdownlint.fixes.verify import VerificationError
from shutdownlint.platforms.traffic import StreamFacts
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.loss import LossKind
from shutdownlint.shutdown.provenance import with_value
from shutdownlint.shutdown.solver import Targets, solve
from shutdownlint.yaml_source.editor import EditError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import timedelta

    from shutdownlint.engine.finding import Change, Finding, ReportedLoss
    from shutdownlint.fixes.apply import ChunkKey
    from shutdownlint.linter.options import LintOptions
    from shutdownlint.linter.result import PlannedRun
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.shutdown.solver import Solution
    from shutdownlint.yaml_source.editor import Edit

#: The edits of a file, by where the part begins that they count in.
_Parts: TypeAlias = "dict[int, list[Edit]]"
#: Of the environments that share a file, so many are named.
_MOST_NAMES: Final = 3


class Suggestion(Struct):
    """The suggested changes to one workload.

    ``edits`` are by part of a file; ``refused`` says why there are none. ``shared`` says which
    other environments have the file of an edit and need something else: a patch is for one only.
    """

    pod: PlannedPod
    solution: Solution
    changes: list[Change] = field(default_factory=list)
    edits: dict[ChunkKey, list[Edit]] = field(default_factory=dict)
    refused: str = ""
    shared: str = ""
    #: Whether nothing says how long its requests take.
    p99_assumed: bool = False
    #: The losses of a stop with the changes.
    lost: tuple[ReportedLoss, ...] = ()

    @property
    def is_proven(self) -> bool:
        """Whether a stop surely loses nothing of what was asked for with the changes."""
        left = (loss for loss in self.lost if loss.is_sure and loss.kind is not LossKind.LONG)
        return self.solution.proven and next(left, None) is None


class SuggestReport(Struct, frozen=True):
    """All suggestions, and the files with them.

    ``fixed`` are findings that are fixed as well: settings that are refused, or in the way.
    """

    suggestions: list[Suggestion]
    fixed: list[Finding] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)
    originals: dict[str, bytes] = field(default_factory=dict)

    def texts_for(self, suggestion: Suggestion) -> dict[str, bytes]:
        """Return the changed files; for one of several environments, with its own changes only."""
        if not suggestion.pod.variant:
            return self.texts
        try:
            by_file = _by_file(suggestion.edits)
            return {file: splice(self.originals[file], parts) for file, parts in by_file.items()}
        except (EditError, LookupError):
            return {}


def make_suggestions(
    pods: Iterable[PlannedPod],
    p99: timedelta | None = None,
    *,
    rendered: bool = False,
) -> list[Suggestion]:
    """Return a suggestion for each pod with a plan; ``rendered``: also edit what Helm rendered."""
    found = []
    for pod in pods:
        if pod.plan is None:
            continue
        streams: StreamFacts | None = pod.facts.get(StreamFacts)
        wanted = None if streams is not None and streams.p99_is_theirs else p99
        assumed = wanted is None and pod.plan.p99 is None and pod.plan.gets_requests
        solution = solve(pod.plan, Targets.of(pod.plan, wanted))
        changed = solution.plan
        if wanted is not None and changed.p99 is not None:
            changed = replace(changed, p99=with_value(changed.p99, wanted))
        lost = tuple(map(report_loss, ShutdownAnalysis(changed).losses))
        suggestion = Suggestion(pod, solution, p99_assumed=assumed, lost=lost)
        try:
            _add_edits(suggestion, rendered=rendered)
        except (EditError, VerificationError) as error:
            suggestion.edits, suggestion.refused = {}, str(error)
        found.append(suggestion)
    return found


def complete_report(
    suggestions: Sequence[Suggestion], run: PlannedRun, options: LintOptions
) -> SuggestReport:
    """Apply the suggestions, and fix what is refused or in the way in the same workloads."""
    _note_shared(suggestions, run.variants_of)
    names = {suggestion.pod.ref.document.file for suggestion in suggestions}
    # What a policy writes into pods is changed in the policy.
    names |= {file for suggestion in suggestions for file, _ in suggestion.edits}
    originals = {
        file.display_path: original_bytes(file)
        for file in run.inputs.files
        if file.display_path in names
    }
    texts = _apply(suggestions, originals)
    quiet = replace(options, selection=replace(options.selection, notes=False))
    only = {suggestion.pod.id for suggestion in suggestions}
    _, fixes = fix_files(run.inputs.with_texts(texts), quiet, unsafe=True, only=only)
    return SuggestReport([*suggestions], fixes.fixed, {**texts, **fixes.texts}, originals)


def _add_edits(suggestion: Suggestion, *, rendered: bool) -> None:
    solution = suggestion.solution
    for change, new in zip(
        solution.changes, solution_changes(suggestion.pod, solution), strict=True
    ):
        if new.target is None:
            raise EditError(f"{change.old.name} cannot be changed from here")
        suggestion.changes.append(new)
    suggestion.edits = verified_edits(suggestion.changes, rendered=rendered)


def _apply(suggestions: Sequence[Suggestion], originals: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the new bytes of every file that the suggestions change."""
    edits: dict[ChunkKey, list[Edit]] = {}
    for suggestion in suggestions:
        if suggestion.shared:
            continue
        if any(file not in originals for file, _ in suggestion.edits):
            suggestion.edits, suggestion.refused = {}, NOT_WRITABLE
        elif not add_unless_overlapping(edits, suggestion.edits):
            suggestion.edits = {}
            suggestion.refused = "another workload needs another value at the same place"
    texts: dict[str, bytes] = {}
    for file, parts in _by_file(edits).items():
        try:
            texts[file] = splice(originals[file], parts)
        except EditError as error:
            for suggestion in suggestions:
                if any(name == file for name, _ in suggestion.edits):
                    suggestion.edits, suggestion.refused = {}, str(error)
    return texts


def _by_file(edits: Mapping[ChunkKey, list[Edit]]) -> dict[str, _Parts]:
    """Return the edits of each file, by where their parts begin."""
    found: dict[str, _Parts] = {}
    for (file, start), own in edits.items():
        found.setdefault(file, {})[start] = own
    return found


def _note_shared(
    suggestions: Sequence[Suggestion], variants_of: Mapping[str, Collection[str]]
) -> None:
    """Note which edits would change other environments, which do not need the same ones."""
    edits = [_by_file(suggestion.edits) for suggestion in suggestions]
    wanted: dict[str, list[tuple[str, _Parts]]] = {}
    for suggestion, by_file in zip(suggestions, edits, strict=True):
        for file, parts in by_file.items():
            wanted.setdefault(file, []).append((suggestion.pod.variant, parts))
    for suggestion, by_file in zip(suggestions, edits, strict=True):
        for file, parts in by_file.items() if suggestion.pod.variant else ():
            same = {variant for variant, other in wanted[file] if other == parts}
            others = sorted(set(variants_of.get(file, ())) - same)
            if others:
                have = "have" if others[1:] else "has"
                names = ", ".join(others[:_MOST_NAMES])
                suggestion.shared = f"{names} {have} {file} as well: see --format kustomize"
