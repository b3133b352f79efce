"""Jobs on the node: what ends their pods, and when another pod takes the work.

The pod of a Job is deleted when the Job is deleted, passes its deadline or is suspended. Its events
are compared with ``explain`` of the Job. After the deletion of a pod alone, its replacement is
compared with what ``podReplacementPolicy`` says.
"""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from tests.cluster.api import ApiError
from tests.cluster.explain import explain
from tests.cluster.observe import ContainerExits
from tests.cluster.pods import PATH as PODS
from tests.cluster.pods import Case, Comparison, log_volumes, make_container, note_events
from tests.cluster.rollouts import Pods, wait

if TYPE_CHECKING:
    from tests.cluster.node import Node

AT_ONCE: Final = 6
_JOBS: Final = "/apis/batch/v1/namespaces/default/jobs"
_DEADLINE: Final = 6
_EVENTS: Final = ("delete", "delete in the foreground", "deadline", "suspend", "pod", "pod")


class JobCase(Struct, frozen=True):
    """A Job of one pod, and what ends it."""

    pod: Case
    manifest: dict[str, Any]
    event: str

    @property
    def label(self) -> str:
        """The event, and the policy of replacements."""
        policy = self.manifest["spec"].get("podReplacementPolicy", "default")
        return f"{self.event}, {policy}" if self.event == "pod" else self.event


class JobOutcome(Struct):
    """The events of the pod, and when its replacement came: seconds after the old one ended."""

    seed: int
    label: str
    compared: Comparison
    replaced: float | None = None
    waits: bool = False
    failure: str = ""

    @property
    def misses(self) -> list[str]:
        """The statements that did not hold."""
        found = [
            f"{kind} of {name} at {seen}s, predicted {predicted:g}s"
            for name, kind, predicted, seen in self.compared.wrong_events
        ]
        if self.waits and self.replaced is not None and self.replaced < -0.3:
            found.append(f"the replacement came {-self.replaced}s before the end")
        return found


def generate(seed: int) -> JobCase:
    """Return the Job of a seed."""
    draw = random.Random(seed)
    name, grace = f"job-{seed}", draw.choice((2, 4, 6, 8))
    apps: dict[str, str] = {}
    logged: list[str] = []
    containers = [
        make_container(draw, f"c{number}", name, apps, logged, grace)
        for number in range(draw.choice((1, 1, 2)))
    ]
    for container in containers:
        container.pop("readinessProbe", None)
    event = draw.choice(_EVENTS)
    spec: dict[str, Any] = {"backoffLimit": draw.choice((1, 3))}
    if event == "deadline":
        spec["activeDeadlineSeconds"] = _DEADLINE
    policy = draw.choice((None, "TerminatingOrFailed", "Failed"))
    if event == "pod" and policy is not None:
        spec["podReplacementPolicy"] = policy
    spec["template"] = {
        "metadata": {"labels": {"app": name}},
        "spec": {
            "terminationGracePeriodSeconds": grace,
            "restartPolicy": "Never",
            "containers": containers,
            "volumes": log_volumes(name),
        },
    }
    manifest = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }
    pod = Case(seed, {"metadata": {"name": name}}, apps, tuple(logged), (), 0)
    return JobCase(pod, manifest, event)


def compare(node: Node, seeds: range) -> list[JobOutcome]:
    """Run the Jobs of these seeds, and compare each with its explanation."""
    with ContainerExits(node) as exits, ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda seed: _run(node, exits, generate(seed)), seeds))


def _run(node: Node, exits: ContainerExits, case: JobCase) -> JobOutcome:
    seed = case.pod.seed
    policy = case.manifest["spec"].get("podReplacementPolicy")
    found = JobOutcome(seed, case.label, Comparison(seed), waits=policy == "Failed")
    try:
        _observe(node, exits, case, found)
    except (OSError, RuntimeError, ApiError) as error:
        found.failure = f"{type(error).__name__}: {error}"
    return found


def _observe(node: Node, exits: ContainerExits, case: JobCase, found: JobOutcome) -> None:
    name = case.pod.name
    explained = explain(case.manifest, case.pod.apps, (), version=node.version)
    node.api.create(_JOBS, case.manifest)
    with Pods(node, name) as pods:
        wait(lambda: pods.running() > 0, "the pod did not start")
        (pod,) = pods.known.values()
        first = pod["metadata"]["name"]
        wanted = {each["name"] for each in pod["spec"]["containers"]}
        ids = {
            each["name"]: each["containerID"].rpartition("/")[2]
            for each in node.api.get(f"{PODS}/{first}")["status"]["containerStatuses"]
            if "running" in each["state"]
        }
        if set(ids) != wanted:
            raise RuntimeError("not all containers run")
        time.sleep(1.5)
        _do(node, case, name, first)
        wait(lambda: first in pods.deleted, "the pod was not deleted")
        ended = exits.wait(ids.values(), explained.end + 15)
        note_events(case.pod, explained, ids, ended, pods.deleted[first], found.compared)
        if case.event == "pod":
            # A pod whose program ends well at its stop signal has done the work of the Job.
            wait(lambda: len(pods.created) > 1 or _is_over(node, name), "no other pod came")
            others = [at for each, at in pods.created.items() if each != first]
            if others:
                found.replaced = round(others[0] - max(ended.values()), 2)
        if not case.event.startswith("delete"):
            node.api.delete(f"{_JOBS}/{name}", {"propagationPolicy": "Background"})


def _is_over(node: Node, name: str) -> bool:
    conditions = node.api.get(f"{_JOBS}/{name}")["status"].get("conditions", ())
    return any(each["type"] in ("Complete", "Failed") for each in conditions)


def _do(node: Node, case: JobCase, name: str, pod: str) -> None:
    if case.event == "pod":
        node.api.delete(f"{PODS}/{pod}")
    elif case.event == "suspend":
        node.api.patch(f"{_JOBS}/{name}", {"spec": {"suspend": True}})
    elif case.event != "deadline":
        foreground = case.event == "delete in the foreground"
        policy = "Foreground" if foreground else "Background"
        node.api.delete(f"{_JOBS}/{name}", {"propagationPolicy": policy})
