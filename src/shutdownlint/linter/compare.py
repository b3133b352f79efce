"""What a change does to a repository: the findings that are new, and the losses that grew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.linter.baseline import apply_baseline, baseline_text
from shutdownlint.linter.verdicts import OUTCOMES
from shutdownlint.shutdown.durations import UNBOUNDED
from shutdownlint.shutdown.loss import LossKind

if TYPE_CHECKING:
    from collections.abc import Collection

    from shutdownlint.linter.result import LintResult
    from shutdownlint.linter.verdicts import WorkloadVerdict
    from shutdownlint.manifests.object_id import ObjectId


class Grown(Struct, frozen=True):
    """A workload that a stop costs more than before; ``before`` is None for a new one.

    ``elsewhere``: its own file is unchanged. ``is_sure``: it is not only lost perhaps.
    """

    after: WorkloadVerdict
    before: WorkloadVerdict | None
    elsewhere: bool
    is_sure: bool


class Comparison(Struct, frozen=True):
    """A run compared with an earlier state of the same files.

    ``result`` has the findings that are new. ``changed`` are the files that differ, ``worse`` the
    workloads that lose more, ``better`` how many lose less, ``reached`` how many of all that differ
    are written in files that do not.
    """

    result: LintResult
    changed: tuple[str, ...]
    worse: tuple[Grown, ...]
    better: int
    reached: int


def compare(now: LintResult, before: LintResult, changed: Collection[str]) -> Comparison:
    """Compare a run with one of an earlier state; ``changed`` are the files that differ."""
    known, _ = baseline_text(before)
    result, _ = apply_baseline(now, known)
    old = {_key(verdict): verdict for verdict in before.verdicts}
    worse, better, reached = [], 0, 0
    for verdict in now.verdicts:
        earlier = old.get(_key(verdict))
        elsewhere = verdict.region.file not in changed
        if earlier is not None and _extent(earlier) == _extent(verdict):
            continue
        reached += elsewhere
        if _extent(verdict) > _extent(earlier):
            is_sure = _extent(verdict, sure=True) > _extent(earlier, sure=True)
            worse.append(Grown(verdict, earlier, elsewhere, is_sure))
        elif earlier is not None:
            better += 1
    return Comparison(result, tuple(sorted(changed)), tuple(worse), better, reached)


_Extent = tuple[int, float, int]
_CUT: Final = (LossKind.CUT, LossKind.LONG)
_NOTHING: Final[_Extent] = (0, float("-inf"), 0)


def _key(verdict: WorkloadVerdict) -> tuple[ObjectId, str]:
    return verdict.id, verdict.variant


def _extent(verdict: WorkloadVerdict | None, *, sure: bool = False) -> _Extent:
    """Return how much a stop loses: the kind, and of requests that are cut how short they are.

    ``sure``: without what it loses perhaps.
    """
    found = verdict.losses if verdict is not None else ()
    losses = [loss for loss in found if loss.is_sure or not sure]
    if not losses:
        return _NOTHING
    rank = len(OUTCOMES) - OUTCOMES.index(losses[0].kind.value)
    cut = [loss.longer_than for loss in losses if loss.kind in _CUT]
    shortest = min(cut, default=UNBOUNDED).total_seconds()
    return rank, -shortest, len({loss.kind for loss in losses})
