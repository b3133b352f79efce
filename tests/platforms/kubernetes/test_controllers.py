"""Replicas, rollouts and disruption budgets."""

from __future__ import annotations

from pathlib import Path

import pytest

from shutdownlint.linter.expand import expand
from shutdownlint.linter.plan import make_context, plan
from shutdownlint.manifests.document_reader import DocumentReader
from shutdownlint.manifests.resources import PodDisruptionBudget
from shutdownlint.platforms.kubernetes.budgets import disruptions_allowed
from shutdownlint.platforms.planned_pod import PlannedPod
from shutdownlint.platforms.pods.controllers import Rollout
from shutdownlint.platforms.pods.pod_facts import PodFacts
from shutdownlint.platforms.registry import all_platforms
from shutdownlint.platforms.workload_index import WorkloadIndex, index_entry
from shutdownlint.shutdown.durations import seconds
from tests.helpers import lint_options, plan_files, plan_pod_text, write_sources


def manifest(kind: str, spec: str, before: str) -> str:
    return f"""{before}
apiVersion: apps/v1
kind: {kind}
metadata: {{name: shop, namespace: shop}}
spec:
  {spec}
  selector: {{matchLabels: {{app: shop}}}}
  template:
    metadata: {{labels: {{app: shop, tier: web}}}}
    spec: {{containers: [{{name: app, image: a}}]}}
"""


def workload(kind: str = "Deployment", spec: str = "", before: str = "") -> PlannedPod:
    return plan_pod_text(manifest(kind, spec, before))


def rollout_of(kind: str = "Deployment", spec: str = "") -> Rollout | None:
    found: PodFacts = workload(kind, spec).facts[PodFacts]
    return found.rollout.value if found.rollout is not None else None


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
    rollout = rollout_of(kind, text)
    assert rollout is not None
    assert (rollout.batch, rollout.waits) == (batch, waits)
    assert rollout.waiting_time(seconds(30)) == (None if takes is None else seconds(takes))


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
    assert rollout_of("StatefulSet", spec) is None


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
def test_how_many_may_go(spec: str, before: str, allowed: int | None, tmp_path: Path) -> None:
    inputs = write_sources({"shop.yaml": manifest("Deployment", spec, before)}, tmp_path)
    (world,) = expand(inputs, lint_options()).worlds
    context = make_context(world, lint_options().facts)
    index = WorkloadIndex()
    for pod in plan(world, context, all_platforms(), DocumentReader(debug=True), world.files):
        index.add(index_entry(pod))
    (entry,) = index.entries
    budgets = context.in_scope(PodDisruptionBudget, entry.scope)
    found = disruptions_allowed(entry, index, budgets)
    assert (found.value if found else None) == allowed


def test_a_rollout_as_text() -> None:
    stateful = rollout_of("StatefulSet", "replicas: 4")
    assert stateful is not None
    assert "4 pods, 1 at a time, up to 30s each" in stateful.describe(seconds(30))
    assert "at most 2m" in stateful.describe(seconds(30))
    deployment = rollout_of(spec="replicas: 4")
    assert deployment is not None
    assert "does not wait for old pods" in deployment.describe(seconds(30))


@pytest.mark.parametrize(
    ("bounds", "replicas"),
    [
        ("minReplicas: 3, maxReplicas: 3", 3),
        ("maxReplicas: 1", 1),
        ("minReplicas: 2, maxReplicas: 3", None),
        ("maxReplicas: 3", None),
    ],
)
def test_an_autoscaler_with_equal_bounds_fixes_the_number(
    bounds: str, replicas: int | None
) -> None:
    scaler = (
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n"
        "metadata: {name: shop, namespace: shop}\n"
        f"spec: {{scaleTargetRef: {{kind: Deployment, name: shop}}, {bounds}}}\n---"
    )
    text = manifest("Deployment", "replicas: 5", scaler)
    pods = plan_files({"shop.yaml": text}).pods
    (pod,) = pods
    assert (pod.replicas.value if pod.replicas else None) == replicas
