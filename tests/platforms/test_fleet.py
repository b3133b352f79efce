"""The pods of a workload together: what a rollout, a drain, a lost zone and a scale-in leave."""

from __future__ import annotations

import pytest

from shutdownlint.platforms.pods.fleet import Disruption, Fleet
from shutdownlint.platforms.pods.pod_facts import PodFacts
from shutdownlint.shutdown.durations import ZERO, seconds
from tests.helpers import plan_files

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def workload(spec: str = "replicas: 4", pod: str = "", kind: str = "Deployment") -> str:
    return (
        f"apiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n  {spec}\n"
        "  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n"
        f"    spec:\n      {pod}\n      containers: [{{name: app, image: 'shop/web:1'}}]\n"
    )


def budget(spec: str, name: str = "web") -> str:
    return (
        f"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: {name}}}\n"
        f"spec: {{{spec}, selector: {{matchLabels: {{app: web}}}}}}\n"
    )


def scaler(spec: str) -> str:
    return (
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\n"
        f"spec: {{scaleTargetRef: {{kind: Deployment, name: web}}, {spec}}}\n"
    )


def spread(key: str, more: str = "whenUnsatisfiable: DoNotSchedule", skew: int = 1) -> str:
    return (
        f"topologySpreadConstraints: [{{maxSkew: {skew}, topologyKey: {key}, {more}, "
        "labelSelector: {matchLabels: {app: web}}}]"
    )


def anti_affinity(labels: str = "{app: web}") -> str:
    return (
        "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
        f"[{{topologyKey: {HOST}, labelSelector: {{matchLabels: {labels}}}}}]}}}}"
    )


def probed(text: str, delay: int, port: str = "") -> str:
    """Return the workload with a readiness probe of this delay."""
    probe = f"readinessProbe: {{tcpSocket: {{port: 80}}, initialDelaySeconds: {delay}}}{port}"
    return text.replace("'shop/web:1'", f"'shop/web:1', {probe}")


def fleet(*texts: str) -> Fleet | None:
    files = {f"{number}.yaml": text for number, text in enumerate(texts)}
    (pod,) = plan_files(files).pods
    noted: PodFacts = pod.facts[PodFacts]
    return noted.fleet


def disruption(kind: str, *texts: str, shutdown: float = 30) -> Disruption:
    found = fleet(*texts)
    assert found is not None
    return next(each for each in found.disruptions(seconds(shutdown)) if each.kind == kind)


@pytest.mark.parametrize(
    ("budgets", "pod", "least", "text"),
    [
        ((), "", 0, "no budget among the files: all 4 pods may be on one node and go at once"),
        ((), anti_affinity(), 3, "one of the 4 pods is on a node and goes at once"),
        ((), anti_affinity("{app: other}"), 0, "all 4 pods may be on one node"),
        ((), "hostNetwork: true", 3, "one of the 4 pods is on a node"),
        ((), spread(HOST), 2, "with 3 nodes up to 2 of 4 pods are on one"),
        ((), spread(HOST, skew=3), 1, "up to 3 of 4"),
        ((), spread(ZONE), 0, "all 4 pods may be on one node"),
        (
            (),
            spread(HOST, "whenUnsatisfiable: ScheduleAnyway"),
            0,
            "all 4 pods may be on one node, though rather on different ones and go at once",
        ),
        (
            ("maxUnavailable: 1",),
            "",
            3,
            "budget web lets 1 pod go at a time: at least 3 of 4 serve",
        ),
        (("maxUnavailable: 50%",), "", 2, "lets 2 pods go at a time: at least 2 of 4 serve"),
        (("maxUnavailable: 10",), "", 0, "lets 4 pods go at a time: there may be no pod"),
        (("minAvailable: 3",), "", 3, "lets 1 pod go at a time"),
        (("minAvailable: 60%",), "", 3, "lets 1 pod go at a time"),
        (("minAvailable: 5",), "", 4, "lets no pod go: it waits until somebody deletes the pods"),
        (("maxUnavailable: 0",), "", 4, "lets no pod go"),
        (("minAvailable: x",), "", None, "budget web limits it, to how many is not known"),
        (("maxUnavailable: 1", "minAvailable: 1"), "", None, "budget web, web limits it"),
    ],
)
def test_a_drain(budgets: tuple[str, ...], pod: str, least: int | None, text: str) -> None:
    found = disruption("drain", workload(pod=pod), *(budget(spec) for spec in budgets))
    assert text in found.text
    assert (found.least, found.replicas) == (least, 4)


