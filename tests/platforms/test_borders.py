"""Platforms at their borders: the least, the most, and the neighbours of what is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from shutdownlint.platforms.pods.controllers import Rollout
from shutdownlint.platforms.pods.pod_facts import PodFacts
from shutdownlint.platforms.programs.drain_hooks import drain_in_hook
from shutdownlint.shutdown.durations import seconds
from shutdownlint.yaml_source.location import FixedLocation, Region
from tests.helpers import check_files, check_text, dedent, plan_of, plan_pod_text, run, user_facts

if TYPE_CHECKING:
    from pathlib import Path

HERE = FixedLocation(Region("shop.yaml", 1, 1, 1, 1))
DEPLOYMENT = dedent("""\
    apiVersion: apps/v1
    kind: KIND
    metadata: {name: shop, namespace: shop}
    spec:
      selector: {matchLabels: {app: shop}}
      MORE
      template:
        metadata: {labels: {app: shop}}
        spec:
          containers: [{name: app, image: "shop/app:1", ports: [{containerPort: 8080}]CONTAINER}]
    """)


def workload(kind: str = "Deployment", more: str = "", container: str = "") -> str:
    text = DEPLOYMENT.replace("KIND", kind).replace("CONTAINER", container)
    return text.replace("  MORE\n", f"  {more}\n" if more else "")


def rollout_of(text: str) -> Rollout:
    facts = plan_pod_text(text).facts[PodFacts]
    assert facts.rollout is not None
    found: Rollout = facts.rollout.value
    return found


@pytest.mark.parametrize(("written", "batch"), [(0, 1), (1, 1), (3, 3)])
def test_a_daemon_set_replaces_one_pod_at_least(written: int, batch: int) -> None:
    update = f"updateStrategy: {{rollingUpdate: {{maxUnavailable: {written}}}}}"
    assert rollout_of(workload("DaemonSet", update)).batch == batch


def test_two_budgets_are_of_one_folder() -> None:
    budget = dedent("""\
        ---
        apiVersion: policy/v1
        kind: PodDisruptionBudget
        metadata: {name: NAME, namespace: shop}
        spec: {maxUnavailable: 1, selector: {matchLabels: {app: shop}}}
        """)
    one, two = budget.replace("NAME", "a"), budget.replace("NAME", "b")
    here = workload("Deployment", "replicas: 3")

    def reported(files: dict[str, str]) -> bool:
        return any(f.rule == "SL177" for f in check_files(files).findings)

    assert reported({"k8s/shop/all.yaml": here + one, "k8s/shop/more.yaml": two[4:]})
    assert not reported({"k8s/shop/all.yaml": here + one, "k8s/other/more.yaml": two[4:]})


@pytest.mark.parametrize(
    ("more", "container", "key", "line"),
    [
        ("terminationGracePeriodSeconds: 60", "", "terminationGracePeriodSeconds", 6),
        ("", ", terminationGracePeriodSeconds: 60", "terminationGracePeriodSeconds", 9),
    ],
)
def test_a_grace_period_one_level_off(more: str, container: str, key: str, line: int) -> None:
    result = check_text(workload("Deployment", more, container))
    found = [f for f in result.findings if key in f.message and f.region.line == line]
    assert len(found) == 1
    assert result.complete


def test_the_key_that_is_written_twice_is_named() -> None:
    text = workload("Deployment", "", ", imagePullPolicy: Always, imagePullPolicy: Never")
    (found,) = [f for f in check_text(text).findings if "imagePullPolicy" in f.message]
    assert found.region.line == 9


@pytest.mark.parametrize(
    ("command", "drains"),
    [
        (["kong", "quit"], True),
        (["kong", "health"], False),
        (["kong"], False),
        (["nginx", "-s", "quit"], True),
        (["nginx", "-s", "reload"], False),
    ],
)
def test_only_some_hooks_drain(command: list[str], *, drains: bool) -> None:
    assert (drain_in_hook(command, HERE) is not None) is drains


@pytest.mark.parametrize(
    ("written", "limit"),
    [("500ms", 0.5), ("PT1H30M5S", 5405), ("P1DT1M", 86_460), ("2m", 120), ("1h", 3600)],
)
def test_durations_of_spring(written: str, limit: float) -> None:
    variables = (
        '[{name: SPRING_LIFECYCLE_TIMEOUT_PER_SHUTDOWN_PHASE, value: "%s"}, '
        "{name: SERVER_SHUTDOWN, value: graceful}]"
    )
    container = f", command: [java, -jar, app.jar], env: {variables % written}"
    text = workload("Deployment", "", container).replace(
        "      containers", "      terminationGracePeriodSeconds: 100000\n      containers"
    )
    (app,) = plan_of(text, user_facts(mesh=["none"])).regular
    ends = [str(phase.ending) for phase in app.process.phases]
    assert any(repr(seconds(limit)) in text for text in ends), ends


def test_the_limit_of_a_mapping_is_at_its_key() -> None:
    text = workload("Deployment", "", ", lifecycle: {preStop: {sleep: {seconds: 10}}}") + dedent("""\
        ---
        apiVersion: v1
        kind: Service
        metadata: {name: shop, namespace: shop}
        spec: {selector: {app: shop}, ports: [{port: 80, targetPort: 8080}]}
        ---
        apiVersion: getambassador.io/v3alpha1
        kind: Mapping
        metadata: {name: shop, namespace: shop}
        spec:
          prefix: /
          service: http://shop.shop:80
          timeout_ms: 90000
        """)
    (found,) = [f for f in check_text(text).findings if f.rule == "SL461"]
    assert found.region.line == len(text.splitlines())
    assert "1m30s" in found.message or "90s" in found.message


def test_other_init_containers_leave_the_mesh_certain() -> None:
    namespace = dedent("""\
        apiVersion: v1
        kind: Namespace
        metadata: {name: shop, labels: {istio-injection: enabled}}
        ---
        """)
    text = workload().replace(
        "      containers", '      initContainers: [{name: init, image: "i:1"}]\n      containers'
    )
    assert "initContainers" in text
    plain, named = (
        plan_of(namespace + text.replace("name: init,", f"name: {name},"), user_facts(istio="1.26"))
        for name in ("init-db", "istio-proxy")
    )
    assert [proxy.name for proxy in plain.proxies] == ["istio-proxy"]
    # A plain init container of the proxy's name may be anything.
    assert named.proxies == ()


@pytest.mark.parametrize(
    ("kind", "applied", "matched", "changes"),
    [
        ("Assign", "Pod", "Job", True),
        ("Assign", "Job", "Pod", False),
        ("AssignMetadata", "Job", "Pod", True),
        ("AssignMetadata", "Pod", "Job", False),
    ],
)
def test_gatekeeper_names_kinds_in_two_places(
    kind: str, applied: str, matched: str, *, changes: bool
) -> None:
    policy = dedent(f"""\
        ---
        apiVersion: mutations.gatekeeper.sh/v1
        kind: {kind}
        metadata: {{name: grace}}
        spec:
          applyTo: [{{groups: [""], kinds: [{applied}], versions: [v1]}}]
          match: {{kinds: [{{apiGroups: ["*"], kinds: [{matched}]}}]}}
          location: 'metadata.annotations."proxy.istio.io/config"'
          parameters: {{assign: {{value: "terminationDrainDuration: 50s"}}}}
        """)
    plan = plan_of(workload() + policy, user_facts(mesh=["istio=1.26"]))
    named = any("Assign" in str(assumption) for assumption in plan.assumptions)
    drains = [getattr(each.process.phases[0].ending, "duration", None) for each in plan.proxies]
    applied_here = any(drain is not None and drain.value == seconds(50) for drain in drains)
    assert (named or applied_here) is changes


def test_a_scale_in_of_pods_that_end_at_once(tmp_path: Path) -> None:
    text = workload("Deployment", "replicas: 6") + dedent("""\
        ---
        apiVersion: autoscaling/v2
        kind: HorizontalPodAutoscaler
        metadata: {name: shop, namespace: shop}
        spec:
          scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
          minReplicas: 2
          maxReplicas: 10
        """)
    (tmp_path / "shop.yaml").write_text(text)
    config = tmp_path / "shutdownlint.toml"
    config.write_text('mesh = "none"\n[[workloads]]\nmatch = "shop"\napp = "abrupt"\n')
    out = run("explain", str(tmp_path / "shop.yaml"), "--config", str(config))[1]
    (line,) = [line for line in out.splitlines() if line.startswith("  scale-in")]
    assert int(line.split(" end at the same time")[0].split()[-1]) >= 1
