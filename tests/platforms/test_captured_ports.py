"""Ports that do not pass a mesh's proxy: requests to them are not cut by it."""

from __future__ import annotations

import pytest

from shutdownlint.platforms.captured_ports import read_ports
from tests.helpers import check_text, plan_pod_text, user_facts

POD = """\
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: shop}
spec: {selector: {app: shop}, ports: [{port: 80, targetPort: %s}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: shop
  namespace: shop
  labels: {app: shop, %s}
  annotations: {%s}
spec:
  containers: [{name: app, image: 'shop/app:1', ports: [{name: web, containerPort: 8080}]}]
"""
TRAFFIC = "traffic.sidecar.istio.io/"
ISTIO = ("sidecar.istio.io/inject: 'true'", "")
LINKERD = ("a: b", "linkerd.io/inject: enabled, ")
CONSUL = ("a: b", "consul.hashicorp.com/connect-inject: 'true', ")
KUMA = ("kuma.io/sidecar-injection: enabled", "")


def front(label: str, annotation: str, target: str = "8080") -> tuple[str, ...]:
    facts = user_facts(istio="1.26" if label == ISTIO[0] else None)
    plan = plan_pod_text(POD % (target, label, annotation), facts).plan
    assert plan is not None
    assert plan.back
    return plan.front


@pytest.mark.parametrize(
    ("mesh", "annotation", "passes"),
    [
        (ISTIO, f"{TRAFFIC}excludeInboundPorts: '8080'", False),
        (ISTIO, f"{TRAFFIC}excludeInboundPorts: '9000, 8080'", False),
        (ISTIO, f"{TRAFFIC}excludeInboundPorts: '9000'", True),
        (ISTIO, f"{TRAFFIC}includeInboundPorts: '9000'", False),
        (ISTIO, f"{TRAFFIC}includeInboundPorts: '8080'", True),
        (ISTIO, f"{TRAFFIC}includeInboundPorts: '*'", True),
        # What is left out counts only where all ports are taken.
        (
            ISTIO,
            f"{TRAFFIC}includeInboundPorts: '8080', {TRAFFIC}excludeInboundPorts: '8080'",
            True,
        ),
        (ISTIO, f"{TRAFFIC}includeInboundPorts: many", True),
        (LINKERD, "config.linkerd.io/skip-inbound-ports: 8000-8100", False),
        (LINKERD, "config.linkerd.io/skip-inbound-ports: '25'", True),
        (CONSUL, "consul.hashicorp.com/transparent-proxy-exclude-inbound-ports: '8080'", False),
        (KUMA, "traffic.kuma.io/exclude-inbound-ports: '8080'", False),
    ],
)
@pytest.mark.parametrize("target", ["8080", "web"])
def test_ports(mesh: tuple[str, str], annotation: str, passes: bool, target: str) -> None:
    label, own = mesh
    assert bool(front(label, own + annotation, target)) is passes


def test_a_proxy_that_requests_do_not_pass_does_not_cut_them() -> None:
    for annotation, rules in ((f"{TRAFFIC}excludeInboundPorts: '8080'", False), ("a: b", True)):
        text = POD % ("8080", ISTIO[0], annotation)
        found = check_text(text, user_facts(istio="1.26", p99="10s")).findings
        assert any(finding.rule == "SL202" for finding in found) is rules


def test_calls_that_do_not_pass_the_proxy() -> None:
    annotation = f"{TRAFFIC}includeOutboundIPRanges: ''"
    plan = plan_pod_text(POD % ("8080", ISTIO[0], annotation), user_facts(istio="1.26")).plan
    assert plan is not None
    assert (bool(plan.front), plan.back) == (True, ())


def test_reading_ports() -> None:
    assert read_ports("80, 90-95,") == ((80, 80), (90, 95))
    for text in ("80,x", "-", "99999999999", "70000", "٨٠"):
        assert read_ports(text) is None


OPERATOR = """\
---
apiVersion: install.istio.io/v1alpha1
kind: IstioOperator
metadata: {name: istio, namespace: istio-system}
spec: {values: {global: {proxy: {%s}}}}
"""


@pytest.mark.parametrize(
    ("values", "annotation", "passes"),
    [
        ("excludeInboundPorts: '8080'", "", False),
        ("excludeInboundPorts: 8080", "", False),
        ("includeInboundPorts: '9000'", "", False),
        ("includeInboundPorts: '*'", "", True),
        # The pod's own annotation is stronger.
        ("excludeInboundPorts: '8080'", f"{TRAFFIC}excludeInboundPorts: '9000'", True),
        ("includeInboundPorts: '9000'", f"{TRAFFIC}includeInboundPorts: '8080'", True),
    ],
)
def test_ports_of_the_mesh(values: str, annotation: str, passes: bool) -> None:
    text = POD % ("8080", ISTIO[0], annotation) + OPERATOR % values
    plan = plan_pod_text(text, user_facts(istio="1.26")).plan
    assert plan is not None
    assert bool(plan.front) is passes