def test_how_long_a_drain_takes() -> None:
    ready = "replicas: 4\n  minReadySeconds: 20"
    text = disruption("drain", workload(ready), budget("maxUnavailable: 1")).text
    # Three times 10 s (assumed) + 2 s to start + 20 s and a question each 5 s, then the last one's shutdown.
    assert text.endswith("a node with all 4 takes up to 141s")
    text = disruption("drain", workload(ready, spread(HOST)), budget("maxUnavailable: 1")).text
    assert text.endswith("a node with 2 of them takes up to 67s")
    one = workload(ready, anti_affinity())
    assert "takes up to" not in disruption("drain", one, budget("maxUnavailable: 1")).text
    # A StatefulSet's new pod starts once the old one is gone.
    ordered = workload("replicas: 2\n  serviceName: web", kind="StatefulSet")
    text = disruption("drain", ordered, budget("maxUnavailable: 1")).text
    assert text.endswith("a node with all 2 takes up to 77s")


@pytest.mark.parametrize(
    ("spec", "pod", "least", "text"),
    [
        ("replicas: 4", "", 0, "all 4 pods may be in one zone"),
        ("replicas: 4", spread(ZONE), 2, "with 3 zones up to 2 of 4 pods are in one"),
        ("replicas: 6", spread(ZONE), 4, "with 3 zones up to 2 of 6 pods are in one"),
        ("replicas: 1", spread(ZONE), 0, "the only pod is in one zone"),
        ("replicas: 4", anti_affinity(), 0, "all 4 pods may be in one zone"),
    ],
)
def test_a_zone_that_fails(spec: str, pod: str, least: int, text: str) -> None:
    found = disruption("zone", workload(spec, pod))
    goes = "goes" if found.replicas == 1 else "go"
    assert (found.least, found.text) == (least, f"{text}, and {goes} with it when it fails")


def test_a_rollout_is_drawn_with_what_the_probes_say() -> None:
    slow = "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 2}}\n  replicas: 4"
    found = disruption("rollout", workload(slow))
    assert (
        found.text
        == "at least 2 of 4 pods serve during a rollout of up to 24s (a new pod is ready within 12s, assumed)"
    )
    assert found.steps == ((ZERO, 2), (seconds(24), 4))
    assert found.changes_over_time
    # Twice 7 s, up to a period of the probe, and 2 s to start.
    assert disruption("rollout", probed(workload(slow), 7)).steps[-1] == (seconds(38), 4)
    assert not disruption("rollout", workload("replicas: 2")).changes_over_time
    none = workload("strategy: {type: Recreate}\n  replicas: 2")
    assert disruption("rollout", none).text.startswith("there may be no pod that serves")


POLICY = "policies: [{type: Pods, value: 2, periodSeconds: 15}]"


@pytest.mark.parametrize(
    ("behavior", "text"),
    [
        ("", "from 10 to 2 pods: all 8 may stop within a minute, 8 end at the same time"),
        (
            f"behavior: {{scaleDown: {{{POLICY}}}}}",
            "from 10 to 2 pods: all 8 may stop within a minute, 4 end at the same time",
        ),
        (
            f"behavior: {{scaleDown: {{{POLICY.replace('15', '60')}}}}}",
            "from 10 to 2 pods: up to 2 stop within a minute, 2 end at the same time",
        ),
        (
            "behavior: {scaleDown: {selectPolicy: Disabled}}",
            "from 10 to 2 pods: the autoscaler may not scale down",
        ),
        (
            "behavior: {scaleDown: {policies: [{type: Percent, value: 50, periodSeconds: 60}]}}",
            "from 10 to 2 pods: up to 5 stop within a minute, 5 end at the same time",
        ),
        (
            "behavior: {scaleDown: {policies: [{type: Pods, value: x, periodSeconds: 60}]}}",
            "from 10 to 2 pods: all 8 may stop within a minute",
        ),
    ],
)
def test_a_scale_in(behavior: str, text: str) -> None:
    bounds = "minReplicas: 2, maxReplicas: 10"
    scaled = scaler(f"{bounds}, {behavior}" if behavior else bounds)
    found = disruption("scale-in", workload("minReadySeconds: 0"), scaled)
    assert found.text.startswith(text)


