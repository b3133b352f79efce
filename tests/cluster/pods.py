"""Random pods on the node: their events and requests, beside what ``explain`` says of them."""

from __future__ import annotations

import copy
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.platforms.versions import Version
from tests.cluster.api import ApiError
from tests.cluster.explain import Explained, explain
from tests.cluster.images import SERVER, SHELLS
from tests.cluster.node import FOLDER
from tests.cluster.observe import ContainerExits, read_log
from tests.cluster.requests import Sent, send

if TYPE_CHECKING:
    from tests.cluster.node import Node

Data = dict[str, Any]
PATH: Final = "/api/v1/namespaces/default/pods"
#: The pods that run at the same time, and how far an event may be from its prediction.
AT_ONCE: Final = 24
TOLERANCE: Final = 0.7
_FIRST_PORT: Final = 20000
#: Earlier seeds stay what they were when their results were written down.
_LATE_FIELDS_FROM: Final = 5000
_START_SECONDS: Final = 90.0


class Case(Struct, frozen=True):
    """A pod: its manifest, what the user says of its programs, how it is deleted, and requests.

    ``logged`` are the containers whose server writes down its stop signal. ``grace`` is that of the
    deletion, if it is not the pod's own.
    """

    seed: int
    manifest: Data
    apps: dict[str, str]
    logged: tuple[str, ...]
    requests: tuple[tuple[float, float, bool], ...]
    port: int
    grace: int | None = None
    evicted: bool = False
    ephemeral: bool = False

    @property
    def name(self) -> str:
        """The name of the pod."""
        name: str = self.manifest["metadata"]["name"]
        return name

    @property
    def kinds(self) -> list[str]:
        """What is special of it, for the table."""
        spec = self.manifest["spec"]
        found = [f"{len(spec['containers'])} containers"]
        found += ["native sidecar"] * bool(spec.get("initContainers"))
        found += ["eviction"] * self.evicted + ["delete option"] * (self.grace is not None)
        found += ["ephemeral container"] * self.ephemeral
        first = spec["containers"][0]
        found += ["liveness probe that fails"] * ("livenessProbe" in first)
        found += [name for name in ("hostNetwork", "shareProcessNamespace") if spec.get(name)]
        return found


class Comparison(Struct):
    """The events and requests of one pod: predictions, and what was seen."""

    seed: int
    events: list[tuple[str, str, float, float | None]] = field(default_factory=list)
    requests: list[tuple[tuple[float, float, bool], tuple[str, ...], str]] = field(
        default_factory=list
    )
    unsure: int = 0
    failure: str = ""

    @property
    def wrong_events(self) -> list[tuple[str, str, float, float | None]]:
        """Those that are too far from their prediction."""
        return [e for e in self.events if e[3] is None or abs(e[2] - e[3]) > TOLERANCE]

    @property
    def wrong_requests(self) -> list[tuple[tuple[float, float, bool], tuple[str, ...], str]]:
        """Those that ended in none of the ways that are named."""
        return [r for r in self.requests if (r[2] == "ok") not in {each == "ok" for each in r[1]}]


