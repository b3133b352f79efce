"""The questions of ``init --ask``, and their answers as lines of the configuration."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.registry import mesh_choices, mesh_names
from shutdownlint.platforms.traffic import DEFAULT_PROPAGATION
from shutdownlint.platforms.user_facts import parse_mesh, pattern_of
from shutdownlint.shutdown.durations import ZERO, format_duration

if TYPE_CHECKING:
    from shutdownlint.platforms.planned_pod import PlannedPod

_MOST = 5
#: Asks one question, and returns the answer; an empty one is no answer.
Ask = Callable[[str], str]


class Answer(Struct, frozen=True):
    """A value that somebody gave for a key; ``workload`` is the pattern that it is about."""

    key: str
    value: str
    workload: str = ""


def ask_all(pods: "Sequence[PlannedPod]", ask: Ask) -> list[Answer]:
    """Ask for the mesh, for times of the workloads with the most pods and routes, and the delay."""
    found = [*_ask_mesh(ask)]
    serving = [pod for pod in pods if pod.plan is not None and pod.plan.gets_requests]
    working = [
        pod
        for pod in pods
        if pod.plan is not None and not (pod.plan.gets_requests or pod.plan.runs_to_completion)
    ]
    for key, what, group in (
        ("p99", "the slowest ordinary requests to", serving),
        ("longest-job", "the longest jobs of", working),
    ):
        for workload in _foremost(group):
            value = _ask_time(ask, f"How long do {what} {workload} take, such as 10s?")
            if value:
                found.append(Answer(key, value, workload))
    usual = format_duration(DEFAULT_PROPAGATION.value)
    question = f"How long do Services go on sending to a pod that is deleted? ({usual} is assumed)"
    value = _ask_time(ask, question)
    return [*found, *([Answer("propagation", value)] if value else [])]


def _foremost(pods: "Sequence[PlannedPod]") -> list[str]:
    """Return the workloads with the most pods, and of these the ones with the most senders."""
    weights: dict[str, tuple[int, int]] = {}
    for pod in pods:
        assert pod.plan is not None
        name = pattern_of(pod.id)
        weight = pod.replicas.value if pod.replicas is not None else 1, len(pod.plan.senders)
        weights[name] = max(weights.get(name, (0, 0)), weight)
    return sorted(weights, key=lambda name: weights[name], reverse=True)[:_MOST]


def _ask_mesh(ask: Ask) -> Iterator[Answer]:
    answer = ask(f"Which mesh are the pods in ({mesh_choices()}), such as istio=1.26?").strip()
    while answer:
        try:
            parse_mesh(answer, mesh_names())
        except ValueError as error:
            answer = ask(f"{error}; which mesh?").strip()
            continue
        yield Answer("mesh", answer)
        return


def _ask_time(ask: Ask, question: str) -> str:
    """Return a duration as it is written; empty where there is no answer."""
    answer = ask(question).strip()
    while answer:
        try:
            if go_duration(answer) >= ZERO:
                return answer
        except ValueError:
            pass
        answer = ask(f"{answer!r} is no duration such as 10s or 5m; how long?").strip()
    return ""
