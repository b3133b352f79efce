"""A sidecar that is written in the pod: what the annotations of an injected one do not reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers import run

if TYPE_CHECKING:
    from pathlib import Path

POD = """\
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: shop}
spec: {selector: {app: shop}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: shop
  namespace: shop
  labels: {app: shop}
  annotations: {sidecar.istio.io/status: "{}"}
spec:
  containers:
    - name: app
      image: shop/app:1
      ports: [{containerPort: 8080}]
    - name: istio-proxy
      image: docker.io/istio/proxyv2:%s
      args: [proxy, sidecar]
"""


@pytest.mark.parametrize(("version", "fixed"), [("1.18.5", True), ("1.3.0", False)])
def test_its_fix_is_one_that_it_reads(tmp_path: Path, version: str, fixed: bool) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(POD % version)
    out = run("check", "--isolated", "--select", "SL203", str(file))[1]
    assert "EXIT_ON_ZERO" not in out
    assert ("TERMINATION_DRAIN_DURATION_SECONDS" in out) is not fixed
    assert "for all pods at once" not in out
    _, _, err = run("check", "--isolated", "--select", "SL203", "--unsafe-fixes", str(file))
    assert ("terminationDrainDuration: " in file.read_text()) is fixed
    assert ("fixed 1 finding" in err) is fixed
