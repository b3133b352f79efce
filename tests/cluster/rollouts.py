"""Rollouts and scale-ins on the node: the pods that serve meanwhile, and the requests that are lost.

The counts are those of ``explain``: the fewest pods that are ready and not being deleted, how long
the rollout takes at most, the order in which pods go, and how many requests a rate loses at most.
"""

from __future__ import annotations

import copy
import random
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import yaml
from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.linter.verdicts import WeeklyLoss, judge_pod
from shutdownlint.platforms.pods.pod_facts import PodFacts
from shutdownlint.platforms.user_facts import AppFacts
from shutdownlint.platforms.versions import Version
from shutdownlint.shutdown.durations import ZERO, seconds
from tests.cluster.api import ApiError
from tests.cluster.binaries import VERSION
from tests.cluster.images import SERVER
from tests.helpers import plan_files, user_facts
from tests.programs.client import OK, ask_once

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cluster.node import Node

Data = dict[str, Any]
AT_ONCE: Final = 4
#: Requests a second; each takes this many seconds.
RATE: Final = 30
LENGTH: Final = 0.2
_FIRST_NODE_PORT: Final = 30100
_PLURALS: Final = {
    "Deployment": "deployments",
    "StatefulSet": "statefulsets",
    "DaemonSet": "daemonsets",
}
_LIMIT: Final = 180.0
#: Earlier seeds stay what they were when their results were written down.
_LATE_KINDS_FROM: Final = 5000


class Rollout(Struct, frozen=True):
    """A workload behind a Service, and what is done to it.

    ``event`` is restart, twice (a second change during the first rollout) or scale-in.
    """

    seed: int
    manifest: Data
    behaviour: str
    event: str
    port: int
    least_left: int = 0
    flaps: bool = False

    @property
    def replicas(self) -> int:
        """The number of its pods; a DaemonSet has one on the only node."""
        number: int = self.manifest["spec"].get("replicas", 1)
        return number

    @property
    def name(self) -> str:
        """The name of the workload, and of its Service."""
        return f"web-{self.seed}"

    @property
    def kind(self) -> str:
        """The kind of the workload."""
        kind: str = self.manifest["kind"]
        return kind

    @property
    def label(self) -> str:
        """The kind, its strategy and the event, for the table."""
        spec = self.manifest["spec"]
        way = spec.get("strategy", spec.get("updateStrategy", {})).get("type", "RollingUpdate")
        parallel = " in parallel" if spec.get("podManagementPolicy") == "Parallel" else ""
        surge = spec.get("updateStrategy", {}).get("rollingUpdate", {}).get("maxSurge")
        first = " with surge" if self.kind == "DaemonSet" and surge else ""
        flaps = " with readiness that flaps" if self.flaps else ""
        return f"{self.kind} {way}{parallel}{first}{flaps}, {self.event}"


class Predicted(Struct, frozen=True):
    """What ``explain`` says of the workload: pods, seconds, and requests lost at the most.

    ``least`` are ready, or, where readiness flaps, are there and not being deleted. None: it says
    nothing of that.
    """

    least: int
    longest: float | None
    lost: float | None
    in_order: bool


class Outcome(Struct):
    """The prediction for a workload, and what was seen."""

    seed: int
    label: str
    predicted: Predicted | None = None
    least: int = -1
    took: float = -1.0
    lost: int = -1
    sent: int = 0
    order: list[str] = field(default_factory=list)
    overlaps: bool = False
    failure: str = ""

    @property
    def misses(self) -> list[str]:
        """The statements that did not hold."""
        predicted, found = self.predicted, []
        if predicted is None:
            return []
        if self.least < predicted.least:
            found.append(f"{self.least} pods served, at least {predicted.least} were predicted")
        # A pod that has ended is gone about a second later, and only then the next one goes.
        late = 1.5 * max(len(self.order), 1) if predicted.in_order else 1.5
        if predicted.longest is not None and self.took > predicted.longest + late:
            found.append(f"took {self.took:.1f}s, at most {predicted.longest:g}s were predicted")
        if predicted.lost is not None and self.lost > predicted.lost + 2:
            found.append(
                f"{self.lost} of {self.sent} requests lost, at most {predicted.lost:g} were predicted"
            )
        # After a second change, a pod of the first one goes again.
        descending = sorted(self.order, reverse=True)
        in_turn = self.label.endswith("twice") or self.order == descending
        if predicted.in_order and (self.overlaps or not in_turn):
            found.append(f"pods did not go one after the other: {', '.join(self.order)}")
        return found

    @property
    def is_exact(self) -> bool:
        """Whether just as many pods served as the least that is predicted."""
        return self.predicted is not None and self.least == self.predicted.least


