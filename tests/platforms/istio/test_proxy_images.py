"""The proxy's image: its release, and whether it has a shell for a preStop hook."""

from __future__ import annotations

import pytest

from shutdownlint.shutdown.process import After
from tests.helpers import check_files, dedent, plan_files, user_facts

POD = dedent("""
    apiVersion: v1
    kind: Pod
    metadata:
      name: shop
      namespace: shop
      labels: {sidecar.istio.io/inject: "true"}
      annotations: {%s}
    spec:
      containers:
      - {name: app, image: 'shop/app:1'}
      - name: istio-proxy
        image: auto
        lifecycle: {preStop: {exec: {command: [sh, -c, "sleep 20"]}}}
""")
OPERATOR = dedent("""
    apiVersion: install.istio.io/v1alpha1
    kind: IstioOperator
    spec: {%s}
""")
TYPE = "sidecar.istio.io/proxyImageType: "
IMAGE = "sidecar.istio.io/proxyImage: "
CONFIG = "proxy.istio.io/config: "


@pytest.mark.parametrize(
    ("annotation", "operator", "has_shell"),
    [
        ("a: b", "tag: 1.24.1", True),
        (f"{TYPE}distroless", "tag: 1.24.1", False),
        (f"{TYPE}debug", "values: {global: {variant: distroless}}", True),
        (f"{IMAGE}'docker.io/istio/proxyv2:1.24.1-distroless'", "tag: 1.24.1", False),
        (f"{IMAGE}'docker.io/istio/proxyv2:1.24.1'", "tag: 1.24.1-distroless", True),
        (f"{CONFIG}'image: {{imageType: distroless}}'", "tag: 1.24.1", False),
        ("a: b", "values: {global: {variant: distroless}}", False),
        ("a: b", "tag: 1.24.1-distroless", False),
        ("a: b", "meshConfig: {defaultConfig: {image: {imageType: distroless}}}", False),
    ],
)
def test_a_hook_needs_a_shell(annotation: str, operator: str, has_shell: bool) -> None:
    files = {"pod.yaml": POD % annotation, "istio.yaml": OPERATOR % operator}
    found = {finding.rule for finding in check_files(files, user_facts(kubernetes="1.30")).findings}
    assert ("SL233" not in found) is has_shell
    (pod,) = plan_files(files, user_facts(kubernetes="1.30")).pods
    assert pod.plan is not None
    seconds = pod.plan.container("istio-proxy").hook.duration.value.low.total_seconds()
    assert seconds == (20 if has_shell else 0)


def test_the_image_shows_the_release() -> None:
    pod = POD % f"{IMAGE}'docker.io/istio/proxyv2:1.11.4'"
    (planned,) = plan_files({"pod.yaml": pod}).pods
    assert str(planned.versions["istio"]) == "1.11.4"


@pytest.mark.parametrize(("release", "seconds"), [("1.0.9", 0), ("1.1.0", 5), ("1.24.1", 5)])
def test_agents_before_1_1_kill_their_proxy(release: str, seconds: float) -> None:
    pod = POD % f"{IMAGE}'docker.io/istio/proxyv2:{release}'"
    (planned,) = plan_files({"pod.yaml": pod}).pods
    assert planned.plan is not None
    (phase,) = planned.plan.container("istio-proxy").process.phases
    assert isinstance(phase.ending, After)
    assert phase.ending.duration.value.total_seconds() == seconds
