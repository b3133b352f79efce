"""Names that people write for Istio's settings, and where they belong."""

from __future__ import annotations

import pytest

from tests.helpers import check_text, dedent, user_facts

POD = """
    apiVersion: v1
    kind: Pod
    metadata:
      name: shop
      namespace: shop
      labels: {sidecar.istio.io/inject: "true"}
      annotations: {'%s': '%s'}
    spec: {containers: [{name: app, image: 'shop/app:1'}]}
"""
CONFIG = "proxy.istio.io/config"


def messages(name: str, value: str = "{}") -> list[str]:
    found = check_text(dedent(POD) % (name, value), user_facts(istio="1.16")).findings
    return [finding.message for finding in found if finding.rule in ("SL213", "SL220")]


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("minDrainDuration", "MINIMUM_DRAIN_DURATION"),
        ("minimumDrainDuration", "MINIMUM_DRAIN_DURATION"),
        ("exitOnZeroActiveConnections", "EXIT_ON_ZERO_ACTIVE_CONNECTIONS"),
        ("exitOnZero", "EXIT_ON_ZERO_ACTIVE_CONNECTIONS"),
    ],
)
def test_the_agents_own_names_mean_variables(key: str, variable: str) -> None:
    (message,) = messages(CONFIG, f"{key}: 10s")
    assert message.endswith(f"it belongs in proxyMetadata.{variable}")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sidecar.istio.io/config", CONFIG),
        ("proxy.istio.io/Config", CONFIG),
        ("proxy.istio.io/proxyConfig", CONFIG),
        ("proxy.istio.io/proxy-config", CONFIG),
        ("sidecar.istio.io/NativeSidecar", "sidecar.istio.io/nativeSidecar"),
        (
            "traffic.sidecar.istio.io/excludeInboundports",
            "traffic.sidecar.istio.io/excludeInboundPorts",
        ),
    ],
)
def test_annotations_that_istio_has_not(name: str, meant: str) -> None:
    (message,) = messages(name)
    assert message.endswith(f"Istio has no such annotation, {meant} is meant")


@pytest.mark.parametrize("name", [CONFIG, "example.com/config", "sidecar.istio.io/inject"])
def test_annotations_that_mean_themselves(name: str) -> None:
    assert not messages(name, "{}" if name == CONFIG else "true")


@pytest.mark.parametrize(("release", "reported"), [("1.9", []), ("1.16", ["SL221"])])
def test_the_variable_of_old_agents(release: str, reported: list[str]) -> None:
    value = 'proxyMetadata: {TERMINATION_DRAIN_DURATION_SECONDS: "30"}'
    findings = check_text(dedent(POD) % (CONFIG, value), user_facts(istio=release)).findings
    found = [finding for finding in findings if finding.rule == "SL221"]
    assert [finding.rule for finding in found] == reported
    for finding in found:
        assert finding.fix is not None
        assert "terminationDrainDuration: 30s" in finding.fix.description


MESH_CONFIG = """
    proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: 'true'}
    defaultConfig: {proxyMetadata: {EXIT_ON_ZERO_ACTIVE_CONNECTIONS: true}}
"""
OPERATOR = """
    apiVersion: install.istio.io/v1alpha1
    kind: IstioOperator
    spec:
      meshConfig: %s
"""


def test_an_operator_is_read_as_strictly_as_the_mesh_config_that_it_makes() -> None:
    indented = dedent(MESH_CONFIG).replace("\n", "\n        ")
    found = check_text(dedent(OPERATOR) % ("\n        " + indented)).findings
    assert [(finding.rule, finding.region.line) for finding in found] == [
        ("SL213", 5),
        ("SL218", 6),
    ]
    assert found[0].message.endswith("it belongs in defaultConfig.proxyMetadata")
    assert "quote it" in found[1].message
