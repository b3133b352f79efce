"""Objects that select pods, and settings that keep too few of them."""

from __future__ import annotations

import pytest

from tests.helpers import check_files, check_text, dedent, rule_lines

TEXT = """\
    apiVersion: v1
    kind: Service
    metadata: {name: shop, namespace: shop}
    spec: {selector: {app: SELECTED}, ports: [{port: 80, targetPort: PORT}]}
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop, namespace: shop}
    spec:
      REPLICAS
      selector: {matchLabels: {app: shop}}
      template:
        metadata: {labels: {app: shop}}
        spec:
          containers:
          - name: app
            image: shop/app:1
            ports: [{name: http, containerPort: 80}]
            lifecycle: {preStop: {sleep: {seconds: 5}}}
            PROBES
"""
READY = "readinessProbe: {httpGet: {path: /ready, port: http}}"


def found(
    selected: str = "shop",
    port: str = "http",
    replicas: str = "minReadySeconds: 0",
    probes: str = READY,
    more: str = "",
) -> list[str]:
    text = dedent(TEXT).replace("SELECTED", selected).replace("PORT", port)
    text = text.replace("REPLICAS", replicas).replace("PROBES", probes)
    return [rule for rule, _ in rule_lines(check_text(text + more).findings, notes=True)]


@pytest.mark.parametrize(
    ("port", "rules"),
    [
        ("http", []),
        ("web", ["SL190"]),
        ("8080", []),
        ("'8080'", ["SL003"]),
        ("http-envoy-prom", []),
        ("'${PORT_NAME}'", []),
    ],
)
def test_ports_of_services(port: str, rules: list[str]) -> None:
    assert found(port=port) == rules


def test_a_service_that_selects_nothing() -> None:
    assert found("web") == ["SL189"]
    assert found("'{{ .Values.app }}'") == []


@pytest.mark.parametrize(
    ("probes", "rules"),
    [
        ("args: []", ["SL182"]),
        (READY, []),
        (READY + "\n        livenessProbe: {httpGet: {path: /ready, port: http}}", ["SL183"]),
        (READY + "\n        livenessProbe: {httpGet: {path: /live, port: http}}", []),
        (
            READY
            + "\n        livenessProbe: {httpGet: {path: /ready, port: http}, failureThreshold: 9}",
            [],
        ),
    ],
)
def test_probes(probes: str, rules: list[str]) -> None:
    assert found(probes=probes) == rules


BUDGET = """---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: shop, namespace: shop}
spec: {%s, unhealthyPodEvictionPolicy: AlwaysAllow, selector: {matchLabels: {app: %s}}}
"""
SCALER = """---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: shop, namespace: shop}
spec: {scaleTargetRef: {kind: Deployment, name: shop}, minReplicas: %s, maxReplicas: 9}
"""


@pytest.mark.parametrize(
    ("more", "rules"),
    [
        ("", ["SL179", "SL184"]),
        (BUDGET % ("maxUnavailable: 1", "shop"), ["SL184"]),
        (BUDGET % ("maxUnavailable: 1", "web"), ["SL179", "SL184", "SL191"]),
    ],
)
def test_several_replicas(more: str, rules: list[str]) -> None:
    assert sorted(found(replicas="replicas: 3", more=more)) == rules


@pytest.mark.parametrize(
    ("least", "budget", "rules"),
    [
        (1, "maxUnavailable: 1", ["SL185"]),
        (2, "maxUnavailable: 1", []),
        (2, "minAvailable: 2", ["SL180"]),
        (2, "minAvailable: 1", []),
        (2, "minAvailable: 60%", ["SL180"]),
        (4, "minAvailable: 60%", []),
        (1, "minAvailable: 1", ["SL180"]),  # the drain is blocked, so no pod is missing
        (9, "minAvailable: 9", ["SL153"]),  # the replicas are known
    ],
)
def test_autoscalers(least: int, budget: str, rules: list[str]) -> None:
    assert sorted(found(more=BUDGET % (budget, "shop") + SCALER % least)) == rules


@pytest.mark.parametrize(
    ("budget", "enough"),
    [("minAvailable: 2", "to 3"), ("minAvailable: 60%", "to 3"), ("minAvailable: 80%", "to 5")],
)
def test_the_minimum_that_lets_a_pod_go(budget: str, enough: str) -> None:
    text = dedent(TEXT).replace("SELECTED", "shop").replace("PORT", "http")
    text = text.replace("REPLICAS", "minReadySeconds: 0").replace("PROBES", READY)
    findings = check_text(text + BUDGET % (budget, "shop") + SCALER % 2).findings
    (finding,) = (f for f in findings if f.rule == "SL180")
    assert finding.fix is not None
    assert finding.fix.description.endswith(enough)


OTHER = """---
apiVersion: apps/v1
kind: %s
metadata: {name: %s, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      %s
      containers: [{name: app, image: shop/app:1, ports: [{name: http, containerPort: 80}]}]
"""


