"""The observations of real programs, compared with the predictions from their manifests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from tests.programs.client import OK
from tests.programs.predict import Predicted, predict
from tests.programs.run import Seen, observe

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.programs.cases import Case

#: Most of a run is waiting, but two processors start programs slowly.
_AT_ONCE: Final = 4
#: The observations of the last run of all programs.
MEASURED: Final = Path(__file__).with_name("measured.json")


class Result(Struct, frozen=True):
    """A case, its prediction, and what was seen; None where it did not come up."""

    case: Case
    predicted: Predicted
    seen: Seen | None

    @property
    def problems(self) -> list[str]:
        """The observations that fit none of the cases that the tool names."""
        if self.seen is None:
            return []
        found = []
        for name in ("in_flight", "new", "reused", "long"):
            predicted, seen = getattr(self.predicted, name), getattr(self.seen, name)
            # A kept connection is predicted to be lost unless the server is sure to serve it.
            careful = name == "reused" and seen == OK
            if seen and not careful and (seen == OK) not in {each == "ok" for each in predicted}:
                found.append(f"{name}: predicted {' or '.join(predicted)}, seen {seen}")
        return found


def compare(cases: Sequence[Case], folder: Path) -> list[Result]:
    """Run the cases, and compare."""
    predictions = [predict(case, folder) for case in cases]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        seen = list(pool.map(observe, cases))
    results = [Result(*each) for each in zip(cases, predictions, seen, strict=True)]
    # A machine that is busy may be late: what differs is run once more, alone.
    return [
        Result(each.case, each.predicted, observe(each.case)) if each.problems else each
        for each in results
    ]


def load() -> dict[str, Seen]:
    """Load the earlier observations of each case."""
    return msgspec.json.decode(MEASURED.read_bytes(), type=dict[str, Seen])


def store(results: Iterable[Result]) -> None:
    """Keep what was seen."""
    lines = [
        f"{msgspec.json.encode(each.case.name).decode()}: {msgspec.json.encode(each.seen).decode()}"
        for each in results
        if each.seen is not None
    ]
    MEASURED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
