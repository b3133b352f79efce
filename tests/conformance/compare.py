"""Predicted against observed, request by request."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.conformance.cases import Case, make
from tests.conformance.client import CUT, OK, REFUSED, UNAVAILABLE
from tests.conformance.pod import Observed, observe
from tests.conformance.predict import Prediction, predict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

UNKNOWN = "unknown"
#: The number of pods alive at once; more than processors, since they mostly wait.
AT_ONCE = 20
#: The number of pods that start at once: starting is what needs a processor.
STARTING = 2


def _silent(_case: Case, _observed: Observed) -> None:
    pass


@dataclass(frozen=True)
class Verdict:
    """One request: what was predicted, what was observed, and how far from any event it was."""

    seed: int
    what: str
    arrives: float
    lasts: float
    predicted: str
    observed: str
    distance: float

    @property
    def certain(self) -> bool:
        """Whether there is a verdict; if traffic decides, there is not."""
        return self.predicted != UNKNOWN

    @property
    def agrees(self) -> bool:
        """Whether both say it was served, or both that it was not."""
        return (self.predicted == OK) == (self.observed == OK)

    @property
    def same_kind(self) -> bool:
        """Whether it failed in the way that was predicted.

        A caller whose app dies under a living proxy sees a 503, which is a cut all the same.
        """
        if self.predicted == CUT:
            return self.observed in (CUT, UNAVAILABLE)
        if self.what == "outbound" and self.predicted == REFUSED:
            return self.observed in (CUT, REFUSED)  # the app does not live to make the call
        return self.predicted == self.observed

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.what} {self.lasts:g}s@{self.arrives:g}s: predicted "
            f"{self.predicted}, observed {self.observed}, {self.distance:g}s from the next event"
        )


def verdicts(case: Case, observed: Observed) -> list[Verdict]:
    """Return the model's predictions for a case, compared with what was seen."""
    prediction = predict(case)
    asked = [("inbound", *request) for request in case.requests]
    asked += [("reset", 0.0, lasts) for lasts in case.resets]
    asked += [("kept", *request) for request in case.kept]
    asked += [("outbound", *request) for request in case.outbound]
    return [
        Verdict(
            case.seed, what, arrives, lasts, predicted, seen, _distance(arrives, lasts, prediction)
        )
        for (what, arrives, lasts), predicted, seen in zip(
            asked, prediction.outcomes, observed.outcomes, strict=True
        )
    ]


def _distance(arrives: float, lasts: float, prediction: Prediction) -> float:
    moments = [arrives + lasts] + ([arrives] if arrives else [])
    return min(abs(moment - event) for moment in moments for event in prediction.events)


def observe_all(
    jobs: Iterable[tuple[int, Path]], report: Callable[[Case, Observed], None] = _silent
) -> list[tuple[Case, Observed]]:
    """Run cases, each a seed and the Envoy to run it with, many at once."""

    async def all_of_them() -> list[tuple[Case, Observed]]:
        gate, starting = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(STARTING)

        async def one(seed: int, binary: Path) -> tuple[Case, Observed]:
            async with gate:
                case = make(seed)
                observed = await observe(case, binary, starting=starting)
                report(case, observed)
                return case, observed

        return await asyncio.gather(*(one(seed, binary) for seed, binary in jobs))

    return asyncio.run(all_of_them())
