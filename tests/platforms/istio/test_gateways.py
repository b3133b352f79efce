"""Gateways and waypoints: injected, installed, deployed for the Gateway API."""

from __future__ import annotations

import pytest

from shutdownlint.shutdown import Request, Shutdown, seconds
from tests.helpers import check_text, dedent, given, plan_of, read_files, told

INSTALLED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: istio-ingressgateway, namespace: istio-system}
spec:
  selector: {matchLabels: {istio: ingressgateway}}
  template:
    metadata:
      labels: {istio: ingressgateway, sidecar.istio.io/inject: "false"}
      annotations:
        proxy.istio.io/config: |
          drainDuration: 20s
          proxyMetadata:
            MINIMUM_DRAIN_DURATION: 9s
    spec:
      containers:
        - name: istio-proxy
          image: docker.io/istio/proxyv2:1.29.0
          args: [proxy, router]
          env:
            - {name: EXIT_ON_ZERO_ACTIVE_CONNECTIONS, value: "true"}
"""
MESH = """
apiVersion: v1
kind: ConfigMap
metadata: {name: istio, namespace: istio-system}
data:
  mesh: |
    defaultConfig:
      terminationDrainDuration: 33s
      proxyMetadata: {MINIMUM_DRAIN_DURATION: 15s}
---
"""
GATEWAY = """
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  gatewayClassName: istio
  infrastructure:
    annotations:
      proxy.istio.io/config: |
        terminationDrainDuration: 12s
    parametersRef: {group: "", kind: ConfigMap, name: edge}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: edge, namespace: shop}
data:
  deployment: |
    spec:
      template:
        spec:
          terminationGracePeriodSeconds: 90
          containers:
            - name: istio-proxy
              env: [{name: EXIT_ON_ZERO_ACTIVE_CONNECTIONS, value: "true"}]
