"""The predictions of ``explain`` for a pod."""

from __future__ import annotations

import copy
import threading
from typing import TYPE_CHECKING, Any, Final

import yaml
from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.platforms.user_facts import AppFacts
from shutdownlint.reports.explanation import explain_pods
from shutdownlint.shutdown.analysis import Traffic
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.request import EventKind, Request
from tests.cluster.binaries import VERSION
from tests.helpers import plan_files, user_facts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KINDS: Final = {
    EventKind.SIGNAL: "signal",
    EventKind.EXITS: "exit",
    EventKind.KILLED: "exit",
}
#: Plans share what they read once.
_LOCK: Final = threading.Lock()


class Explained(Struct, frozen=True):
    """Events by container, the possible outcomes of each request, and when everything has ended.

    ``unsure`` are containers whose events rest on what is assumed of a shell or a duration.
    """

    events: dict[str, dict[str, float]]
    outcomes: list[tuple[str, ...]]
    end: float
    unsure: frozenset[str]


def explain(
    manifest: dict[str, Any],
    apps: Mapping[str, str],
    requests: Sequence[tuple[float, float, bool]],
    grace: int | None = None,
    version: str = VERSION,
) -> Explained:
    """Explain a pod, or that of a workload.

    ``apps`` is what is known of its programs, by container.
    """
    given = copy.deepcopy(manifest)
    spec = given["spec"].get("template", given)["spec"]
    if grace is not None:
        spec["terminationGracePeriodSeconds"] = grace
    known = tuple(AppFacts("*", behaviour=app, container=name) for name, app in apps.items())
    facts = replace(user_facts(kubernetes=version, mesh=["none"]), apps=known)
    wanted = [
        Request(seconds(arrival), seconds(duration), reused=reused)
        for arrival, duration, reused in requests
    ]
    with _LOCK:
        run = plan_files({"pod.yaml": yaml.safe_dump(given)}, facts)
        (explanation,) = explain_pods(run.pods, wanted, Traffic(), (), facts)
        if explanation.pod.rejections:
            raise RuntimeError(explanation.pod.rejections[0])
        events: dict[str, dict[str, float]] = {}
        for event in explanation.events:
            kind = _KINDS.get(event.kind)
            if kind and event.container:
                at = event.at.total_seconds()
                events.setdefault(event.container, {}).setdefault(kind, at)
        outcomes = [
            tuple(
                dict.fromkeys(
                    [
                        str(answer.prediction.outcome),
                        *(
                            str(other.answers[number].prediction.outcome)  # type: ignore[union-attr]
                            for other in explanation.differences
                            if other.answers[number] is not None
                        ),
                    ]
                )
            )
            for number, answer in enumerate(explanation.answers)
        ]
        assumed = " ".join(explanation.assumptions)
    names = [c["name"] for c in (*spec["containers"], *spec.get("initContainers", ()))]
    unsure = frozenset(
        name
        for name in names
        if f"starts {name} is assumed" in assumed or f"{name} preStop: " in assumed
    )
    ends = [at for found in events.values() for at in found.values()]
    return Explained(events, outcomes, max(ends, default=0.0), unsure)
