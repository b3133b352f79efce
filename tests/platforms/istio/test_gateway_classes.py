"""Gateways of Istio's other classes."""

from __future__ import annotations

import pytest

from tests.helpers import check_text, rule_lines, user_facts

GATEWAY = """\
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: edge}
spec: {gatewayClassName: %s, listeners: [{name: http, port: 80, protocol: HTTP}]}
"""


@pytest.mark.parametrize(
    ("name", "rules", "skipped"),
    [
        ("istio-east-west", ["SL197"], []),
        ("istio-waypoint", ["SL197"], []),
        ("istio-agentgateway", [], ["agentgateway"]),
        ("istio-agentgateway-waypoint", [], ["agentgateway"]),
        ("other", [], []),
    ],
)
def test_classes(name: str, rules: list[str], skipped: list[str]) -> None:
    result = check_text(GATEWAY % name, user_facts(istio="1.27"))
    assert [rule for rule, _ in rule_lines(result.findings)] == rules
    assert [reason.code for reason in result.stats.skipped] == skipped
