"""The verdict on an example of a program record, as the whole run finds it."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.linter.linter import plan_workloads
from shutdownlint.linter.options import LintOptions
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.platforms.user_facts import UserFacts
from shutdownlint.shutdown.durations import ZERO, format_duration
from shutdownlint.shutdown.process import After, Never, Reaction, WhenFinished

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.programs.known import KnownPrograms
    from shutdownlint.programs.record import Example, Program
    from shutdownlint.shutdown.pod_plan import PodPlan
    from shutdownlint.shutdown.process import Phase

_CONTAINER: Final = "program"


def example_problems(program: Program, known: KnownPrograms) -> Iterator[str]:
    """Yield the problems of a record's examples."""
    for number, example in enumerate(program.examples, 1):
        try:
            found = example_verdict(example, known)
        except ValueError as error:
            yield f"example {number}: {error}"
            continue
        if found != example.verdict:
            yield f"example {number}: the verdict is '{found}', written is '{example.verdict}'"


def example_verdict(example: Example, known: KnownPrograms) -> str:
    """Return what the program of an example does at its stop signal, and what else it may do.

    Raises ``ValueError`` for a command that no shell can split.
    """
    manifest = json.dumps(_pod(example)).encode("ascii")
    inputs = Inputs((InputSource(InputFile(None, "<example>", manifest)),))
    run = plan_workloads(inputs, LintOptions(UserFacts(programs=known)))
    if not run.pods or run.pods[0].plan is None:
        raise ValueError("the container cannot be read")
    pod = run.pods[0]
    plans = [pod.plan, *(each.pod.plan for each in pod.alternatives)]
    texts = [_describe(plan) for plan in plans if plan is not None]
    return "; or ".join(dict.fromkeys(texts))


def _pod(example: Example) -> dict[str, Any]:
    container: dict[str, Any] = {"name": _CONTAINER, "image": example.image}
    for name in ("command", "args"):
        if text := getattr(example, name):
            container[name] = shlex.split(text)
    container["env"] = [{"name": name, "value": value} for name, value in example.env.items()]
    if example.stop_signal is not None:
        container["lifecycle"] = {"stopSignal": example.stop_signal}
    app = {"name": "app", "image": "shop/app:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"os": {"name": "linux"}, "containers": [container, app]},
    }


def _describe(plan: PodPlan) -> str:
    phases = plan.container(_CONTAINER).process.phases
    if not phases:
        return "goes on until SIGKILL"
    parts = [text for phase in phases if (text := _describe_phase(phase))]
    return ", then ".join(parts) or "exits at once"


def _describe_phase(phase: Phase) -> str:
    ending = phase.ending
    if isinstance(ending, Never):
        goes_on = phase.inbound.new is Reaction.SERVES
        return "cuts its requests and goes on" if goes_on else "does not exit"
    if isinstance(ending, WhenFinished):
        if phase.cuts:
            return "cuts its requests"
        limit = ending.limit
        within = f" within {format_duration(limit.value)}" if limit is not None else ""
        return f"finishes its requests{within}"
    assert isinstance(ending, After)
    duration = ending.duration.value
    if phase.inbound.new is Reaction.SERVES:
        text = f"serves for {format_duration(duration)}"
        return text if duration > ZERO else ""
    return "cuts its requests" if duration == ZERO else f"exits {format_duration(duration)} later"
