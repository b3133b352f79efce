"""Streams of clients: what shows them, what they hold open, and that their length is no p99."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import dedent, run

if TYPE_CHECKING:
    from pathlib import Path

CHAT = dedent("""
    apiVersion: v1
    kind: Service
    metadata: {name: chat, namespace: shop}
    spec:
      selector: {app: chat}
      ports: [%s]
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: chat, namespace: shop}
    spec:
      replicas: 2
      selector: {matchLabels: {app: chat}}
      template:
        metadata:
          labels: {app: chat, sidecar.istio.io/inject: "true"}
          annotations:
            proxy.istio.io/config: |
              proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: "true"}
        spec:
          terminationGracePeriodSeconds: 16
          containers:
            - name: app
              image: shop/chat:1
              ports: [{containerPort: 8080}]
              lifecycle: {preStop: {sleep: {seconds: 12}}}
""")
WEBSOCKET = "{name: ws, port: 80, targetPort: 8080}"
MESH = "--mesh=istio=1.24"


def explain(folder: Path, *options: str, port: str = WEBSOCKET) -> dict[str, Any]:
    (folder / "chat.yaml").write_text(CHAT % port)
    code, out, err = run("explain", str(folder), MESH, "--format=json", *options)
    assert code == 0, err
    (workload,) = json.loads(out)["workloads"]
    found: dict[str, Any] = workload
    return found


def proxy_ends(workload: dict[str, Any]) -> float:
    ends = [
        each["at"]
        for each in workload["events"]
        if each["container"] == "istio-proxy" and each["kind"] in ("exits", "killed")
    ]
    return float(ends[-1])


@pytest.mark.parametrize(
    ("option", "ends"),
    [
        # Measured with the real pilot-agent and two Envoys.
        ("--stream=3.5s", 16),
        ("--request=3.5s", 6),
        # Its answer began in the drain: Connection: close.
        ("--stream=3s@0.5s", 6),
        # It is open until then, and its connection after it.
        ("--stream=1s", 16),
    ],
)
def test_the_connection_of_a_stream(option: str, ends: float, tmp_path: Path) -> None:
    assert proxy_ends(explain(tmp_path, option)) == ends


def test_requests_are_served_while_a_connection_holds_the_proxy(tmp_path: Path) -> None:
    late = ("--request=0.5s@6.5s", "--request=0.5s@9.5s")
    with_stream = explain(tmp_path, "--stream=3.5s", *late)["requests"]
    assert {each["outcome"] for each in with_stream} == {"ok"}
    without = explain(tmp_path, *late, "--open-connections=0")["requests"]
    assert {each["outcome"] for each in without} == {"refused"}


@pytest.mark.parametrize(
    ("port", "shown"),
    [
        (WEBSOCKET, True),
        ("{name: grpc-api, port: 80}", True),
        ("{name: api, appProtocol: kubernetes.io/ws, port: 80}", True),
        ("{name: ws, appProtocol: http, port: 80}", False),
        ("{name: http, port: 80}", False),
        ("{port: 80}", False),
    ],
)
def test_ports_show_streams(port: str, shown: bool, tmp_path: Path) -> None:
    (tmp_path / "chat.yaml").write_text(CHAT % port)
    _, out, _ = run("explain", str(tmp_path), MESH)
    assert ("a stream outlives any grace period" in out) is shown
    assert ("istio-proxy waits for it until 16s: try --stream" in out) is shown


def test_an_hour_is_no_p99_of_requests(tmp_path: Path) -> None:
    found = explain(tmp_path, "--p99=1h")
    assert any("p99 1h is taken as the length of streams" in each for each in found["assumed"])
    _, out, _ = run("suggest", str(tmp_path), MESH, "--p99=1h")
    assert "36" not in out
    _, out, _ = run("check", str(tmp_path), MESH, "--p99=1h")
    assert "SL101" not in out
    found = explain(tmp_path, "--p99=1h", port="{name: http, port: 80}")
    assert not any("streams" in each for each in found["assumed"])
