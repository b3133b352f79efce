"""Where a longer delay does not help those who send requests, it is no warning."""

from __future__ import annotations

import pytest

from tests.helpers import check_text

TEXT = """\
apiVersion: v1
kind: Service
metadata: {name: agent, namespace: shop}
spec: {selector: {app: agent}, internalTrafficPolicy: %s, ports: [{port: 80, name: %s}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: shop}
spec:
  selector: {matchLabels: {app: agent}}
  updateStrategy: {rollingUpdate: %s}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: "agent:1", ports: [{containerPort: 80}]}]}
"""


@pytest.mark.parametrize(
    ("policy", "port", "update", "severity"),
    [
        ("Local", "http", "{}", "note"),
        ("Local", "http", "{maxSurge: 1, maxUnavailable: 0}", "warning"),
        ("Cluster", "http", "{}", "warning"),
        ("Cluster", "http-profiling", "{}", "note"),
    ],
)
def test_a_delay_helps_only_where_another_pod_can_take_over(
    policy: str, port: str, update: str, severity: str
) -> None:
    found = check_text(TEXT % (policy, port, update)).findings
    assert [f.severity for f in found if f.rule == "SL108"] == [severity]
