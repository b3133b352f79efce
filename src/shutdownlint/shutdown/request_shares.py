"""The cost of serving a larger share of the requests: the settings that each share needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import DurationRange, seconds
from shutdownlint.shutdown.loss import LossKind
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting, with_value
from shutdownlint.shutdown.solver import Targets, solve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

    from shutdownlint.shutdown.pod_plan import PodPlan

_SHORTEST: Final = seconds(1)
#: The shares that people ask for.
SHARES: Final = (0.9, 0.95, 0.99, 0.999)


class ShareRow(Struct, frozen=True):
    """A share of the requests, how long they take at most, and what serves all of them.

    ``duration`` is None where the measurement ends below it. ``served``: by the settings as they
    are. ``grace`` is the shortest grace period that serves them, with the other settings that
    ``suggest`` names; None where no settings are known to serve them.
    """

    share: float
    duration: timedelta | None
    served: bool = False
    grace: timedelta | None = None


def share_rows(
    analysis: ShutdownAnalysis, duration_of: Callable[[float], timedelta | None]
) -> Iterator[ShareRow]:
    """Yield a row for each share; ``duration_of`` says how long its requests take."""
    plan = analysis.plan
    # From the shortest grace period the solver raises it to what is needed.
    shortest = replace(plan, grace=with_value(plan.grace, DurationRange.exact(_SHORTEST)))
    for share in SHARES:
        duration = duration_of(share)
        if duration is None:
            yield ShareRow(share, None)
            continue
        targets = Targets(duration, Targets.of(plan).propagation)
        solution = solve(shortest, targets)
        grace = solution.plan.grace.value.low if solution.proven else None
        yield ShareRow(share, duration, _serves(plan, duration), grace)


def _serves(plan: PodPlan, duration: timedelta) -> bool:
    """Whether every request of that length is served."""
    p99 = Setting("p99", duration, Origin(OriginKind.MEASURED, "measured"))
    losses = ShutdownAnalysis(replace(plan, p99=p99)).losses
    return not any(loss.kind in (LossKind.CUT, LossKind.LATE) for loss in losses)
