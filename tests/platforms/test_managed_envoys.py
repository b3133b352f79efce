"""Gateways whose Envoy is drained by a manager beside it."""

from __future__ import annotations

import pytest

from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.request import Request
from tests.helpers import check_text, dedent, plan_pod_text, rule_lines

POD = """\
    apiVersion: v1
    kind: Pod
    metadata: {name: envoy, namespace: default}
    spec:
      terminationGracePeriodSeconds: GRACE
      containers:
      - name: manager
        image: edge/manager:1
        command: [PROGRAM, envoy, shutdown-manager]
        lifecycle: {preStop: {exec: {command: [/bin/PROGRAM, envoy, shutdown, FLAGS]}}}
      - name: envoy
        image: envoyproxy/envoy:v1.37.0
        command: [envoy]
        ports: [{containerPort: 8080}]
        lifecycle: {preStop: {httpGet: {path: PATH, port: 8090}}}
"""


def pod_text(program: str, *flags: str, path: str = "/shutdown/ready", grace: int = 300) -> str:
    text = dedent(POD).replace("PROGRAM", program).replace("PATH", path)
    return text.replace("FLAGS", ", ".join(flags) or "--").replace("GRACE", str(grace))


@pytest.mark.parametrize(
    ("program", "flags", "arrival", "length", "outcome"),
    [
        ("contour", [], 0, 299, "ok"),
        ("contour", [], 0, 303, "cut"),
        ("contour", [], 1, 1, "unknown"),
        ("contour", ["--check-delay=20s"], 19, 1, "ok"),
        ("contour", ["--drain-delay", "10s", "--check-delay=20s"], 29, 1, "ok"),
        ("envoy-gateway", [], 9, 1, "ok"),
        ("envoy-gateway", [], 11, 1, "unknown"),
        ("envoy-gateway", [], 0, 59, "ok"),
        ("envoy-gateway", [], 0, 61, "cut"),
        ("envoy-gateway", ["--drain-timeout=90s"], 0, 89, "ok"),
        ("envoy-gateway", ["--drain-timeout=soon"], 0, 61, "cut"),
        ("envoy-gateway", ["--min-drain-duration=30s"], 25, 4, "ok"),
    ],
)
def test_envoy_goes_on_until_its_manager_is_done(
    program: str, flags: list[str], arrival: float, length: float, outcome: str
) -> None:
    plan = plan_pod_text(pod_text(program, *flags)).plan
    assert plan is not None
    request = Request(seconds(arrival), seconds(length))
    (answer,) = ShutdownAnalysis(plan).predict([request])
    assert answer.prediction.outcome.value == outcome


def test_an_envoy_that_does_not_wait_is_cut() -> None:
    found = [rule for rule, _ in rule_lines(check_text(pod_text("contour")).findings)]
    assert "SL134" not in found
    alone = pod_text("contour").replace("lifecycle: {preStop: {httpGet", "x: {preStop: {httpGet")
    found = [rule for rule, _ in rule_lines(check_text(alone).findings)]
    assert "SL134" in found


NLB = """\
apiVersion: v1
kind: Service
metadata:
  name: envoy
  namespace: default
  annotations:
    service.beta.kubernetes.io/aws-load-balancer-type: external
    service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip
spec: {type: LoadBalancer, selector: {app: envoy}, ports: [{port: 80, targetPort: 8080}]}
---
"""


def test_an_envoy_that_serves_while_it_has_connections_does_not_drain_at_once() -> None:
    text = NLB + pod_text("contour").replace(
        "{name: envoy, ", "{name: envoy, labels: {app: envoy}, "
    )
    assert "SL108" not in [rule for rule, _ in rule_lines(check_text(text).findings)]
