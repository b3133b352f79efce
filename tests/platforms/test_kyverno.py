"""Policies that limit the grace period: only those that are certainly about the pod."""

from __future__ import annotations

import pytest

from shutdownlint.platforms.kyverno.platform import PolicyFacts
from shutdownlint.shutdown.durations import seconds
from tests.helpers import plan_pod_text

POD = """
apiVersion: v1
kind: Pod
metadata: {name: shop, namespace: shop}
spec: {containers: [{name: app, image: a}]}
"""


def policy(limit: str, match: str = "any: [{resources: {kinds: [Pod]}}]", more: str = "") -> str:
    return f"""
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: short}}
spec:
  rules:
    - name: other
      match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
      validate: {{deny: {{}}}}
    - name: short
      {more}
      match: {{{match}}}
      validate: {{pattern: {{spec: {{"=(terminationGracePeriodSeconds)": "{limit}"}}}}}}
---"""


@pytest.mark.parametrize(
    ("text", "cap"),
    [
        (policy("<=60"), 60),
        (policy("<60"), 59),
        (policy("1-45"), 45),
        (policy("30"), 30),
        (policy(">10"), None),
        (policy("<=60", "resources: {kinds: [v1/Pod]}"), 60),
        (policy("<=60", "any: [{resources: {kinds: [Service]}}]"), None),
        (policy("<=60", "any: [{resources: {kinds: [Pod], namespaces: [other]}}]"), None),
        (policy("<=60", more="exclude: {any: [{resources: {namespaces: [shop]}}]}"), None),
        (policy("<=60", more="preconditions: {all: [{key: a, operator: Equals, value: b}]}"), None),
        (
            policy("<=60")
            .replace("ClusterPolicy", "Policy")
            .replace("name: short}", "name: short, namespace: other}"),
            None,
        ),
    ],
)
def test_the_limit(text: str, cap: int | None) -> None:
    facts = plan_pod_text(text + POD).facts.get(PolicyFacts)
    found = facts.max_grace if facts is not None else None
    assert (found.value if found else None) == (cap and seconds(cap))
    if found is not None and found.origin.location is not None:
        assert found.origin.location.region().line == 12