def generate(seed: int) -> Case:
    """Return the pod of a seed."""
    draw = random.Random(seed)
    name, port = f"pod-{seed}", _FIRST_PORT + seed % 10000
    host_network = draw.random() < 0.08
    serving_port = port if host_network else 8080
    grace = draw.choice((0, 1, 2, 3, 4, 6, 8, 10, 12, 15))
    other = draw.choice((None, None, None, 2, 5, 9)) if grace else None
    # A sleep action has to fit into both.
    least = grace if other is None else min(grace, other)
    apps: dict[str, str] = {}
    logged: list[str] = []
    containers = [
        make_container(draw, f"c{number}", name, apps, logged, least, 0 if number else serving_port)
        for number in range(draw.choice((1, 1, 2, 2, 3, 4)))
    ]
    containers[0]["ports"] = [{"containerPort": serving_port, "hostPort": port}]
    sidecars = [
        {**make_container(draw, f"s{number}", name, apps, logged, least), "restartPolicy": "Always"}
        for number in range(draw.choice((0, 0, 0, 1, 1, 2)))
    ]
    if sidecars and draw.random() < 0.3:
        init = {"name": "init", "image": SERVER, "command": ["true"], "imagePullPolicy": "Never"}
        sidecars.insert(draw.randrange(len(sidecars) + 1), init)
    shared = not host_network and draw.random() < 0.08
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {
            "terminationGracePeriodSeconds": grace,
            "restartPolicy": draw.choice(("Always", "Always", "OnFailure", "Never")),
            "containers": containers,
            **({"initContainers": sidecars} if sidecars else {}),
            **({"hostNetwork": True} if host_network else {}),
            **({"shareProcessNamespace": True} if shared else {}),
            "volumes": log_volumes(name),
        },
    }
    end = grace + 4
    requests = [(0.0, draw.randrange(0, end) + 0.5, False) for _ in range(draw.choice((0, 1, 2)))]
    requests += [
        (draw.randrange(0, end) + 0.5, float(draw.randrange(0, 4)), draw.random() < 0.25)
        for _ in range(draw.choice((0, 1, 2, 3)))
    ]
    serves = containers[0]["name"] in logged
    ephemeral = _add_late_fields(seed, manifest, containers, apps, serving_port)
    return Case(
        seed,
        manifest,
        apps,
        tuple(logged),
        tuple(requests) if serves else (),
        port,
        other,
        draw.random() < 0.1,
        ephemeral,
    )


def _add_late_fields(
    seed: int,
    manifest: Data,
    containers: list[Data],
    apps: dict[str, str],
    port: int,
) -> bool:
    """Add what seeds from 5000 on have too; returns whether there is an ephemeral container.

    A liveness probe fails once the server has closed its listener: nothing follows from it while
    the pod ends.
    """
    draw = random.Random(-seed)
    if seed < _LATE_FIELDS_FROM:
        return False
    if "c0" in apps and draw.random() < 0.6:
        containers[0]["livenessProbe"] = {
            "tcpSocket": {"port": port},
            "periodSeconds": 1,
            "failureThreshold": 1,
            "terminationGracePeriodSeconds": draw.choice((1, 30)),
        }
    manifest["metadata"]["annotations"] = {"seed": str(seed)}
    return draw.random() < 0.5


def adapt(case: Case, version: str) -> Case:
    """Return the pod without native sidecars and sleep actions, where a release has neither."""
    if Version.parse(version) >= Version(1, 30, 0):
        return case
    manifest = copy.deepcopy(case.manifest)
    manifest["spec"].pop("initContainers", None)
    for container in manifest["spec"]["containers"]:
        if "sleep" in container.get("lifecycle", {}).get("preStop", {}):
            del container["lifecycle"]
    names = {container["name"] for container in manifest["spec"]["containers"]}
    return replace(
        case,
        manifest=manifest,
        apps={name: app for name, app in case.apps.items() if name in names},
        logged=tuple(name for name in case.logged if name in names),
    )


_IDLE: Final = (
    ["sleep", "100000"],
    ["sh", "-c", "sleep 100000; echo x"],
    ["sh", "-c", "while true; do sleep 1; done"],
    ["tail", "-f", "/dev/null"],
)


def log_volumes(pod: str) -> list[Data]:
    """Return the volumes of a pod, whose servers write down their signals in the node's folder."""
    path = {"path": f"{FOLDER}/logs/{pod}", "type": "DirectoryOrCreate"}
    return [{"name": "log", "hostPath": path}]


