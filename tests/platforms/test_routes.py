"""The time that routes let requests take."""

from __future__ import annotations

import pytest

from tests.helpers import check_text, dedent, rule_lines, user_facts

POD = """\
    apiVersion: v1
    kind: Service
    metadata: {name: shop, namespace: web ANNOTATIONS}
    spec: {selector: {app: shop}, ports: [{port: 80, targetPort: 8080}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: shop, namespace: web, labels: {app: shop}}
    spec:
      containers:
      - {name: app, image: "shop/app:1", ports: [{containerPort: 8080}], lifecycle: {preStop: {sleep: {seconds: 10}}}}
    ---
"""


def pod(annotations: str = "") -> str:
    return dedent(POD).replace("ANNOTATIONS", annotations)


def found(route: str, annotations: str = "") -> list[tuple[str, int]]:
    result = check_text(pod(annotations) + dedent(route), user_facts(mesh=["none"]))
    lines = rule_lines(result.findings, notes=True)
    assert result.complete
    return [(rule, line) for rule, line in lines if rule.startswith("SL46")]


VIRTUAL = """\
    apiVersion: networking.istio.io/v1
    kind: VirtualService
    metadata: {name: shop, namespace: NAMESPACE}
    spec:
      hosts: [shop]
      http:
      - timeout: TIMEOUT
        route: [{destination: {host: HOST}}]
"""


@pytest.mark.parametrize(
    ("host", "namespace", "timeout", "reported"),
    [
        ("shop", "web", "21s", True),
        ("shop", "web", "19s", False),
        ("shop", "web", "20s", True),
        ("shop", "web", "soon", False),
        ("shop", "web", "[1]", False),
        ("shop", "web", "${T}", False),
        ("shop", "other", "21s", False),
        ("shop.web", "other", "21s", True),
        ("shop.web.svc.cluster.local", "other", "21s", True),
        ("[1]", "web", "21s", False),
    ],
)
def test_virtual_services(host: str, namespace: str, timeout: str, reported: bool) -> None:
    text = VIRTUAL.replace("HOST", host).replace("NAMESPACE", namespace)
    assert found(text.replace("TIMEOUT", timeout)) == ([("SL461", 19)] if reported else [])


@pytest.mark.parametrize("timeout", ["0s", "20s"])
def test_a_route_that_says_that_there_is_no_limit(timeout: str) -> None:
    text = VIRTUAL.replace("HOST", "shop").replace("NAMESPACE", "web")
    rule = "SL464" if timeout == "0s" else "SL461"
    assert found(text.replace("TIMEOUT", timeout)) == [(rule, 19)]


RETRIES = """\
    apiVersion: networking.istio.io/v1
    kind: VirtualService
    metadata: {name: shop, namespace: web}
    spec:
      http:
      - timeout: 60s
        retries: {attempts: 3, perTryTimeout: TRY}
        route: [{destination: {host: shop}, weight: WEIGHT}]
"""


@pytest.mark.parametrize(
    ("limit", "weight", "lines"),
    [("10s", 100, []), ("25s", 100, [("SL461", 19)]), ("25s", 0, [])],
)
def test_one_pod_sees_one_try(limit: str, weight: int, lines: list[tuple[str, int]]) -> None:
    text = RETRIES.replace("TRY", limit).replace("WEIGHT", str(weight))
    assert found(text) == lines


ROUTE = """\
    apiVersion: gateway.networking.k8s.io/v1
    kind: HTTPRoute
    metadata: {name: shop, namespace: web}
    spec:
      rules:
      - timeouts: TIMEOUTS
        backendRefs: [{name: shop, port: 80}]
"""


@pytest.mark.parametrize(
    ("timeouts", "rules"),
    [
        ("{request: 25s, backendRequest: 20s}", ["SL461"]),
        ("{backendRequest: 25s}", ["SL461"]),
        ("{request: 0s, backendRequest: 25s}", ["SL461"]),
        ("{request: 15s}", []),
        ("{request: 0s}", ["SL464"]),
        ("{}", []),
        ("5", []),
    ],
)
def test_http_routes(timeouts: str, rules: list[str]) -> None:
    lines = found(ROUTE.replace("TIMEOUTS", timeouts))
    assert [rule for rule, _ in lines] == rules


INGRESS = """\
    apiVersion: networking.k8s.io/v1
    kind: Ingress
    metadata:
      name: shop
      namespace: web
      annotations:
        KEY: "VALUE"
    spec:
      ingressClassName: CLASS
      rules: [{http: {paths: [{backend: {service: {name: shop, port: {number: 80}}}}]}}]
"""


@pytest.mark.parametrize(
    ("name", "key", "value", "rules"),
    [
        ("nginx", "nginx.ingress.kubernetes.io/proxy-read-timeout", "3600", ["SL462"]),
        ("nginx", "nginx.ingress.kubernetes.io/proxy-read-timeout", "15", []),
        ("nginx", "nginx.ingress.kubernetes.io/proxy-read-timeout", "60s", ["SL463"]),
        ("nginx-internal", "nginx.ingress.kubernetes.io/proxy-read-timeout", "90", ["SL462"]),
        ("alb", "nginx.ingress.kubernetes.io/proxy-read-timeout", "3600", []),
        ("contour", "projectcontour.io/response-timeout", "2m", ["SL461"]),
        ("contour", "projectcontour.io/response-timeout", "infinity", []),
        ("haproxy", "haproxy.org/timeout-server", "2m", ["SL462"]),
        ("haproxy", "haproxy.org/timeout-server", "60000", ["SL462"]),
        ("haproxy", "haproxy.org/timeout-server", "6000", []),
        (
            "alb",
            "alb.ingress.kubernetes.io/load-balancer-attributes",
            "a=b, idle_timeout.timeout_seconds = 600",
            ["SL462"],
        ),
    ],
)
def test_ingresses(name: str, key: str, value: str, rules: list[str]) -> None:
    text = INGRESS.replace("CLASS", name).replace("KEY", key).replace("VALUE", value)
    assert [rule for rule, _ in found(text)] == rules


@pytest.mark.parametrize(
    ("annotations", "rules"),
    [
        (", annotations: {konghq.com/read-timeout: '60000'}", ["SL462"]),
        (", annotations: {konghq.com/read-timeout: '60s'}", ["SL463"]),
        (", annotations: {timeout.linkerd.io/request: 90s}", ["SL461"]),
        (', annotations: {cloud.google.com/backend-config: \'{"default": "b"}\'}', ["SL461"]),
        (", annotations: {cloud.google.com/backend-config: '[1]'}", []),
    ],
)
def test_services(annotations: str, rules: list[str]) -> None:
    config = """\
        apiVersion: cloud.google.com/v1
        kind: BackendConfig
        metadata: {name: b, namespace: web}
        spec: {timeoutSec: 300}
    """
    assert [rule for rule, _ in found(config, annotations)] == rules


def test_a_measured_length_of_requests_settles_it() -> None:
    text = pod() + dedent(VIRTUAL.replace("TIMEOUT", "90s").replace("HOST", "shop"))
    text = text.replace("NAMESPACE", "web").replace(
        "labels: {app: shop}}", "labels: {app: shop}, annotations: {shutdownlint.dev/p99: 2s}}"
    )
    assert "SL461" not in {rule for rule, _ in rule_lines(check_text(text).findings)}