def test_a_budget_of_several_workloads_counts_all_of_them() -> None:
    more = BUDGET % ("minAvailable: 2", "shop") + SCALER % 2
    assert "SL180" not in found(more=more + OTHER % ("Deployment", "canary", "hostNetwork: false"))


def test_ports_of_native_sidecars_count() -> None:
    sidecar = (
        "initContainers: [{name: agent, image: shop/agent:1, restartPolicy: Always, "
        "ports: [{name: metrics, containerPort: 9090}]}]"
    )
    more = OTHER % ("Deployment", "other", sidecar)
    assert "SL190" not in found(port="metrics", more=more)


def test_an_autoscaler_of_keda_without_a_kind_scales_a_deployment() -> None:
    scaler = """---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: shop, namespace: shop}
spec: {scaleTargetRef: {name: shop}, minReplicaCount: 2, triggers: [{type: rabbitmq}]}
"""
    text = OTHER % ("StatefulSet", "shop", "hostNetwork: false") + scaler
    assert "SL178" not in [rule for rule, _ in rule_lines(check_text(text).findings, notes=True)]
    assert "SL178" in found(more=scaler)


def test_labels_that_controllers_add() -> None:
    more = """---
apiVersion: v1
kind: Service
metadata: {name: first, namespace: shop}
spec: {selector: {statefulset.kubernetes.io/pod-name: shop-0}, ports: [{port: 80}]}
"""
    assert found(more=more) == []


OVERLAY = "resources: [../base, budget.yaml]\nnamespace: %s\n"


def overlays(**budgets: str) -> dict[str, str]:
    """Return a base with a Deployment, and an overlay with a budget for each environment."""
    files = {"base/kustomization.yaml": "resources: [app.yaml]\n", "base/app.yaml": WEB}
    for environment, label in budgets.items():
        files[f"{environment}/kustomization.yaml"] = OVERLAY % environment
        files[f"{environment}/budget.yaml"] = (
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
            f"spec: {{maxUnavailable: 1, selector: {{matchLabels: {{app: {label}}}}}}}\n"
        )
    return files


WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: 'shop/web:1'}]}
"""


def test_what_an_overlay_selects_is_looked_for_in_its_own_environment() -> None:
    found = check_files(overlays(prod="web", dev="wbe")).findings
    assert [f.region.file for f in found if f.rule == "SL191"] == ["dev/budget.yaml"]


def test_what_belongs_to_no_environment_may_select_in_each() -> None:
    shared = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: prod}\nspec: {selector: {app: %s}}\n"
    for label, rules in (("web", []), ("other", ["SL189"])):
        files = {**overlays(prod="web", dev="web"), "shared.yaml": shared % label}
        found = [f.rule for f in check_files(files).findings if f.rule == "SL189"]
        assert found == rules


def test_a_budget_is_named_in_what_is_said_of_it() -> None:
    text = (
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\n"
        "spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}\n---\n"
    )
    found = {f.rule: f.message for f in check_text(text + WEB.replace("web}", "other}")).findings}
    assert found["SL181"].startswith("budget web has no unhealthyPodEvictionPolicy")
    assert found["SL191"].startswith("budget web selects no pod")


FRONT = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
"""


@pytest.mark.parametrize(
    ("others", "single"),
    [
        ("", True),
        # Another version behind the same Service keeps serving.
        (WEB.replace("name: web}", "name: web-v2}"), False),
        (WEB.replace("app: web", "app: api").replace("name: web}", "name: api}"), True),
    ],
)
def test_one_replica_is_the_only_pod_of_its_service(others: str, single: bool) -> None:
    text = FRONT + WEB.replace("spec:\n  selector", "spec:\n  replicas: 1\n  selector")
    found = rule_lines(check_text(f"{text}---\n{others}").findings, notes=True)
    assert [line for rule, line in found if rule == "SL193"] == ([10] if single else [])


def test_a_gateway_shows_none_of_the_workloads_of_its_namespace() -> None:
    gateway = (
        "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: edge}\n"
        "spec: {gatewayClassName: istio, listeners: [{name: http, port: 80, protocol: HTTP}]}\n"
    )
    found = [f.rule for f in check_text(FRONT + gateway).findings]
    assert "SL189" not in found


def test_a_startup_probe_keeps_a_pod_unready_as_well() -> None:
    probe = "startupProbe: {httpGet: {path: /up, port: 8080}}"
    for more, missing in (("", True), (f", {probe}", False)):
        ports = "ports: [{containerPort: 8080}]"
        text = FRONT + WEB.replace("'shop/web:1'", f"'shop/web:1', {ports}{more}")
        assert ("SL182" in [f.rule for f in check_text(text).findings]) == missing


def test_what_belongs_to_no_environment_is_reported_once() -> None:
    budget = (
        "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: all, namespace: x}\n"
        "spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}\n"
    )
    files = {**overlays(prod="web", dev="web"), "shared.yaml": budget}
    found = [f.region.file for f in check_files(files).findings if f.rule == "SL181"]
    assert sorted(found) == ["dev/budget.yaml", "prod/budget.yaml", "shared.yaml"]
