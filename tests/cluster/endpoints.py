"""When Services stop sending requests to a pod that is deleted, measured on the node.

Two pods stand behind a Service, and one of them is deleted while requests arrive. It goes on serving
for some seconds, so every request that still reaches it is answered, and by its name.
"""

from __future__ import annotations

import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from tests.cluster.images import SERVER
from tests.cluster.node import NODE_ADDRESS
from tests.cluster.rollouts import Pods, wait

if TYPE_CHECKING:
    from tests.cluster.node import Node

Data = dict[str, Any]
RATE: Final = 100
_NODE_PORT: Final = 32100
_SERVICES: Final = "/api/v1/namespaces/default/services"
_DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
#: The deleted pods serve for so long; what reaches them later is lost.
_SERVES: Final = 6


class Measured(Struct):
    """The seconds after the deletion of a pod, one for each deletion.

    ``marked``: its EndpointSlice says that it is terminating. ``last``: the last new connection
    reaches it. ``kept``: a connection that a client keeps open is closed.
    """

    what: str
    marked: list[float] = field(default_factory=list)
    last: list[float] = field(default_factory=list)
    kept: list[float] = field(default_factory=list)
    sent: int = 0
    lost: int = 0


def measure(node: Node, times: int) -> list[Measured]:
    """Measure with one Service and with 500, with not-ready addresses, and for an only pod.

    Requests go to the node's address in its own network: kube-proxy's nftables mode serves no port
    on the loopback address.
    """
    found = [_measure(node, "one Service", times)]
    others = [_service(f"other-{number}", 0) for number in range(499)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda body: node.api.create(_SERVICES, body), others))
        time.sleep(5)
        found.append(_measure(node, "500 Services", times))
        names = [body["metadata"]["name"] for body in others]
        list(pool.map(lambda name: node.api.delete(f"{_SERVICES}/{name}"), names))
    time.sleep(3)
    found.append(
        _measure(node, "publishNotReadyAddresses", times, {"publishNotReadyAddresses": True})
    )
    found.append(_measure(node, "an only pod", times, replicas=1))
    return found


def _service(name: str, port: int, more: Data | None = None) -> Data:
    spec: Data = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}
    if port:
        spec["type"] = "NodePort"
        spec["ports"][0]["nodePort"] = port
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": spec | (more or {}),
    }


def _deployment(replicas: int) -> Data:
    container = {
        "name": "app",
        "image": SERVER,
        "imagePullPolicy": "Never",
        "command": ["/server"],
        "ports": [{"containerPort": 8080}],
        "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 1},
        "lifecycle": {"preStop": {"sleep": {"seconds": _SERVES}}},
    }
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"terminationGracePeriodSeconds": 20, "containers": [container]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": replicas,
            # An only pod's replacement comes only after it, as with Recreate.
            "minReadySeconds": 0,
            "selector": {"matchLabels": {"app": "web"}},
            "template": template,
        },
    }


def _measure(
    node: Node, what: str, times: int, more: Data | None = None, replicas: int = 2
) -> Measured:
    found = Measured(what)
    node.api.create(_DEPLOYMENTS, _deployment(replicas))
    node.api.create(_SERVICES, _service("web", _NODE_PORT, more))
    with Pods(node, "web") as pods, Slices(node) as slices:
        for _ in range(times):
            wait(lambda: len(pods.known) == len(pods.ready()) == replicas, "the pods did not start")
            time.sleep(1.5)
            _delete_one(node, pods, slices, found, only=replicas == 1)
        node.api.delete(f"{_DEPLOYMENTS}/web", {"gracePeriodSeconds": 0})
        node.api.delete(f"{_SERVICES}/web")
        wait(lambda: not pods.known, "the pods did not go")
    return found


def _delete_one(node: Node, pods: Pods, slices: Slices, found: Measured, *, only: bool) -> None:
    name = next(iter(pods.known.values()))["metadata"]["name"]
    kept = _keep(name)
    begin = time.time()
    if only:
        # Its replacement is not to be ready while it ends.
        node.api.patch(f"{_DEPLOYMENTS}/web", {"spec": {"replicas": 0}})
    else:
        node.api.delete(f"/api/v1/namespaces/default/pods/{name}")
    closed: list[float] = []
    watching = threading.Thread(target=lambda: closed.append(_closed_at(kept) - begin))
    watching.start()
    answers: list[tuple[float, str]] = []

    def ask(at: float) -> None:
        answers.append((at, _who_answers()))

    with ThreadPoolExecutor(32) as pool:
        for number in range(RATE * (_SERVES + 2)):
            time.sleep(max(0.0, begin + number / RATE - time.time()))
            at = time.time() - begin
            pool.submit(ask, at)
    watching.join()
    reached = [at for at, who in answers if who == name]
    found.sent += len(answers)
    found.lost += sum(not who for at, who in answers if not only or at < _SERVES - 0.2)
    found.last.append(round(max(reached, default=0.0), 3))
    found.kept.append(round(closed[0], 2))
    marked = slices.terminating.get(name)
    if marked is not None:
        found.marked.append(round(marked - begin, 3))
    if only:
        node.api.patch(f"{_DEPLOYMENTS}/web", {"spec": {"replicas": 1}})


def _who_answers() -> str:
    """Return the name of the pod that answers on a new connection, empty for none."""
    try:
        with socket.create_connection((NODE_ADDRESS, _NODE_PORT), 2) as connection:
            return _ask(connection)
    except OSError:
        return ""


def _ask(connection: socket.socket) -> str:
    connection.settimeout(3)
    connection.sendall(b"GET /?0 HTTP/1.1\r\nHost: app\r\n\r\n")
    data = connection.recv(4096)
    return data.rpartition(b"\r\n\r\n")[2].decode()


def _keep(pod: str) -> socket.socket:
    """Return a connection to a pod, once the Service has chosen it."""
    while True:
        connection = socket.create_connection((NODE_ADDRESS, _NODE_PORT), 2)
        if _ask(connection) == pod:
            return connection
        connection.close()


def _closed_at(connection: socket.socket) -> float:
    """Use a kept connection until it ends; returns the time of day."""
    with connection:
        while True:
            try:
                if not _ask(connection):
                    return time.time()
            except OSError:
                return time.time()
            time.sleep(0.1)


class Slices:
    """Watches EndpointSlices: when each pod is first marked as terminating."""

    def __init__(self, node: Node) -> None:
        self._node, self._stop = node, threading.Event()
        self.terminating: dict[str, float] = {}

    def __enter__(self) -> Slices:
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def _read(self) -> None:
        path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
        for at, _, item in self._node.api.watch(path, self._stop):
            if not item["metadata"]["name"].startswith("web-"):
                continue
            for endpoint in item.get("endpoints") or ():
                if endpoint.get("conditions", {}).get("terminating"):
                    self.terminating.setdefault(endpoint["targetRef"]["name"], at)
