"""Drains on the node: which evictions the API server allows, and how many pods serve meanwhile.

Pods are evicted as ``kubectl drain`` does it, all at once and again after 5 s where a budget refuses
(staging/src/k8s.io/kubectl/pkg/drain/drain.go). The node is not cordoned, because it is the only
one: new pods start on it, as they would on another.
"""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import yaml
from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.platforms.pods.pod_facts import PodFacts
from shutdownlint.platforms.user_facts import AppFacts
from shutdownlint.shutdown.serving_pods import EVICTION_RETRY, Drain
from tests.cluster.api import ApiError
from tests.cluster.images import SERVER
from tests.cluster.rollouts import Pods, wait
from tests.helpers import check_files, plan_files, user_facts

if TYPE_CHECKING:
    from tests.cluster.node import Node

Data = dict[str, Any]
AT_ONCE: Final = 6
#: After so long without an allowed eviction the drain counts as blocked.
_PATIENCE: Final = 25.0
_PLANNING: Final = threading.Lock()


class Drained(Struct, frozen=True):
    """A workload with its budgets; ``unready``: its probe fails, so no pod is ever ready."""

    seed: int
    workload: Data
    budgets: tuple[Data, ...]
    unready: bool

    @property
    def name(self) -> str:
        """The name of the workload."""
        return f"drained-{self.seed}"

    @property
    def label(self) -> str:
        """What its budgets say, for the table."""
        if len(self.budgets) != 1:
            return f"{len(self.budgets)} budgets"
        spec = self.budgets[0]["spec"]
        (key,) = {"minAvailable", "maxUnavailable"} & set(spec)
        share = "percent" if isinstance(spec[key], str) else "number"
        policy = spec.get("unhealthyPodEvictionPolicy", "no policy")
        return f"{key} as {share}" + (f", unready pods, {policy}" if self.unready else "")


class Result(Struct):
    """The prediction for a drain, and what was seen. ``longest`` is None where it is blocked."""

    seed: int
    label: str
    predicted_blocked: bool = False
    predicted_least: int = 0
    predicted_longest: float | None = None
    blocked: bool = False
    least: int = 0
    took: float = 0.0
    failure: str = ""

    @property
    def misses(self) -> list[str]:
        """The statements that did not hold."""
        if self.blocked != self.predicted_blocked:
            return [f"blocked: {self.blocked}, predicted: {self.predicted_blocked}"]
        found = []
        if self.least < self.predicted_least:
            found.append(
                f"{self.least} pods served, at least {self.predicted_least} were predicted"
            )
        if self.predicted_longest is not None and self.took > self.predicted_longest + 2:
            found.append(
                f"took {self.took:.1f}s, at most {self.predicted_longest:g}s were predicted"
            )
        return found

    @property
    def is_exact(self) -> bool:
        """Whether just as many pods served as the least that is predicted."""
        return self.least == self.predicted_least


def generate(seed: int) -> Drained:
    """Return the workload and budgets of a seed."""
    draw = random.Random(seed)
    name, replicas = f"drained-{seed}", draw.randrange(1, 5)
    unready = draw.random() < 0.2
    container: Data = {
        "name": "app",
        "image": SERVER,
        "imagePullPolicy": "Never",
        "command": ["/server"],
        "ports": [{"containerPort": 8080}],
        "readinessProbe": {
            "httpGet": {"path": "/fails" if unready else "/ready", "port": 8080},
            "periodSeconds": 1,
        },
        "lifecycle": {"preStop": {"sleep": {"seconds": draw.choice((1, 2, 4))}}},
    }
    kind = draw.choice(("Deployment", "Deployment", "StatefulSet"))
    workload: Data = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"terminationGracePeriodSeconds": 8, "containers": [container]},
            },
        },
    }
    if kind == "StatefulSet":
        workload["spec"] |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    count = 1 if unready else draw.choice((0, 1, 1, 1, 1, 1, 2))
    budgets = tuple(_budget(draw, name, number, replicas, unready) for number in range(count))
    return Drained(seed, workload, budgets, unready)


def _budget(draw: random.Random, name: str, number: int, replicas: int, unready: bool) -> Data:
    numbers = (0, 1, 1, replicas - 1, replicas, replicas + 1)
    value = draw.choice((*numbers, "0%", "25%", "30%", "50%", "75%", "100%"))
    spec: Data = {
        draw.choice(("minAvailable", "maxUnavailable")): value,
        "selector": {"matchLabels": {"app": name}},
    }
    policy = draw.choice((None, "IfHealthyBudget", "AlwaysAllow")) if unready else None
    if policy:
        spec["unhealthyPodEvictionPolicy"] = policy
    metadata = {"name": f"{name}-{number}", "namespace": "default"}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata,
        "spec": spec,
    }


