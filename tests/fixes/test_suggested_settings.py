"""Settings that suggest raises beside the pod's own: of load balancers and of helpers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.helpers import dedent, run

if TYPE_CHECKING:
    from pathlib import Path

BALANCED = dedent("""
    apiVersion: v1
    kind: Service
    metadata:
      name: shop
      annotations:
        service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip
        service.beta.kubernetes.io/aws-load-balancer-target-group-attributes: %s
    spec: {type: LoadBalancer, selector: {app: shop}, ports: [{port: 80, targetPort: 8080}]}
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: shop, labels: {app: shop}}
    spec:
      terminationGracePeriodSeconds: 120
      containers:
        - name: app
          image: shop/app:1
          ports: [{containerPort: 8080}]
          lifecycle: {preStop: {sleep: {seconds: 20}}}
""")


@pytest.mark.parametrize(
    ("written", "changed"),
    [
        ("deregistration_delay.timeout_seconds=30", "deregistration_delay.timeout_seconds=60"),
        ("a=1,deregistration_delay.timeout_seconds=5,b=2",
         "'a=1,deregistration_delay.timeout_seconds=60,b=2'"),
    ],
)  # fmt: skip
def test_the_deregistration_delay_is_a_setting_to_raise(
    written: str, changed: str, tmp_path: Path
) -> None:
    (tmp_path / "shop.yaml").write_text(BALANCED % written)
    options = ("--p99=60s", "--mesh=none", str(tmp_path))
    code, out, _ = run("suggest", *options)
    assert code == 0
    assert "-> 60s" in out
    assert "every request of up to 60s is served" in out
    code, _, _ = run("check", *options, "--unsafe-fixes", "--fix")
    assert (tmp_path / "shop.yaml").read_text() == BALANCED % changed
    assert code == 0


def test_a_helper_waits_for_the_last_request(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(
        dedent("""
        apiVersion: v1
        kind: Service
        metadata: {name: shop}
        spec: {selector: {app: shop}, ports: [{port: 80, targetPort: 8080}]}
        ---
        apiVersion: v1
        kind: Pod
        metadata: {name: shop, labels: {app: shop}}
        spec:
          containers:
            - name: app
              image: shop/app:1
              command: [daphne, "shop:asgi"]
              ports: [{containerPort: 8080}]
            - name: proxy
              image: gcr.io/cloud-sql-connectors/cloud-sql-proxy:2.14
              args: ["project:region:db"]
        """)
    )
    options = (str(tmp_path), "--p99=20s", "--mesh=none", "--kubernetes-version=1.32")
    _, out, _ = run("suggest", *options)
    assert "app preStop: 0s -> 25s" in out
    assert "proxy preStop: 0s -> 26s" in out
    assert "every request of up to 20s is served" in out
    run("check", *options, "--fix", "--unsafe-fixes")
    _, out, _ = run("explain", *options, "--format=json")
    assert json.loads(out)["workloads"][0]["lost"] == "none"