def make_container(
    draw: random.Random,
    name: str,
    pod: str,
    apps: dict[str, str],
    logged: list[str],
    grace: int,
    port: int = 0,
) -> Data:
    """Return a container: the server in one of its modes, or what only waits."""
    image = draw.choice((SERVER, SERVER, SHELLS))
    mode = draw.choice(("graceful", "graceful", "graceful", "ignore", "abrupt"))
    port = port or draw.randrange(10000, 19999)
    server = ["/server", "-mode", mode, "-port", str(port)]
    start = draw.random()
    if start < 0.72:
        command = server
    elif start < 0.86:
        command = ["sh", "-c", "exec " + " ".join(server)]
    else:
        command = draw.choice(_IDLE)
    container: Data = {
        "name": name,
        "image": image,
        "imagePullPolicy": "Never",
        "command": command,
        "volumeMounts": [{"name": "log", "mountPath": "/log"}],
        "env": [{"name": "LOG", "value": f"/log/{name}"}],
    }
    if command not in _IDLE:
        apps[name] = {"graceful": "graceful", "ignore": "ignoring", "abrupt": "abrupt"}[mode]
        if mode != "abrupt" or name == "c0":
            logged.append(name)
    hook = _hook(draw, port if command not in _IDLE else 0, grace)
    if hook is not None:
        container["lifecycle"] = {"preStop": hook}
    if command not in _IDLE and draw.random() < 0.15:
        container["readinessProbe"] = {
            "httpGet": {"path": "/ready", "port": port},
            "periodSeconds": 1,
        }
    return container


def _hook(draw: random.Random, port: int, grace: int) -> Data | None:
    seconds = draw.choice((0, 1, 2, 3, 5, 7, 9, 14))
    slept = draw.randrange(0, grace) if grace else 0  # a longer one is rejected
    kinds: list[Data | None] = [
        None,
        None,
        None,
        {"sleep": {"seconds": slept}},
        {"exec": {"command": ["sleep", str(seconds)]}},
        {"exec": {"command": ["sh", "-c", f"sleep {seconds}"]}},
        {"exec": {"command": ["sh", "-c", f"echo bye; sleep {seconds}; true"]}},
        {"exec": {"command": ["sh", "-c", f"sleep {seconds} & exit 0"]}},
        {"exec": {"command": ["sh", "-c", f"sleep {seconds} >/dev/null 2>&1 & exit 0"]}},
        {"exec": {"command": ["sh", "-c", "for i in 1 2 3; do sleep 1; done"]}},
        {"exec": {"command": ["false"]}},
        {"exec": {"command": ["/missing"]}},
        {"exec": {"command": ["sh", "-c", f"sleep {seconds}; exit 3"]}},
        {"exec": {"command": ["sh", "-c", "sleep 1000"]}},
        {"exec": {"command": [f"sleep {seconds}"]}},
        {"exec": {"command": ["sh", "-c", f"kill -TERM 1; sleep {seconds}"]}},
        {"exec": {"command": ["sh", "-c", f"sleep 1; kill -s TERM 1 && sleep {seconds}"]}},
    ]
    if port:
        kinds += [
            {"tcpSocket": {"port": port}},
            {"httpGet": {"path": "/", "port": port}},
            {"exec": {"command": ["sh", "-c", f"killall server; sleep {seconds}"]}},
        ]
    return draw.choice(kinds)


def compare(node: Node, seeds: range) -> list[Comparison]:
    """Run the pods of these seeds, and compare each with its explanation.

    A batch of pods starts, and is deleted once all of them run: a kubelet that starts containers
    is late with others' stop signals.
    """
    found: list[Comparison] = []
    with ContainerExits(node) as exits, ThreadPoolExecutor(AT_ONCE) as pool:
        remaining = iter(seeds)
        while batch := list(islice(remaining, AT_ONCE)):
            ready = threading.Barrier(len(batch))
            cases = (adapt(generate(seed), node.version) for seed in batch)
            runs = [_Run(node, exits, case, ready) for case in cases]
            found += pool.map(_Run.run, runs)
    return found


