"""Rollout settings that the API server rejects, and those that replace all pods at once."""

from __future__ import annotations

import pytest

from tests.helpers import check_files, check_text, dedent, rule_lines

DEPLOYMENT = """\
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop}
    spec:
      MORE
      selector: {matchLabels: {app: shop}}
      template:
        metadata: {labels: {app: shop}}
        spec:
          containers: [{name: app, image: "shop/app:1" CONTAINER}]
"""
SERVICE = dedent("""\
    ---
    apiVersion: v1
    kind: Service
    metadata: {name: shop}
    spec: {selector: {app: shop}, ports: [{port: 80}]}
""")
RULES = {"SL171", "SL172", "SL173", "SL174", "SL175", "SL176", "SL177"}


def deployment(more: str = "{}", container: str = "") -> str:
    text = dedent(DEPLOYMENT).replace("CONTAINER", container)
    return text.replace("  MORE\n", f"  {more}\n" if more != "{}" else "")


def rules(text: str) -> set[str]:
    return RULES & {rule for rule, _ in rule_lines(check_text(text).findings)}


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("{}", set()),
        ("minReadySeconds: 700", {"SL172"}),
        ("minReadySeconds: 30\n  progressDeadlineSeconds: 30", {"SL172"}),
        ("minReadySeconds: 30\n  progressDeadlineSeconds: 31", set()),
        ("minReadySeconds: '{{ .Values.a }}'", set()),
        ("strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 0}}", {"SL173"}),
        ("strategy: {rollingUpdate: {maxSurge: 0%, maxUnavailable: 0%}}", {"SL173"}),
        ("strategy: {rollingUpdate: {maxSurge: 0}}", set()),
        ("strategy: {rollingUpdate: {maxUnavailable: 0}}", set()),
        ("strategy: {rollingUpdate: [1]}", set()),
        ("replicas: 2\n  strategy: {rollingUpdate: {maxUnavailable: 2}}", {"SL174"}),
        ("replicas: 2\n  strategy: {rollingUpdate: {maxUnavailable: 100%}}", {"SL174"}),
        ("replicas: 2\n  strategy: {rollingUpdate: {maxUnavailable: 99%}}", set()),
        ("replicas: 1\n  strategy: {rollingUpdate: {maxSurge: 0}}", {"SL174"}),
        ("replicas: 4\n  strategy: {rollingUpdate: {maxSurge: 0}}", set()),
        ("replicas: 0\n  strategy: {rollingUpdate: {maxUnavailable: 1}}", set()),
        ("strategy: {rollingUpdate: {maxUnavailable: 1}}", set()),
    ],
)
def test_strategies(more: str, expected: set[str]) -> None:
    assert rules(deployment(more) + SERVICE) == expected
    assert rules(deployment(more)) == expected - {"SL174"}  # no requests, none lost


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("{matchLabels: {app: store}}", {"SL171"}),
        ("{matchExpressions: [{key: app, operator: In, values: [shop]}]}", set()),
        ("{matchExpressions: [{key: tier, operator: Exists}]}", {"SL171"}),
        ("{matchLabels: {app: '${APP}'}}", set()),
    ],
)
def test_selectors(selector: str, expected: set[str]) -> None:
    text = deployment().replace("{matchLabels: {app: shop}}", selector)
    assert rules(text) == expected


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (", readinessProbe: {httpGet: {port: http}}", {"SL176"}),
        (", ports: [{name: http}], readinessProbe: {httpGet: {port: http}}", set()),
        (", readinessProbe: {tcpSocket: {port: 8080}}", set()),
        (", readinessProbe: {tcpSocket: {port: '8080'}}", set()),
        (", readinessProbe: {httpGet: {port: '{{ .Values.port }}'}}", set()),
        (", readinessProbe: {httpGet: 5}", set()),
    ],
)
def test_probe_ports(container: str, expected: set[str]) -> None:
    assert rules(deployment(container=container)) == expected


SCALER = dedent("""\
    apiVersion: autoscaling/v2
    kind: HorizontalPodAutoscaler
    metadata: {name: shop}
    spec: {scaleTargetRef: {kind: Deployment, name: shop}, minReplicas: 2, maxReplicas: 9}
""")


@pytest.mark.parametrize(("folder", "reported"), [("a", True), ("b", False)])
def test_an_autoscaler_of_the_same_folder_decides_the_replicas(folder: str, reported: bool) -> None:
    files = {"a/shop.yaml": deployment("replicas: 3"), f"{folder}/scaler.yaml": SCALER}
    found = rule_lines(check_files(files).findings)
    assert (("SL175", 5) in found) is reported


def test_two_budgets() -> None:
    budget = dedent("""\
        ---
        apiVersion: policy/v1
        kind: PodDisruptionBudget
        metadata: {name: NAME}
        spec: {maxUnavailable: 1, selector: {matchLabels: {app: shop}}}
    """)
    one = deployment("replicas: 3") + budget.replace("NAME", "a")
    assert rules(one) == set()
    assert rules(one + budget.replace("NAME", "a")) == set()
    assert rules(one + budget.replace("NAME", "b")) == {"SL177"}


def test_probes_of_native_sidecars() -> None:
    sidecar = "{name: s, image: s, restartPolicy: Always, readinessProbe: {httpGet: {port: x}}}"
    text = deployment().rstrip() + f"\n      initContainers: [{sidecar}]\n"
    assert rules(text) == {"SL176"}
    assert rules(text.replace("restartPolicy: Always, ", "")) == set()
