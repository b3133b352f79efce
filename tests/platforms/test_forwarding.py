"""A reverse proxy in front of an app in the same pod: what its flags and files forward to."""

from __future__ import annotations

import pytest

from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import ZERO, seconds
from shutdownlint.shutdown.request import Outcome, Request
from tests.helpers import check_text, plan_of, plan_pod_text, rule_lines

SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80, targetPort: 4180}]}
---
"""
FRONT_SLEEPS = "lifecycle: {preStop: {sleep: {seconds: 10}}}"


def config_map(text: str) -> str:
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: conf}\ndata:\n  conf: |\n"
    return f"{head}{indented}---\n"


def pod(front: str, app: str = "", port: int = 8080) -> str:
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: shop, labels: {app: shop}}\nspec:\n"
        "  volumes: [{name: conf, configMap: {name: conf}}]\n  containers:\n"
        f"    - {{name: front, ports: [{{containerPort: 4180}}], {front}}}\n"
        f"    - {{name: app, image: shop/app:1, ports: [{{containerPort: {port}}}]{app}}}\n"
    )


MOUNT = "volumeMounts: [{name: conf, mountPath: /etc/conf}]"
OAUTH = (
    "image: 'quay.io/oauth2-proxy/oauth2-proxy:v7.6.0', args: [--upstream=http://127.0.0.1:8080]"
)
RBAC = (
    "image: 'quay.io/brancz/kube-rbac-proxy:v0.18.0', args: ['--upstream=http://localhost:8080/']"
)
ENVOY = """\
clusters:
- endpoints:
  - endpoint:
      address:
        socket_address:
          address: 127.0.0.1
          port_value: 8080