def generate(seed: int) -> Rollout:
    """Return the workload of a seed."""
    case = _generate(seed)
    if seed < _LATE_KINDS_FROM:
        return case
    draw = random.Random(-seed)
    chosen = draw.random()
    if chosen < 0.3:
        return _as_daemon_set(case, draw)
    if chosen < 0.6 and case.event != "scale-in":
        return _with_flaps(case, draw)
    return case


def _as_daemon_set(case: Rollout, draw: random.Random) -> Rollout:
    """Return the pod as that of a DaemonSet: one, on the only node."""
    manifest = copy.deepcopy(case.manifest)
    spec = manifest["spec"]
    for key in ("replicas", "strategy", "serviceName", "podManagementPolicy", "updateStrategy"):
        spec.pop(key, None)
    if draw.random() < 0.5:
        spec["updateStrategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    manifest["kind"] = "DaemonSet"
    event = "restart" if case.event == "scale-in" else case.event
    return replace(case, manifest=manifest, event=event, least_left=0)


def _with_flaps(case: Rollout, draw: random.Random) -> Rollout:
    """Return the same with a readiness that changes every few seconds."""
    manifest = copy.deepcopy(case.manifest)
    manifest["spec"]["minReadySeconds"] = 0  # it would never be over
    (container,) = manifest["spec"]["template"]["spec"]["containers"]
    container["command"] += ["-flaps", f"{draw.choice((3, 5))}s"]
    container["readinessProbe"] = {
        "httpGet": {"path": "/ready", "port": 8080},
        "periodSeconds": 1,
        "failureThreshold": 1,
    }
    return replace(case, manifest=manifest, flaps=True)


def _generate(seed: int) -> Rollout:
    draw = random.Random(seed)
    kind = draw.choice(("Deployment", "Deployment", "StatefulSet"))
    replicas, grace = draw.randrange(1, 5), draw.choice((4, 6, 8))
    mode = draw.choice(("graceful", "graceful", "abrupt", "ignore"))
    start = draw.choice((0, 0, 1, 3))
    container: Data = {
        "name": "app",
        "image": SERVER,
        "imagePullPolicy": "Never",
        "command": ["/server", "-mode", mode, "-start", f"{start}s"],
        "ports": [{"containerPort": 8080}],
    }
    if draw.random() < 0.8:
        container["readinessProbe"] = {
            "httpGet": {"path": "/ready", "port": 8080},
            "periodSeconds": draw.choice((1, 2)),
            "initialDelaySeconds": start + draw.choice((0, 0, 2)),
        }
    if draw.random() < 0.5:
        container["lifecycle"] = {"preStop": {"sleep": {"seconds": draw.choice((1, 3))}}}
    event = draw.choice(("restart", "restart", "restart", "twice", "scale-in"))
    if event == "scale-in":
        replicas = max(replicas, 2)
    name = f"web-{seed}"
    spec: Data = {
        "replicas": replicas,
        "minReadySeconds": draw.choice((0, 0, 0, 2)),
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"terminationGracePeriodSeconds": grace, "containers": [container]},
        },
    }
    if kind == "Deployment":
        spec["strategy"] = _strategy(draw)
    else:
        spec["serviceName"] = name
        spec["podManagementPolicy"] = draw.choice(("OrderedReady", "Parallel"))
        if draw.random() < 0.3:
            partition = draw.randrange(0, replicas)
            spec["updateStrategy"] = {"rollingUpdate": {"partition": partition}}
    manifest = {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }
    left = draw.randrange(0, replicas) if event == "scale-in" else 0
    return Rollout(seed, manifest, mode, event, _FIRST_NODE_PORT + seed % 2000, left)


def adapt(case: Rollout, version: str) -> Rollout:
    """Return the workload with a command in place of a sleep action, where a release has none."""
    if Version.parse(version) >= Version(1, 30, 0):
        return case
    manifest = copy.deepcopy(case.manifest)
    for container in manifest["spec"]["template"]["spec"]["containers"]:
        if "lifecycle" in container:
            length = container["lifecycle"]["preStop"]["sleep"]["seconds"]
            container["lifecycle"] = {"preStop": {"exec": {"command": ["sleep", str(length)]}}}
    return replace(case, manifest=manifest)


