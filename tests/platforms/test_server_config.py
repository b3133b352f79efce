"""Limits in servers' own configuration, and the budgets of ingress controllers."""

from __future__ import annotations

import pytest

from shutdownlint.shutdown.process import WhenFinished
from tests.helpers import check_text, dedent, plan_pod_text, rule_lines

POD = """\
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: edge, namespace: web}
    data:
      config: |
        LINES
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: edge, namespace: web}
    spec:
      terminationGracePeriodSeconds: 60
      volumes: [{name: config, configMap: {name: edge}}]
      containers:
      - name: edge
        image: shop/edge:1
        command: [COMMAND]
        lifecycle: {stopSignal: SIGNAL}
        volumeMounts: [{name: config, mountPath: /etc/edge}]
"""


@pytest.mark.parametrize(
    ("command", "signal", "lines", "limit"),
    [
        ("nginx", "SIGQUIT", "worker_shutdown_timeout 5s;", 5),
        ("nginx", "SIGQUIT", "worker_shutdown_timeout 1m;", 60),
        ("nginx", "SIGQUIT", "# worker_shutdown_timeout 5s;", None),
        ("nginx", "SIGQUIT", "events {} worker_shutdown_timeout 7s; http {}", 7),
        ("haproxy, -W", "SIGUSR1", "hard-stop-after 5s", 5),
        ("haproxy, -W", "SIGUSR1", "# hard-stop-after 5s", None),
        ("haproxy, -W", "SIGUSR1", "hard-stop-after 5000", 5),
        ("caddy, run", "SIGTERM", "grace_period 3s", 3),
        ("nginx, -g, 'daemon off; worker_shutdown_timeout 9s;'", "SIGQUIT", "a", 9),
        ("gunicorn", "SIGTERM", "worker_shutdown_timeout 5s;", None),
    ],
)
def test_directives(command: str, signal: str, lines: str, limit: float | None) -> None:
    text = dedent(POD).replace("LINES", lines).replace("COMMAND", command)
    pod = plan_pod_text(text.replace("SIGNAL", signal))
    assert pod.plan is not None
    knob = next((k for k in pod.plan.container("edge").knobs if k.field == "finishWithin"), None)
    written = knob is not None and knob.setting.origin.written
    assert (knob.value.total_seconds() if written and knob is not None else None) == limit


NGINX = """\
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: nginx, namespace: web}
    data: {worker-shutdown-timeout: VALUE}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: nginx, namespace: web}
    spec:
      terminationGracePeriodSeconds: 120
      containers:
      - name: controller
        image: registry.k8s.io/ingress-nginx/controller:v1.15.1
        args: [/nginx-ingress-controller, "--configmap=$(POD_NAMESPACE)/NAME"]
        lifecycle: {preStop: {exec: {command: [/wait-shutdown]}}}
"""


@pytest.mark.parametrize(
    ("value", "name", "reported"),
    [
        ("240s", "nginx", True),
        ("1m30s", "nginx", False),
        ("'${X}'", "nginx", False),
        ("60s", "other", False),  # its default
    ],
)
def test_the_budget_of_ingress_nginx(value: str, name: str, reported: bool) -> None:
    text = dedent(NGINX).replace("VALUE", value).replace("NAME", name)
    rules = [rule for rule, _ in rule_lines(check_text(text).findings)]
    assert ("SL124" in rules) is reported


@pytest.mark.parametrize("value", ["'${X}'", "soon"])
def test_a_budget_that_cannot_be_read_is_no_limit(value: str) -> None:
    pod = plan_pod_text(dedent(NGINX).replace("VALUE", value).replace("NAME", "nginx"))
    assert pod.plan is not None
    closing = pod.plan.container("controller").process.phases[1].ending
    assert closing == WhenFinished(None)
    assert any("cannot be read" in known.text for known in pod.plan.assumptions)


@pytest.mark.parametrize(
    ("flags", "grace", "reported"),
    [
        (("web.A=40", "websecure.G=45s"), 60, False),
        (("web.A=40", "web.G=45s"), 60, True),
        (("web.A=40", "web.G=45s"), 85, False),
        ((), 9, False),  # a default
    ],
)
def test_entry_points_of_traefik_stop_at_once(
    flags: tuple[str, ...], grace: int, reported: bool
) -> None:
    names = {"A": "requestAcceptGraceTimeout", "G": "graceTimeOut"}
    arguments = []
    for flag in flags:
        entry, _, rest = flag.partition(".")
        arguments.append(f"--entryPoints.{entry}.transport.lifeCycle.{names[rest[0]]}={rest[2:]}")
    text = dedent(f"""\
        apiVersion: v1
        kind: Pod
        metadata: {{name: traefik}}
        spec:
          terminationGracePeriodSeconds: {grace}
          containers: [{{name: traefik, image: traefik:v3, args: {arguments}}}]
    """)
    rules = [rule for rule, _ in rule_lines(check_text(text).findings)]
    assert ("SL124" in rules) is reported