def test_keda_has_the_behavior_of_its_autoscaler() -> None:
    keda = (
        "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: web}\n"
        "spec: {scaleTargetRef: {name: web}, minReplicaCount: 1, maxReplicaCount: 5, advanced: "
        f"{{horizontalPodAutoscalerConfig: {{behavior: {{scaleDown: {{{POLICY}}}}}}}}}}}\n"
    )
    found = fleet(workload("minReadySeconds: 0"), keda)
    assert found is not None
    assert found.scale_down_period is not None
    assert found.scale_down_period.value == seconds(15)


def test_the_fewest_pods_of_an_autoscaler_count() -> None:
    found = disruption(
        "rollout", workload("minReadySeconds: 0"), scaler("minReplicas: 2, maxReplicas: 10")
    )
    assert found.text.startswith(
        "at least 2 of 2 pods (the autoscaler's minimum) serve during a rollout of up to "
    )


@pytest.mark.parametrize(
    "texts",
    [
        (workload("replicas: ${N}"),),
        (workload("minReadySeconds: 0", kind="DaemonSet"),),
        (workload("replicas: 3"), scaler("minReplicas: '${N}', maxReplicas: 10")),
        (workload("replicas: 3"), scaler("minReplicas: -1, maxReplicas: 10")),
    ],
)
def test_where_the_number_of_pods_is_open_nothing_is_said(texts: tuple[str, ...]) -> None:
    assert fleet(*texts) is None


def test_no_pods_need_nothing() -> None:
    found = fleet(workload("replicas: 0"))
    assert found is not None
    assert list(found.disruptions(seconds(30))) == []


def test_a_stateful_set_scales_in_one_after_the_other_unless_it_is_parallel() -> None:
    scaled = scaler("minReplicas: 1, maxReplicas: 4").replace("Deployment", "StatefulSet")
    in_order = disruption("scale-in", workload("serviceName: web", kind="StatefulSet"), scaled)
    assert in_order.text == (
        "from 4 to 1 pod: one after the other, each once the one before has gone (up to 30s each)"
    )
    spec = "podManagementPolicy: Parallel"
    parallel = disruption("scale-in", workload(spec, kind="StatefulSet"), scaled)
    assert "all 3 may stop within a minute, 3 end at the same time" in parallel.text


def test_the_time_without_a_pod() -> None:
    recreate = fleet(probed(workload("strategy: {type: Recreate}\n  replicas: 2"), 8))
    assert recreate is not None
    # The old pods' shutdown, then 8 s, a period of the probe, and 2 s to start.
    assert recreate.outage(seconds(30)) == seconds(50)
    assert recreate.drain_outage == ZERO
    rolling = fleet(workload("replicas: 1"))
    assert rolling is not None
    assert (rolling.outage(seconds(30)), rolling.drain_outage) == (ZERO, seconds(12))
    kept = fleet(workload("replicas: 1"), budget("maxUnavailable: 0"))
    assert kept is not None
    assert kept.drain_outage == ZERO


def test_pods_that_get_requests_before_they_listen() -> None:
    port = "ports: [{containerPort: 80}]"
    bare = fleet(workload().replace("'shop/web:1'", f"'shop/web:1', {port}"))
    with_probe = fleet(probed(workload(), 0, f", {port}"))
    assert bare is not None
    assert with_probe is not None
    assert (bare.unprobed, with_probe.unprobed) == (seconds(10), ZERO)


def test_a_stateful_set_of_an_autoscaler_is_not_one_pod_for_each_node() -> None:
    scaled = scaler("minReplicas: 1, maxReplicas: 4").replace("Deployment", "StatefulSet")
    files = {"a.yaml": workload("serviceName: web", kind="StatefulSet"), "b.yaml": scaled}
    files["c.yaml"] = workload("minReadySeconds: 0", kind="DaemonSet").replace("web", "agent")
    texts = {}
    for pod in plan_files(files).pods:
        noted: PodFacts = pod.facts[PodFacts]
        assert noted.rollout is not None
        texts[pod.id.kind] = noted.rollout.value.describe(seconds(30))
    assert "a drain leaves it alone" in texts["DaemonSet"]
    assert "drain" not in texts["StatefulSet"]
