"""Findings that a reader showed to be false, and those that are right."""

from __future__ import annotations

import pytest

from tests.helpers import check_text, user_facts

GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: istio
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {name: shop, labels: {app: shop}}
spec:
  containers:
    - name: app
      image: a
      ports: [{name: http, containerPort: 80}]
      lifecycle: {preStop: {sleep: {seconds: 15}}}
    - name: exporter
      image: b
      ports: [{name: metrics, containerPort: 90}]
---
"""
BEHIND_ALB = (
    POD
    + """
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80, targetPort: http}]}
---
apiVersion: v1
kind: Service
metadata: {name: shop-metrics}
spec: {selector: {app: shop}, ports: [{port: 90, targetPort: metrics}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, annotations: {alb.ingress.kubernetes.io/target-type: ip}}
spec: {ingressClassName: alb, defaultBackend: {service: {name: shop, port: {number: 80}}}}
"""
)


def workload(kind: str, name: str, spec: str) -> str:
    return f"""
apiVersion: apps/v1
kind: {kind}
metadata: {{name: {name}}}
spec:
  {spec}
  selector: {{matchLabels: {{app: shop}}}}
  template:
    metadata: {{labels: {{app: shop}}}}
    spec: {{containers: [{{name: app, image: a}}]}}
---"""


def budget(spec: str) -> str:
    return f"""
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: shop}}
spec: {{{spec}, selector: {{matchLabels: {{app: shop}}}}}}
---"""


def policy(pattern: str, match: str = "any: [{resources: {kinds: [Pod]}}]") -> str:
    return f"""
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: short}}
spec:
  rules:
    - name: short
      match: {{{match}}}
      validate: {{pattern: {pattern}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: shop}}
spec: {{terminationGracePeriodSeconds: 120, containers: [{{name: app, image: a}}]}}
"""


def container(lines: str) -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: shop}}
spec:
  terminationGracePeriodSeconds: 40
  containers:
    - name: app
      image: a
      ports: [{{containerPort: 80}}]
      {lines}
"""


def env(name: str, value: str) -> str:
    return f'env: [{{name: {name}, value: "{value}"}}]'


FILES = """
apiVersion: v1
kind: ConfigMap
metadata: {name: app}
data:
  logback.xml: "<x/>"
  application.properties: |
    server.shutdown=graceful
    #---
    spring.config.activate.on-profile=dev
    server.shutdown=immediate
  application.yaml: |
    spring.profiles.active: prod
    server: {shutdown: %s}
---
"""


def mounted(shutdown: str, mount: str, volume: str, more: str = "") -> str:
    return (
        (FILES % shutdown)
        + container(f"volumeMounts: [{{name: config, {mount}}}]\n      {more}")
        + f"  volumes: [{{name: config, configMap: {{name: app{volume}}}}}]\n"
    )


SILENT = [
    ("SL202", GATEWAY + "  addresses: [{type: Hostname, value: a.b}]\n"),
    ("SL202", GATEWAY + "  infrastructure: {parametersRef: {kind: ConfigMap, name: elsewhere}}\n"),
    (
        "SL307",
        BEHIND_ALB.replace(
            "target-type: ip",
            "target-group-attributes: deregistration_delay.timeout_seconds=$DELAY",
        ),
    ),
    (
        "SL307",
        BEHIND_ALB.replace(
            "target-type: ip", "target-group-attributes: 'deregistration_delay.timeout_seconds=30,'"
        ),
    ),
    (
        "SL153",
        budget("minAvailable: 1")
        + workload("Deployment", "shop", "replicas: 3")
        + workload("Deployment", "canary", "replicas: 1"),
    ),
    ("SL153", budget("minAvailable: 1") + workload("Deployment", "shop", "replicas: 0")),
    ("SL153", budget("maxUnavailable: 0") + workload("DaemonSet", "shop", "minReadySeconds: 0")),
    ("SL150", policy('{spec: {"(terminationGracePeriodSeconds)": "<=30"}}')),
    (
        "SL150",
        policy('{spec: {"(nodeSelector)": {spot: "true"}, terminationGracePeriodSeconds: "<=30"}}'),
    ),
    (
        "SL150",
        policy(
            '{"(metadata)": {labels: {tier: batch}}, spec: {terminationGracePeriodSeconds: "<=30"}}'
        ),
    ),
    (
        "SL150",
        policy(
            '{spec: {terminationGracePeriodSeconds: "<=30"}}',
            "all: [{resources: {kinds: [Pod]}}, {resources: {namespaces: [batch]}}]",
        ),
    ),
    (
        "SL150",
        policy(
            '{spec: {terminationGracePeriodSeconds: "<=30"}}',
            "any: [{resources: {kinds: [Pod]}, subjects: [{kind: User, name: a}]}]",
        ),
    ),
    (
        "SL125",
        container("env: [{name: MICRONAUT_LIFECYCLE_GRACEFUL_SHUTDOWN_GRACE_PERIOD, value: 15s}]"),
    ),
    ("SL134", mounted("immediate", "mountPath: /a, subPath: logback.xml", "")),
    (
        "SL134",
        mounted("immediate", "mountPath: /a", ", items: [{key: logback.xml, path: logback.xml}]"),
    ),
    (
        "SL134",
        mounted("immediate", "mountPath: /a", "", "envFrom: [{configMapRef: {name: elsewhere}}]"),
    ),
    ("SL134", mounted("graceful", "mountPath: /a", "")),
    ("SL125", container("command: [hypercorn, --config, x.toml]")),
    ("SL125", container("command: [pm2-runtime, start, ecosystem.config.js]")),
    ("SL125", container(env("QUARKUS_DATASOURCE_JDBC_URL", "x"))),
    ("SL125", container("command: [ls, /etc/gunicorn]\n      args: [gunicorn]")),
    ("SL136", container("command: [gunicorn, '--graceful-timeout=$(GRACEFUL_TIMEOUT)']")),
    ("SL136", container(env("PM2_KILL_TIMEOUT", "500"))),
    ("SL136", container(env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "P1D"))),
    ("SL136", container(env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "0s"))),
    ("SL133", container("command: [celery, flower]")),
    ("SL142", container("command: [sleep, infinity]") + "  shareProcessNamespace: true\n"),
]


