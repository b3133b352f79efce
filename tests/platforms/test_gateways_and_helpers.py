"""Ingress controllers, gateways and log collectors, by their flags, variables and images."""

from __future__ import annotations

import pytest

from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.request import Request
from tests.helpers import check_text, dedent, plan_pod_text, rule_lines

POD = """\
    apiVersion: v1
    kind: Pod
    metadata: {name: edge, namespace: edge}
    spec:
      terminationGracePeriodSeconds: 300
      containers:
      - {name: edge, image: IMAGE, MORE}
"""


@pytest.mark.parametrize(
    ("image", "more", "arrival", "length", "outcome"),
    [
        ("quay.io/jcmoraisjr/haproxy-ingress:v1", "args: []", 0, 19, "ok"),
        ("quay.io/jcmoraisjr/haproxy-ingress:v1", "args: []", 0, 21, "cut"),
        ("quay.io/jcmoraisjr/haproxy-ingress:v1", "args: []", 1, 1, "refused"),
        (
            "quay.io/jcmoraisjr/haproxy-ingress:v1",
            "args: [--wait-before-shutdown=9, --shutdown-timeout=9s]",
            8,
            9,
            "ok",
        ),
        (
            "quay.io/jcmoraisjr/haproxy-ingress:v1",
            "args: [--wait-before-shutdown=9, --shutdown-timeout=9s]",
            8,
            11,
            "cut",
        ),
        ("ghcr.io/kedacore/http-add-on-interceptor:0.11.0", "args: []", 4, 30, "ok"),
        ("ghcr.io/kedacore/http-add-on-interceptor:0.11.0", "args: []", 4, 32, "cut"),
        ("ghcr.io/kedacore/http-add-on-interceptor:0.11.0", "args: []", 6, 1, "refused"),
        (
            "ghcr.io/kedacore/http-add-on-interceptor:0.11.0",
            "env: [{name: KEDA_HTTP_DRAIN_TIMEOUT, value: '0'}]",
            4,
            200,
            "ok",
        ),
        ("nginx/nginx-ingress:5.1.0", "args: []", 0, 200, "ok"),
        ("ghcr.io/nginx/nginx-gateway-fabric/nginx:2.1.0", "args: []", 0, 5, "cut"),
        (
            "ghcr.io/nginx/nginx-gateway-fabric/nginx:2.1.0",
            "lifecycle: {stopSignal: SIGQUIT}",
            0,
            5,
            "ok",
        ),
        ("docker.io/emissaryingress/emissary:3.9.1", "args: []", 0, 5, "cut"),
    ],
)
def test_what_gateways_do_with_requests(
    image: str, more: str, arrival: float, length: float, outcome: str
) -> None:
    plan = plan_pod_text(dedent(POD).replace("IMAGE", image).replace("MORE", more)).plan
    assert plan is not None
    request = Request(seconds(arrival), seconds(length))
    (answer,) = ShutdownAnalysis(plan).predict([request])
    assert answer.prediction.outcome.value == outcome


FLUENT_BIT = """\
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: logs, namespace: edge}
    data:
      fluent-bit.conf: |
        [SERVICE]
            Grace GRACE
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: shop, namespace: edge}
    spec:
      volumes: [{name: logs, configMap: {name: logs}}]
      containers:
      - name: app
        image: shop/app:1
        lifecycle: {preStop: {sleep: {seconds: 10}}}
      - name: logs
        image: fluent/fluent-bit:4.2
        volumeMounts: [{name: logs, mountPath: /fluent-bit/etc}]
"""


@pytest.mark.parametrize(("grace", "reported"), [("60", True), ("5", False)])
def test_fluent_bit_has_its_own_grace(grace: str, reported: bool) -> None:
    found = rule_lines(check_text(dedent(FLUENT_BIT).replace("GRACE", grace)).findings)
    assert ("SL124" in [rule for rule, _ in found]) is reported


def test_a_log_collector_serves_nothing() -> None:
    text = dedent(FLUENT_BIT).replace("GRACE", "5")
    plan = plan_pod_text(text).plan
    assert plan is not None
    assert [container.name for container in plan.containers if container.serves] == ["app"]
    assert "SL166" in [rule for rule, _ in rule_lines(check_text(text).findings, notes=True)]


PAUSE = """\
    apiVersion: v1
    kind: Pod
    metadata: {name: zone, namespace: edge, annotations: {linkerd.io/inject: enabled}}
    spec:
      containers:
      - {name: pause, image: "registry.k8s.io/pause:3.10", ports: [{containerPort: 80}]}
"""


def test_the_sidecar_of_a_pause_container_is_the_server() -> None:
    plan = plan_pod_text(dedent(PAUSE)).plan
    assert plan is not None
    assert plan.edge is not None
    assert plan.edge.name == "linkerd-proxy"


def test_only_pause_itself_is_a_pause_container() -> None:
    for image in ("acme/pause-control:1", "acme/pauses:1"):
        plan = plan_pod_text(dedent(PAUSE).replace("registry.k8s.io/pause:3.10", image)).plan
        assert plan is not None
        assert plan.edge is None


BUSYBOX = """\
    apiVersion: v1
    kind: Pod
    metadata: {name: shop, namespace: edge}
    spec:
      containers:
      - name: app
        image: IMAGE
        command: [sh, -c, "gunicorn shop:app\\n"]
"""


@pytest.mark.parametrize(
    ("image", "rule"),
    [("busybox:1.36", "SL109"), ("shop/app:1", "SL110"), ("python:3.12", "SL109")],
)
def test_the_image_names_the_shell(image: str, rule: str) -> None:
    found = rule_lines(check_text(dedent(BUSYBOX).replace("IMAGE", image)).findings, notes=True)
    assert rule in [name for name, _ in found]


def test_a_database_cuts_connections_that_its_clients_open_again() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata: {name: cache, labels: {app: cache}}
spec:
  containers: [{name: redis, image: "redis:7", ports: [{containerPort: 6379}]}]
---
apiVersion: v1
kind: Service
metadata: {name: cache}
spec: {selector: {app: cache}, ports: [{port: 6379}]}
"""
    found = {f.rule: f for f in check_text(text).findings}
    assert found["SL134"].severity == "note"
    assert "connects again, as clients of databases do" in found["SL134"].message
    assert found["SL108"].severity == "note"