"""


@pytest.mark.parametrize(
    ("front", "file"),
    [
        (OAUTH, ""),
        (RBAC, ""),
        (f"image: 'nginx:1.27', {MOUNT}", "location / { proxy_pass http://localhost:8080; }"),
        (f"image: 'nginx:1.27', {MOUNT}", "fastcgi_pass 127.0.0.1:8080;"),
        (f"image: 'haproxy:3.0', {MOUNT}", "backend app\n  server app 127.0.0.1:8080 check"),
        (f"image: 'caddy:2', {MOUNT}", "reverse_proxy localhost:8080"),
        (f"image: 'envoyproxy/envoy:v1.31.0', {MOUNT}", ENVOY),
    ],
)
def test_a_proxy_leads_to_the_container_whose_port_it_names(front: str, file: str) -> None:
    text = (config_map(file) if file else "") + SERVICE + pod(f"{front}, {FRONT_SLEEPS}")
    plan = plan_of(text)
    assert plan.container("front").forwards_to == ("app",)
    found = rule_lines(check_text(text).findings)
    assert "SL108" in [rule for rule, _ in found]
    late = Request(seconds(5), seconds(1))
    (answer,) = ShutdownAnalysis(plan).predict((late,))
    assert answer.prediction.outcome is Outcome.UNAVAILABLE
    assert answer.prediction.status == (503 if "haproxy" in front or "envoy" in front else 502)


@pytest.mark.parametrize(
    "front",
    [
        # Nothing shows where it leads to.
        "image: 'nginx:1.27'",
        # Another port, another host.
        OAUTH.replace(":8080", ":18080"),
        OAUTH.replace("127.0.0.1", "10.127.0.0.1"),
        OAUTH.replace("127.0.0.1:8080", "app.shop:8080"),
        # Not a proxy: a client of the port.
        "image: 'shop/web:1', args: ['--cache=127.0.0.1:8080']",
    ],
)
def test_without_proof_a_container_does_not_lead_to_another(front: str) -> None:
    text = SERVICE + pod(f"{front}, {FRONT_SLEEPS}")
    assert plan_of(text).container("front").forwards_to == ()


def test_an_app_that_sleeps_as_long_as_its_proxy_is_fine() -> None:
    text = SERVICE + pod(f"{OAUTH}, {FRONT_SLEEPS}", f", {FRONT_SLEEPS}")
    assert "SL108" not in [rule for rule, _ in rule_lines(check_text(text).findings)]
    (answer,) = ShutdownAnalysis(plan_of(text)).predict((Request(seconds(9), seconds(5)),))
    assert answer.prediction.outcome is Outcome.OK


def test_a_request_in_flight_is_cut_when_the_app_behind_its_proxy_ends() -> None:
    abrupt = ", command: [daphne, 'shop.asgi:application']"
    text = SERVICE + pod(f"{OAUTH}, {FRONT_SLEEPS}", abrupt)
    (answer,) = ShutdownAnalysis(plan_of(text)).predict((Request(ZERO, seconds(5)),))
    assert answer.prediction.outcome is not Outcome.OK


def test_the_solution_gives_the_app_the_sleep_of_its_proxy() -> None:
    planned = plan_pod_text(SERVICE + pod(f"{OAUTH}, {FRONT_SLEEPS}"))
    assert planned.plan is not None
    solution = ShutdownAnalysis(planned.plan).solution
    assert solution.value_of("preStop", "app") == seconds(10)
    assert solution.value_of("preStop", "front") is None
    assert solution.proven


def test_a_pair_of_proxies_that_name_one_another_ends() -> None:
    other = OAUTH.replace(":8080", ":4180")
    text = SERVICE.replace("4180}]", "4180}, {port: 81, targetPort: 8080, name: b}]")
    text += pod(f"{OAUTH}, {FRONT_SLEEPS}").replace("image: shop/app:1", other)
    plan = plan_of(text)
    assert plan.behind("front") == ("app",)
    assert plan.behind("app") == ("front",)


HELPER = "image: 'envoyproxy/envoy:v1.31.0', ports: [{containerPort: 9001}]"


def helped(app: str, helper: str = HELPER) -> str:
    return (
        SERVICE + "apiVersion: v1\nkind: Pod\nmetadata: {name: shop, labels: {app: shop}}\nspec:\n"
        "  volumes: [{name: conf, configMap: {name: conf}}]\n  containers:\n"
        f"    - {{name: app, image: shop/app:1, ports: [{{containerPort: 4180}}], {FRONT_SLEEPS}, {app}}}\n"
        f"    - {{name: egress, {helper}}}\n"
    )


@pytest.mark.parametrize(
    "app",
    [
        "env: [{name: PAYMENTS, value: 'http://127.0.0.1:9001/v1'}]",
        "env: [{name: HOST, value: localhost}, {name: PORT, value: '9001'}]",
        "command: [shop, --payments=localhost:9001]",
    ],
)
def test_a_proxy_that_the_app_calls_ends_before_it(app: str) -> None:
    text = helped(app)
    plan = plan_of(text)
    assert plan.needed == ("egress",)
    assert "SL160" in [rule for rule, _ in rule_lines(check_text(text).findings)]
    (answer,) = ShutdownAnalysis(plan).predict((Request(ZERO, seconds(5)),))
    assert answer.prediction.outcome is not Outcome.OK
    slept = helped(app, f"{HELPER}, lifecycle: {{preStop: {{sleep: {{seconds: 40}}}}}}")
    assert "SL160" not in [rule for rule, _ in rule_lines(check_text(slept).findings)]


@pytest.mark.parametrize(
    ("app", "helper"),
    [
        ("env: [{name: PAYMENTS, value: 'http://payments:9001/v1'}]", HELPER),
        ("env: [{name: PAYMENTS, value: 'http://127.0.0.1:9002/v1'}]", HELPER),
        ("env: [{name: PORT, value: '9001'}]", HELPER),
        (
            "env: [{name: PAYMENTS, value: 'http://127.0.0.1:9001/v1'}]",
            HELPER.replace("envoyproxy/envoy", "shop/worker"),
        ),
    ],
)
def test_a_container_that_the_app_does_not_call_is_no_helper(app: str, helper: str) -> None:
    assert plan_of(helped(app, helper)).needed == ()


NGINX = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: shop}
data:
  nginx.conf: |
    events {}
    http { server {
      listen %s;
    } }
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 8080}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: nginx, image: "nginx:1.27", volumeMounts: [{name: web, mountPath: /etc/nginx}]}
      volumes: [{name: web, configMap: {name: web}}]
"""


@pytest.mark.parametrize(
    ("address", "reached"),
    [
        ("127.0.0.1:8080", False),
        ("localhost:8080", False),
        ("[::1]:8080", False),
        ("8080", True),
        ("*:8080", True),
        ("127.0.0.1:9000;\n      listen 8080", True),
    ],
)
def test_no_service_reaches_what_listens_on_the_loopback_interface(
    address: str, reached: bool
) -> None:
    (verdict,) = check_text(NGINX % address).verdicts
    assert (verdict.lost == "late") is reached
    assert verdict.gets_requests is reached


@pytest.mark.parametrize(
    ("container", "reached"),
    [
        ("command: [k6, run, /script.js]", False),
        ('command: [sleep, "infinity"]', False),
        ('command: [sh, -c, "while true; do curl web; sleep 1; done"]', False),
        ('command: [sleep, "infinity"], ports: [{containerPort: 8080}]', True),
        ("command: [web]", True),
    ],
)
def test_no_service_reaches_a_program_that_accepts_no_connections(
    container: str, reached: bool
) -> None:
    head = NGINX[NGINX.index("apiVersion: v1\nkind: Service") : NGINX.index("      - {name: nginx")]
    text = f"{head}      - {{name: a, image: a, {container}}}\n"
    (verdict,) = check_text(text).verdicts
    assert verdict.gets_requests is reached
