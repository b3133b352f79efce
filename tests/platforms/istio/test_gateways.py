"""Gateways and waypoints: injected, installed, deployed for the Gateway API."""

from __future__ import annotations

import pytest

from shutdownlint.platforms.locations import source_location
from shutdownlint.platforms.traffic import LoadBalancerFacts
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.loss import LossKind
from shutdownlint.shutdown.request import Request
from tests.helpers import (
    check_text,
    dedent,
    plan_files,
    plan_of,
    plan_pod_text,
    rule_lines,
    user_facts,
)
from tests.platforms.istio.proxies import proxy_in, proxy_of

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


def outcomes(analysis: ShutdownAnalysis, *requests: tuple[float, float]) -> list[str]:
    """Return the outcomes of requests (arrival, duration), asked together."""
    asked = [Request(seconds(arrival), seconds(duration)) for arrival, duration in requests]
    return [answer.prediction.outcome for answer in analysis.predict(asked)]


def test_an_installed_gateway_reads_the_mesh_itself_and_only_its_own_variables() -> None:
    proxy = proxy_in(MESH.removesuffix("---\n") + "---" + INSTALLED)
    assert proxy is not None
    assert proxy.gateway
    assert proxy.exit_on_zero.value is True
    assert proxy.termination_drain.value == seconds(33)
    assert proxy.drain_duration.value == seconds(20)
    # neither the annotation's variable nor the mesh's gets into its environment
    assert proxy.minimum_drain.value == seconds(5)
    notes = rule_lines(check_text(INSTALLED).findings, notes=True)
    assert ("SL244", 13) in notes


def test_a_gateway_serves_alone_and_ends_by_its_own_clock() -> None:
    plan = plan_of(INSTALLED.replace('"true"', '"false"'))
    assert plan.targets == ()
    analysis = ShutdownAnalysis(plan)
    assert outcomes(analysis, (0, 5), (0, 6)) == ["ok", "cut"]
    assert outcomes(analysis, (5, 1)) == ["refused"]
    assert analysis.headroom.max_in_flight == seconds(5)
    assert [loss.kind for loss in analysis.losses] == [LossKind.LONG]


def test_exit_on_zero_waits_for_what_a_gateway_serves() -> None:
    analysis = ShutdownAnalysis(plan_of(INSTALLED))
    assert outcomes(analysis, (0, 25), (19, 1)) == ["ok", "ok"]
    # drainDuration closes every listener of a gateway
    assert outcomes(analysis, (0, 28), (21, 1)) == ["ok", "refused"]


@pytest.mark.parametrize(
    ("version", "grace", "exits_on_zero"), [("1.26", 90, True), ("1.25", 30, False)]
)
def test_a_gateway_of_the_gateway_api(version: str, grace: int, exits_on_zero: bool) -> None:
    pod = plan_pod_text(GATEWAY, user_facts(istio=version))
    plan, proxy = pod.plan, proxy_of(pod)
    assert plan is not None
    assert proxy is not None
    assert plan.grace.value.low == seconds(grace)
    assert proxy.termination_drain.value == seconds(12)
    assert proxy.exit_on_zero.value is exits_on_zero
    assert LoadBalancerFacts in pod.facts
    location = source_location(plan.grace)
    assert location is not None
    # the override's key, or where it could be
    assert location.region().line == (16 if grace == 90 else 4)


@pytest.mark.parametrize(("version", "grace"), [("1.27", 2), ("1.28", 30), ("1.17", 30)])
def test_waypoints_had_two_seconds(version: str, grace: int) -> None:
    text = """
        apiVersion: gateway.networking.k8s.io/v1
        kind: Gateway
        metadata: {name: waypoint, namespace: shop}
        spec: {gatewayClassName: istio-waypoint}
    """
    pod = plan_pod_text(text, user_facts(istio=version))
    proxy = proxy_of(pod)
    assert pod.plan is not None
    assert pod.plan.grace.value.low == seconds(grace)
    assert proxy is not None
    assert proxy.facts.waypoint
    assert LoadBalancerFacts not in pod.facts


def test_gateways_of_others_are_left_alone() -> None:
    other = GATEWAY.replace("gatewayClassName: istio", "gatewayClassName: eg")
    assert plan_files({"a.yaml": other}).pods == []
    networking = GATEWAY.replace("gateway.networking.k8s.io/v1", "networking.istio.io/v1")
    assert plan_files({"a.yaml": networking}).pods == []


def test_a_service_of_its_own_kind_is_not_a_load_balancer() -> None:
    inside = GATEWAY.replace(
        "metadata: {name: edge, namespace: shop}\nspec:\n  gatewayClassName",
        "metadata: {name: edge, namespace: shop, annotations: "
        "{networking.istio.io/service-type: ClusterIP}}\nspec:\n  gatewayClassName",
    )
    assert LoadBalancerFacts not in plan_pod_text(inside).facts


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
    run = plan_files({"values.yaml": text, "pod.yaml": pod})
    (found,) = [proxy for each in run.pods if (proxy := proxy_of(each)) is not None]
    assert found.termination_drain.value == seconds(44)


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
    assert rule_lines(result.findings) == [("SL218", 12)]
    broken = check_text(dedent(text).replace("meshConfig:\n", "meshConfig: [\n"))
    assert rule_lines(broken.findings) == []


def test_an_unquoted_boolean_in_helm_values_drops_the_whole_mesh_config() -> None:
    values = """
        meshConfig:
          defaultConfig:
            proxyMetadata:
              EXIT_ON_ZERO_ACTIVE_CONNECTIONS: true
    """
    result = check_text(dedent(values), name="values.yaml")
    assert rule_lines(result.findings) == [("SL218", 4)]