@pytest.mark.parametrize(("rule", "text"), SILENT)
def test_silent(rule: str, text: str) -> None:
    assert rule not in [f.rule for f in check_text(text, user_facts(p99="31s")).findings]


REPORTED = [
    ("SL134", mounted("immediate", "mountPath: /a", "")),
    ("SL134", mounted("immediate", "mountPath: /a, subPath: application.yaml", "")),
    ("SL134", container("command: [java, -Dserver.shutdown=immediate, -jar, a.jar]")),
    ("SL136", container(env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "1.5m"))),
    ("SL128", container("lifecycle: {preStop: {exec: {command: [nginx, -s, stop]}}}")),
    ("SL108", BEHIND_ALB.replace("preStop: {sleep: {seconds: 15}}", "")),
    ("SL150", policy('{spec: {"=(terminationGracePeriodSeconds)": "<=30"}}')),
    (
        "SL135",
        container(
            "env: [{name: QUARKUS_SHUTDOWN_DELAY, value: 10s}, {name: QUARKUS_SHUTDOWN_TIMEOUT, value: 20s}]\n      lifecycle: {preStop: {sleep: {seconds: 5}}}"
        ),
    ),
]


@pytest.mark.parametrize(("rule", "text"), REPORTED)
def test_reported(rule: str, text: str) -> None:
    assert rule in [f.rule for f in check_text(text, user_facts(p99="31s")).findings]


@pytest.mark.parametrize(
    "text",
    [
        container(env("SPRING_LIFECYCLE_TIMEOUTPERSHUTDOWNPHASE", "PT1.5.5S")),
        container(env("QUARKUS_SHUTDOWN_TIMEOUT", "PT.S")),
        container(env("QUARKUS_SHUTDOWN_TIMEOUT", "99999999999999999999h")),
        container("command: [gunicorn, --graceful-timeout, '100000000000000000']"),
        BEHIND_ALB.replace(
            "target-type: ip",
            "target-group-attributes: deregistration_delay.timeout_seconds=30\u00b2",
        ),
        BEHIND_ALB.replace(
            "target-type: ip",
            f"target-group-attributes: deregistration_delay.timeout_seconds={'9' * 5000}",
        ),
        BEHIND_ALB.replace(
            "{name: shop}\nspec: {selector",
            '{name: shop, annotations: {cloud.google.com/neg: \'{"ingress": true}\', cloud.google.com/backend-config: \'{"ports": {"a": [1]}, "default": {}}\'}}\nspec: {selector',
        ),
        mounted("graceful", "mountPath: /a", "").replace(
            "configMap: {name: app}", "configMap: {name: {a: b}}"
        ),
        mounted("graceful", "mountPath: /a", "").replace(
            "[{name: config, configMap", "[{name: [a], configMap"
        ),
        container("env: [{name: A, valueFrom: {configMapKeyRef: {name: [a], key: b}}}]"),
        workload("StatefulSet", "shop", "replicas: 99999999999999999999"),
        (FILES % "graceful").replace(
            "server: {shutdown: graceful}",
            "spring: &a {x: *a, lifecycle: {timeout-per-shutdown-fase: 1s}}",
        )
        + container("volumeMounts: [{name: c, mountPath: /a}]")
        + "  volumes: [{name: c, configMap: {name: app}}]\n",
    ],
)
def test_odd_values_bring_nothing_down(text: str) -> None:
    result = check_text(text, user_facts(p99="3s"))
    assert result.complete
    assert sum("spring.x" in f.message for f in result.findings) == 0


def test_what_the_files_show_of_istio_is_not_varied() -> None:
    text = """
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio.io/rev: 1-28-0}}
---
apiVersion: v1
kind: Pod
metadata: {name: shop, namespace: shop}
spec: {containers: [{name: app, image: a, lifecycle: {preStop: {sleep: {seconds: 15}}}}]}
"""
    result = check_text(text)
    (finding,) = [f for f in result.findings if f.rule == "SL201"]
    assert finding.holds_for == "Kubernetes 1.32 and before"
    assert result.warnings == []