def _strategy(draw: random.Random) -> Data:
    if draw.random() < 0.2:
        return {"type": "Recreate"}
    pairs = ((1, 0), (0, 1), (2, 1), ("25%", "25%"), (0, "50%"), (0, "100%"), ("100%", 0), (1, 2))
    surge, gone = draw.choice(pairs)
    return {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": gone}}


def service(case: Rollout) -> Data:
    """Return the Service of a workload, reached at a port of 127.0.0.1."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": case.name, "namespace": "default"},
        "spec": {
            "type": "NodePort",
            "selector": {"app": case.name},
            "ports": [{"port": 80, "targetPort": 8080, "nodePort": case.port}],
        },
    }


def predict(case: Rollout, version: str = VERSION) -> Predicted:
    """Return what the model says of the event."""
    known = {"graceful": "graceful", "ignore": "ignoring", "abrupt": "abrupt"}[case.behaviour]
    app = AppFacts("*", behaviour=known, rate=float(RATE), p99=seconds(LENGTH))
    facts = replace(user_facts(kubernetes=version, mesh=["none"]), apps=(app,))
    text = yaml.safe_dump_all([case.manifest, service(case)])
    (pod,) = plan_files({"web.yaml": text}, facts).pods
    assert pod.analysis is not None, pod.rejections
    noted: PodFacts = pod.facts[PodFacts]
    if case.kind == "DaemonSet":
        assert noted.rollout is not None
        # Of a node's pod only the order is predicted: the old one ends first, or it does not.
        return Predicted(0 if noted.rollout.value.waits else 1, None, None, False)
    assert noted.fleet is not None
    fleet, shutdown = noted.fleet, pod.analysis.latest_end
    weekly = judge_pod(pod, facts).weekly
    assert weekly is not None
    replicas = fleet.replicas
    in_order = case.kind == "StatefulSet" and not _is_parallel(case)
    if case.event == "scale-in":
        going = replicas - case.least_left
        longest = shutdown * (going if in_order else 1)
        lost = weekly.of_a_pod.most * going + (RATE if not case.least_left else 0) * 1000
        return Predicted(case.least_left, longest.total_seconds(), lost, in_order)
    assert fleet.replacement is not None
    rounds = 2 if case.event == "twice" else 1
    least = fleet.replacement.least_serving
    if case.flaps:
        return Predicted(least, None, None, False)
    longest = fleet.replacement.longest_rollout(shutdown, fleet.ready.value) * rounds
    # A second change is seen by pods of the first one that are not ready yet.
    if case.event == "twice":
        longest += fleet.ready.value + shutdown
    return Predicted(
        least,
        longest.total_seconds() if fleet.replacement.replaced else ZERO.total_seconds(),
        _most_lost(weekly, replicas) * rounds,
        case.kind == "StatefulSet",
    )


def _most_lost(weekly: WeeklyLoss, replicas: int) -> float:
    return weekly.of_a_pod.most * replicas + weekly.without_pods + weekly.before_listening


def _is_parallel(case: Rollout) -> bool:
    return bool(case.manifest["spec"].get("podManagementPolicy") == "Parallel")


def compare(node: Node, seeds: range) -> list[Outcome]:
    """Run the events of these seeds, and compare each with its prediction."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda seed: _run(node, adapt(generate(seed), node.version)), seeds))


def _run(node: Node, case: Rollout) -> Outcome:
    found = Outcome(case.seed, case.label)
    try:
        _observe(node, case, found)
    except (OSError, RuntimeError, ApiError) as error:
        found.failure = f"{type(error).__name__}: {error}"
    return found


def _observe(node: Node, case: Rollout, found: Outcome) -> None:
    with _PLANNING:
        found.predicted = predict(case, node.version)
    path = f"/apis/apps/v1/namespaces/default/{_PLURALS[case.kind]}"
    services = "/api/v1/namespaces/default/services"
    node.api.create(path, case.manifest)
    node.api.create(services, service(case))
    replicas = case.replicas
    with Pods(node, case.name, by_readiness=not case.flaps) as pods:
        wait(lambda: len(pods.ready()) == replicas, "the workload did not start")
        wait(lambda: ask_once(case.port, 0) == OK, "the Service did not answer")
        time.sleep(1.5 + case.manifest["spec"]["minReadySeconds"])
        with Load(case.port) as load:
            time.sleep(1)
            pods.begin()
            _do(node, case, f"{path}/{case.name}", pods)
            found.took = round(pods.wait_until_done(case), 2)
            time.sleep(1)
        found.least, found.order, found.overlaps = pods.least, [*pods.order], pods.overlaps
        found.lost, found.sent = load.lost, load.sent
        node.api.delete(f"{path}/{case.name}", {"gracePeriodSeconds": 0})
        node.api.delete(f"{services}/{case.name}")
        wait(lambda: not pods.known, "the workload did not go")


def _do(node: Node, case: Rollout, path: str, pods: Pods) -> None:
    def restart(mark: str) -> None:
        pods.mark = mark
        annotations = {"metadata": {"annotations": {"restarted": mark}}}
        node.api.patch(path, {"spec": {"template": annotations}})

    if case.event == "scale-in":
        node.api.patch(path, {"spec": {"replicas": case.least_left}})
        return
    restart("1")
    if case.event == "twice":
        time.sleep(1.5)
        restart("2")


class Pods:
    """Watches the pods of a workload."""

    def __init__(self, node: Node, app: str, *, by_readiness: bool = True) -> None:
        self._node, self._app, self._by_readiness = node, app, by_readiness
        self._stop, self._changed = threading.Event(), threading.Condition()
        self.known: dict[str, Data] = {}
        #: When each pod was first seen, and first seen to be deleted, by its name.
        self.created: dict[str, float] = {}
        self.deleted: dict[str, float] = {}
        self.mark = ""
        self.least, self.overlaps = 10**6, False
        self.order: list[str] = []
        self._begun = 0.0

    def __enter__(self) -> Pods:
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def begin(self) -> None:
        """Start to count."""
        with self._changed:
            self._begun = time.time()
            self.least = len(self.ready())

    def ready(self) -> list[Data]:
        """Return the pods that are ready and not being deleted."""
        return [pod for pod in list(self.known.values()) if _is_serving(pod, self._by_readiness)]

    def running(self) -> int:
        """Return how many of the pods run, ready or not."""
        return sum(pod["status"].get("phase") == "Running" for pod in list(self.known.values()))

    def wait_until_done(self, case: Rollout) -> float:
        """Wait until the event is over; returns the seconds since it began.

        A rollout is over once the new pods are ready, a scale-in once the old ones have gone.
        """
        spec, replicas = case.manifest["spec"], case.replicas
        kept: int = spec.get("updateStrategy", {}).get("rollingUpdate", {}).get("partition", 0)

        def is_done() -> bool:
            if case.event == "scale-in":
                return len(self.known) == case.least_left
            new = [pod for pod in self.ready() if _mark(pod) == self.mark]
            return len(new) == replicas - kept and len(self.ready()) == replicas

        wait(is_done, "the event did not end")
        took = time.time() - self._begun
        # Until the old pods have gone too, the requests that they have may be cut.
        wait(lambda: len(self.known) == len(self.ready()), "old pods did not go")
        return took

    def _read(self) -> None:
        path, query = "/api/v1/namespaces/default/pods", f"&labelSelector=app%3D{self._app}"
        for at, kind, pod in self._node.api.watch(path, self._stop, query):
            name = pod["metadata"]["uid"]
            with self._changed:
                self.created.setdefault(pod["metadata"]["name"], at)
                if "deletionTimestamp" in pod["metadata"]:
                    self.deleted.setdefault(pod["metadata"]["name"], at)
                before = self.known.get(name)
                if kind == "DELETED":
                    self.known.pop(name, None)
                else:
                    self.known[name] = pod
                if self._begun:
                    self._count(before, pod, kind)

    def _count(self, before: Data | None, pod: Data, kind: str) -> None:
        self.least = min(self.least, len(self.ready()))
        ending = "deletionTimestamp" in pod["metadata"]
        if ending and kind != "DELETED" and "deletionTimestamp" not in (before or pod)["metadata"]:
            self.order.append(pod["metadata"]["name"])
            others = [p for p in self.known.values() if "deletionTimestamp" in p["metadata"]]
            self.overlaps = self.overlaps or len(others) > 1


def _is_serving(pod: Data, by_readiness: bool) -> bool:
    if "deletionTimestamp" in pod["metadata"]:
        return False
    if not by_readiness:
        return True
    conditions = {c["type"]: c["status"] for c in pod["status"].get("conditions", ())}
    return bool(conditions.get("Ready") == "True")


def _mark(pod: Data) -> str:
    mark: str = pod["metadata"].get("annotations", {}).get("restarted", "")
    return mark


class Load:
    """Sends requests to a port of 127.0.0.1, each on a new connection, and counts the lost ones."""

    def __init__(self, port: int) -> None:
        self._port, self._stop = port, threading.Event()
        self._outcomes: deque[str] = deque()
        self._pool = ThreadPoolExecutor(48)

    def __enter__(self) -> Load:
        self._thread = threading.Thread(target=self._send)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._pool.shutdown()

    @property
    def sent(self) -> int:
        """The number of requests that have ended."""
        return len(self._outcomes)

    @property
    def lost(self) -> int:
        """Those without a whole answer."""
        return sum(outcome != OK for outcome in self._outcomes)

    def _send(self) -> None:
        at = time.monotonic()
        while not self._stop.wait(max(0.0, at - time.monotonic())):
            self._pool.submit(lambda: self._outcomes.append(ask_once(self._port, LENGTH)))
            at += 1 / RATE


_PLANNING: Final = threading.Lock()


def wait(is_so: Callable[[], bool], why: str) -> None:
    """Wait until something is so. Raises ``RuntimeError`` after three minutes."""
    deadline = time.monotonic() + _LIMIT
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError(why)
        time.sleep(0.03)
