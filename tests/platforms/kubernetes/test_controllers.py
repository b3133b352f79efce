"""Replicas, rollouts and disruption budgets."""

from __future__ import annotations

import pytest

from shutdownlint.shutdown import Plan, seconds
from tests.helpers import plan_of


def workload(kind: str = "Deployment", spec: str = "", before: str = "") -> Plan:
    return plan_of(f"""{before}
apiVersion: apps/v1
kind: {kind}
metadata: {{name: shop, namespace: shop}}
spec:
  {spec}
  selector: {{matchLabels: {{app: shop}}}}
  template:
    metadata: {{labels: {{app: shop, tier: web}}}}
    spec: {{containers: [{{name: app, image: a}}]}}
""")


@pytest.mark.parametrize(
    ("kind", "spec", "batch", "waits", "takes"),
    [
        # a quarter up and a quarter down: 3 + 2 of ten
        ("Deployment", "replicas: 10", 5, False, 0),
        ("Deployment", "{replicas: 10, minReadySeconds: 20}", 5, False, 40),
        ("Deployment", "replicas: 1", 1, False, 0),
        (
            "Deployment",
            (
                "{replicas: 4, strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}, "
                "minReadySeconds: 5}"
            ),
            1,
            False,
            20,
        ),
        ("Deployment", "{replicas: 4, strategy: {type: Recreate}}", 1, True, 30),
        ("StatefulSet", "replicas: 4", 1, True, 120),
        ("StatefulSet", "{replicas: 4, minReadySeconds: 10}", 1, True, 160),
        ("DaemonSet", "updateStrategy: {rollingUpdate: {maxUnavailable: 3}}", 3, True, None),
    ],
)
def test_what_a_rollout_waits_for(
    kind: str, spec: str, batch: int, waits: bool, takes: int | None
) -> None:
    flat = spec.removeprefix("{").removesuffix("}") if spec.startswith("{") else spec
    text = "\n  ".join(_split(flat))
    plan = workload(kind, text)
    assert plan.rollout is not None
    rollout = plan.rollout.value
    assert (rollout.batch, rollout.waits) == (batch, waits)
    assert rollout.takes(seconds(30)) == (None if takes is None else seconds(takes))


def _split(text: str) -> list[str]:
    """Top-level entries of a flow mapping."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "{[") - (letter in "}]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


@pytest.mark.parametrize("spec", ["updateStrategy: {type: OnDelete}"])
def test_no_rollout_where_nobody_replaces(spec: str) -> None:
    assert workload("StatefulSet", spec).rollout is None


def test_an_autoscaler_decides_the_replicas() -> None:
    scaler = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: shop, namespace: shop}
spec: {scaleTargetRef: {kind: Deployment, name: shop}, maxReplicas: 9}
---"""
    assert workload(spec="replicas: 1").replicas is not None
    assert workload(spec="replicas: 1", before=scaler).replicas is None
    elsewhere = scaler.replace("namespace: shop", "namespace: other")
    assert workload(spec="replicas: 1", before=elsewhere).replicas is not None


def budget(spec: str, selector: str = "{matchLabels: {app: shop}}") -> str:
    return f"""
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: shop, namespace: shop}}
spec: {{{spec}, selector: {selector}}}
---"""


@pytest.mark.parametrize(
    ("spec", "before", "allowed"),
    [
        ("replicas: 3", budget("minAvailable: 2"), 1),
        ("replicas: 3", budget("minAvailable: 3"), 0),
        ("replicas: 3", budget("maxUnavailable: 0"), 0),
        ("replicas: 3", budget("maxUnavailable: 0%"), 0),
        ("replicas: 3", budget("minAvailable: 100%"), 0),
        # shares round up, and unwritten replicas may be anything
        ("replicas: 3", budget("minAvailable: 50%"), 1),
        ("replicas: 2", budget("minAvailable: 90%"), 0),
        ("replicas: 0", budget("minAvailable: 1"), None),
        ("revisionHistoryLimit: 1", budget("minAvailable: 1"), None),
        ("replicas: 3", budget("maxUnavailable: 0", "{matchLabels: {app: other}}"), None),
        (
            "replicas: 3",
            budget(
                "maxUnavailable: 0",
                "{matchExpressions: [{key: tier, operator: In, values: [web]}]}",
            ),
            0,
        ),
        (
            "replicas: 3",
            budget(
                "maxUnavailable: 0", "{matchExpressions: [{key: tier, operator: DoesNotExist}]}"
            ),
            None,
        ),
        (
            "replicas: 3",
            budget("maxUnavailable: 0", "{matchExpressions: [{key: tier, operator: Near}]}"),
            None,
        ),
    ],
)
def test_how_many_may_go(spec: str, before: str, allowed: int | None) -> None:
    found = workload(spec=spec, before=before).disruptions_allowed
    assert (found.value if found else None) == allowed


def test_what_a_rollout_says() -> None:
    words = workload("StatefulSet", "replicas: 4").rollout
    assert words is not None
    assert "4 pods, 1 at a time, up to 30s each" in words.value.told(seconds(30))
    assert "at most 2m" in words.value.told(seconds(30))
    deployment = workload(spec="replicas: 4").rollout
    assert deployment is not None
    assert "does not wait for old pods" in deployment.value.told(seconds(30))