"""


def test_an_installed_gateway_reads_the_mesh_itself_and_only_its_own_variables() -> None:
    proxy = plan_of(MESH.removesuffix("---\n") + "---" + INSTALLED, given()).proxy
    assert proxy is not None
    assert proxy.gateway
    assert proxy.exit_on_zero.value is True
    assert proxy.termination_drain.value == seconds(33)
    assert proxy.drain_duration.value == seconds(20)
    # neither the annotation's variable nor the mesh's gets into its environment
    assert proxy.minimum_drain.value == seconds(5)
    notes = told(check_text(INSTALLED).findings, notes=True)
    assert ("SL244", 13) in notes


def test_a_gateway_serves_alone_and_ends_by_its_own_clock() -> None:
    plan = plan_of(INSTALLED.replace('"true"', '"false"'))
    assert plan.serving is None
    ask = [Request(seconds(0), seconds(n)) for n in (5, 6)]
    served, cut = Shutdown(plan).ask([*ask])
    assert (served.outcome, cut.outcome, cut.at) == ("ok", "cut", seconds(5))
    (late,) = Shutdown(plan).ask([Request(seconds(5), seconds(1))])
    assert late.outcome == "refused"
    assert Shutdown(plan).headroom.in_flight == seconds(5)
    assert [loss.kind for loss in Shutdown(plan).losses] == ["requests in flight are cut"]


def test_exit_on_zero_waits_for_what_a_gateway_serves() -> None:
    shutdown = Shutdown(plan_of(INSTALLED))
    answers = shutdown.ask([Request(seconds(0), seconds(25)), Request(seconds(19), seconds(1))])
    assert [answer.outcome for answer in answers] == ["ok", "ok"]
    # drainDuration closes every listener of a gateway
    (refused,) = shutdown.ask([Request(seconds(0), seconds(28)), Request(seconds(21), seconds(1))])[
        1:
    ]
    assert refused.outcome == "refused"


@pytest.mark.parametrize(
    ("version", "grace", "exits_on_zero"), [("1.26", 90, True), ("1.25", 30, False)]
)
def test_a_gateway_of_the_gateway_api(version: str, grace: int, exits_on_zero: bool) -> None:
    plan = plan_of(GATEWAY, given(istio=version))
    assert plan.proxy is not None
    assert plan.grace.value.low == seconds(grace)
    assert plan.proxy.termination_drain.value == seconds(12)
    assert plan.proxy.exit_on_zero.value is exits_on_zero
    assert plan.balancer is not None
    region = plan.grace.origin.location.region() if plan.grace.origin.location else None
    assert region is not None
    # the override's key, or where it could stand
    assert region.line == (16 if grace == 90 else 4)


@pytest.mark.parametrize(("version", "grace"), [("1.27", 2), ("1.28", 30), ("1.17", 30)])
def test_waypoints_had_two_seconds(version: str, grace: int) -> None:
    text = """
        apiVersion: gateway.networking.k8s.io/v1
        kind: Gateway
        metadata: {name: waypoint, namespace: shop}
        spec: {gatewayClassName: istio-waypoint}
    """
    plan = plan_of(text, given(istio=version))
    assert plan.grace.value.low == seconds(grace)
    assert plan.proxy is not None
    assert plan.proxy.waypoint
    assert plan.balancer is None


def test_gateways_of_others_are_left_alone() -> None:
    other = GATEWAY.replace("gatewayClassName: istio", "gatewayClassName: eg")
    assert read_files({"a.yaml": other}).pods == []
    networking = GATEWAY.replace("gateway.networking.k8s.io/v1", "networking.istio.io/v1")
    assert read_files({"a.yaml": networking}).pods == []


def test_a_service_of_its_own_kind_is_no_load_balancer() -> None:
    inside = GATEWAY.replace(
        "metadata: {name: edge, namespace: shop}\nspec:\n  gatewayClassName",
        "metadata: {name: edge, namespace: shop, annotations: "
        "{networking.istio.io/service-type: ClusterIP}}\nspec:\n  gatewayClassName",
    )
    assert plan_of(inside).balancer is None


@pytest.mark.parametrize(
    "text",
    [
        """
        meshConfig:
          defaultConfig:
            terminationDrainDuration: 44s
        """,
        """
        apiVersion: helm.toolkit.fluxcd.io/v2
        kind: HelmRelease
        metadata: {name: istiod, namespace: istio-system}
        spec:
          chart: {spec: {chart: istiod, version: 1.26.1}}
          values: {meshConfig: {defaultConfig: {terminationDrainDuration: 44s}}}
        """,
        """
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: istiod}
        spec:
          source:
            chart: istiod
            targetRevision: 1.26.1
            helm: {valuesObject: {meshConfig: {defaultConfig: {terminationDrainDuration: 44s}}}}
        """,
        """
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: istiod}
        spec:
          sources:
            - path: elsewhere
            - chart: istiod
              targetRevision: 1.26.1
              helm:
                values: |
                  meshConfig:
                    defaultConfig:
                      terminationDrainDuration: 44s
        """,
    ],
)
def test_helm_values_carry_the_mesh_configuration(text: str) -> None:
    pod = """
apiVersion: v1
kind: Pod
metadata: {name: shop, labels: {sidecar.istio.io/inject: "true"}}
spec: {containers: [{name: app, image: a}]}
"""
    scene = read_files({"values.yaml": text, "pod.yaml": pod})
    (found,) = [p for p in scene.pods if p.plan]
    assert found.plan is not None
    assert found.plan.proxy is not None
    assert found.plan.proxy.termination_drain.value == seconds(44)


def test_the_text_of_an_applications_values_has_places() -> None:
    text = """
        apiVersion: argoproj.io/v1alpha1
        kind: Application
        metadata: {name: istiod}
        spec:
          source:
            path: charts
            targetRevision: v1.4.0
            helm:
              values: |
                meshConfig:
                  defaultConfig:
                    proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: true}
    """
    result = check_text(dedent(text), name="application.yaml")
    assert told(result.findings) == [("SL218", 12)]
    broken = check_text(dedent(text).replace("meshConfig:\n", "meshConfig: [\n"))
    assert told(broken.findings) == []


def test_an_unquoted_boolean_in_helm_values_drops_the_whole_mesh_config() -> None:
    values = """
        meshConfig:
          defaultConfig:
            proxyMetadata:
              EXIT_ON_ZERO_ACTIVE_CONNECTIONS: true
    """
    result = check_text(dedent(values), name="values.yaml")
    assert told(result.findings) == [("SL218", 4)]