def predict(case: Drained) -> Result:
    """Return what the model says of the drain, with nothing seen yet."""
    found = Result(case.seed, case.label)
    facts = user_facts(mesh=["none"])
    text = yaml.safe_dump_all([case.workload, *case.budgets])
    app = AppFacts("*", behaviour="graceful")
    (pod,) = plan_files({"web.yaml": text}, replace(facts, apps=(app,))).pods
    noted: PodFacts = pod.facts[PodFacts]
    fleet = noted.fleet
    assert fleet is not None
    assert pod.analysis is not None
    rules = {each.rule for each in check_files({"web.yaml": text}, facts).findings}
    ordered = fleet.replacement is not None and fleet.replacement.ordered
    drain = Drain(fleet.replicas, fleet.nodes.most(fleet.replicas), fleet.allowed, ordered)
    longest = drain.longest(pod.analysis.latest_end, fleet.ready.value)
    found.predicted_blocked = drain.blocked or "SL177" in rules
    found.predicted_least = fleet.replicas if found.predicted_blocked else drain.least_serving
    if longest is not None:
        # Each eviction is tried again after 5 s; the last ones wait once more than they need.
        found.predicted_longest = (longest + EVICTION_RETRY).total_seconds()
    if case.unready:
        # What the model counts are pods that are ready; of those that are not a rule speaks.
        policy = case.budgets[0]["spec"].get("unhealthyPodEvictionPolicy")
        found.predicted_least, found.predicted_longest = 0, None
        found.predicted_blocked = "SL181" in rules or policy == "IfHealthyBudget"
    return found


def compare(node: Node, seeds: range) -> list[Result]:
    """Drain the workloads of these seeds, and compare each with its prediction."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda seed: _run(node, generate(seed)), seeds))


def _run(node: Node, case: Drained) -> Result:
    with _PLANNING:
        found = predict(case)
    try:
        _observe(node, case, found)
    except (OSError, RuntimeError, ApiError) as error:
        found.failure = f"{type(error).__name__}: {error}"
    return found


def _observe(node: Node, case: Drained, found: Result) -> None:
    kind = "deployments" if case.workload["kind"] == "Deployment" else "statefulsets"
    path = f"/apis/apps/v1/namespaces/default/{kind}"
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    node.api.create(path, case.workload)
    for budget in case.budgets:
        node.api.create(budgets, budget)
    replicas = case.workload["spec"]["replicas"]
    with Pods(node, case.name) as pods:
        count = pods.running if case.unready else lambda: len(pods.ready())
        wait(lambda: count() == replicas, "the workload did not start")
        wait(lambda: _are_counted(node, case, budgets), "the budgets were not counted")
        pods.begin()
        _drain(node, pods, found)
        found.least = pods.least
        node.api.delete(f"{path}/{case.name}", {"gracePeriodSeconds": 0})
        for budget in case.budgets:
            node.api.delete(f"{budgets}/{budget['metadata']['name']}")
        wait(lambda: not pods.known, "the workload did not go")


def _are_counted(node: Node, case: Drained, path: str) -> bool:
    """Whether the controller has seen the pods of each budget; of two it counts none."""
    if len(case.budgets) > 1:
        return True
    for budget in case.budgets:
        status = node.api.get(f"{path}/{budget['metadata']['name']}").get("status", {})
        healthy = 0 if case.unready else case.workload["spec"]["replicas"]
        if status.get("currentHealthy") != healthy or "expectedPods" not in status:
            return False
    return True


def _drain(node: Node, pods: Pods, found: Result) -> None:
    """Evict the pods that are there now, until all have gone or nothing is allowed for long."""
    waiting = {uid: pod["metadata"]["name"] for uid, pod in pods.known.items()}
    begin = last = next_try = time.monotonic()
    while any(uid in pods.known for uid in waiting):
        if time.monotonic() >= next_try:
            next_try += EVICTION_RETRY.total_seconds()
            there = [uid for uid in waiting if uid in pods.known]
            for uid in there:
                ending = "deletionTimestamp" in pods.known.get(uid, {"metadata": {}})["metadata"]
                if not ending and _evict(node, waiting[uid], uid):
                    last = time.monotonic()
        if time.monotonic() - last > _PATIENCE:
            found.blocked = True
            return
        time.sleep(0.1)
    found.took = round(time.monotonic() - begin, 2)


def _evict(node: Node, name: str, uid: str) -> bool:
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": "default"},
        "deleteOptions": {"preconditions": {"uid": uid}},
    }
    try:
        node.api.create(f"/api/v1/namespaces/default/pods/{name}/eviction", body)
    except ApiError as error:
        # 429: the budget; 500: two budgets; 404 and 409: it has gone meanwhile.
        if error.code not in (404, 409, 429, 500):
            raise
        return False
    return True