class _Run:
    """The run of one pod, beside others that wait for one another."""

    def __init__(
        self, node: Node, exits: ContainerExits, case: Case, ready: threading.Barrier
    ) -> None:
        self._node, self._exits, self._case, self._ready = node, exits, case, ready
        self._found = Comparison(case.seed)

    def run(self) -> Comparison:
        """Return the prediction for the pod, and what was seen."""
        try:
            case = self._case
            explained = explain(
                case.manifest, case.apps, case.requests, case.grace, self._node.version
            )
            self._node.api.create(PATH, case.manifest)
            ids = _wait_until_running(self._node, case)
        except (OSError, RuntimeError, ApiError) as error:
            self._found.failure = f"{type(error).__name__}: {error}"
            self._ready.wait()
            return self._found
        if case.ephemeral:
            self._add_ephemeral(case)
        number = self._ready.wait()
        time.sleep(1.5 + 0.4 * number)
        try:
            _observe(self._node, self._exits, case, explained, ids, self._found)
        except (OSError, RuntimeError, ApiError) as error:
            self._found.failure = f"{type(error).__name__}: {error}"
        return self._found

    def _add_ephemeral(self, case: Case) -> None:
        container = {
            "name": "debug",
            "image": SERVER,
            "imagePullPolicy": "Never",
            "command": ["sleep", "100000"],
        }
        path = f"{PATH}/{case.name}/ephemeralcontainers"
        self._node.api.patch(path, {"spec": {"ephemeralContainers": [container]}})
        time.sleep(2)


def _observe(
    node: Node,
    exits: ContainerExits,
    case: Case,
    explained: Explained,
    ids: dict[str, str],
    found: Comparison,
) -> None:
    senders = [Sent(case.port, *each) for each in case.requests]
    for sender in senders:
        sender.connect_early()
    in_flight = [each for each in senders if not each.arrival]
    for sender in in_flight:
        sender.start()
    time.sleep(0.3 if in_flight else 0.05)
    options = {} if case.grace is None else {"gracePeriodSeconds": case.grace}
    begin = time.time()
    if case.evicted:
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": case.name, "namespace": "default"},
            "deleteOptions": options,
        }
        node.api.create(f"{PATH}/{case.name}/eviction", body)
    else:
        node.api.delete(f"{PATH}/{case.name}", options or None)
    threads = [threading.Thread(target=send, args=(each, begin)) for each in senders]
    for thread in threads:
        thread.start()
    ended = exits.wait(ids.values(), explained.end + 15)
    for thread in threads:
        thread.join()
    note_events(case, explained, ids, ended, begin, found)
    for sender, outcomes in zip(senders, explained.outcomes, strict=True):
        key = (sender.arrival, sender.duration, sender.reused)
        if "unknown" in outcomes:
            found.unsure += 1
        else:
            found.requests.append((key, outcomes, sender.outcome))


def note_events(
    case: Case,
    explained: Explained,
    ids: dict[str, str],
    ended: dict[str, float],
    begin: float,
    found: Comparison,
) -> None:
    """Note the predicted and the seen times of the stop signals and ends, after ``begin``."""
    for name, container_id in ids.items():
        if name in explained.unsure:
            found.unsure += 1
            continue
        exit_at = ended.get(container_id)
        for kind, predicted in explained.events.get(name, {}).items():
            if kind == "exit":
                found.events.append(
                    (name, "exit", predicted, exit_at and round(exit_at - begin, 2))
                )
            elif name in case.logged and case.apps.get(name) != "abrupt":
                logs = read_log(case.name, name)
                seen = logs.get("signal")
                found.events.append((name, kind, predicted, seen and round(seen - begin, 2)))


def _wait_until_running(node: Node, case: Case) -> dict[str, str]:
    """Return the ids of the containers, once all run and the first one listens."""
    deadline = time.monotonic() + _START_SECONDS
    spec = case.manifest["spec"]
    wanted = {c["name"] for c in spec["containers"]}
    wanted |= {c["name"] for c in spec.get("initContainers", ()) if c.get("restartPolicy")}
    while time.monotonic() < deadline:
        status = node.api.get(f"{PATH}/{case.name}")["status"]
        every = status.get("containerStatuses", []) + status.get("initContainerStatuses", [])
        running = {
            each["name"]: each["containerID"].rpartition("/")[2]
            for each in every
            if "running" in each.get("state", {}) and each["name"] in wanted
        }
        listens = all("start" in read_log(case.name, name) for name in case.apps)
        if set(running) == wanted and listens:
            return running
        time.sleep(0.5)
    raise TimeoutError(f"{case.name} did not start")
