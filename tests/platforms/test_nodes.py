"""Nodes that can be taken away, and the pods that are scheduled there."""

from __future__ import annotations

from datetime import timedelta

import pytest

from shutdownlint.platforms.nodes.platform import NodeFacts
from shutdownlint.shutdown.provenance import Setting
from tests.helpers import plan_pod_text

REQUIRED = """affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
                  - {key: eks.amazonaws.com/capacityType, operator: In, values: [SPOT]}"""


def pod(extra: str) -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata: {{name: shop}}
spec:
      {extra}
      containers: [{{name: app, image: a}}]
"""


def node_facts(text: str) -> NodeFacts:
    found: NodeFacts = plan_pod_text(text).facts[NodeFacts]
    return found


def length(setting: Setting[timedelta] | None) -> float | None:
    return None if setting is None else setting.value.total_seconds()


@pytest.mark.parametrize(
    ("extra", "certain", "possible"),
    [
        ("nodeSelector: {karpenter.sh/capacity-type: spot}", 120, None),
        ("nodeSelector: {karpenter.sh/capacity-type: on-demand}", None, None),
        (REQUIRED, 120, None),
        (REQUIRED.replace("[SPOT]", "[SPOT, ON_DEMAND]"), None, None),
        (REQUIRED.replace("operator: In", "operator: NotIn"), None, None),
        ("tolerations: [{key: cloud.google.com/gke-spot, value: 'true'}]", None, 15),
        ("tolerations: [{key: kubernetes.azure.com/scalesetpriority, value: spot}]", None, 30),
        ("tolerations: [{operator: Exists}]", None, None),
    ],
)
def test_spot(extra: str, certain: int | None, possible: int | None) -> None:
    found = node_facts(pod(extra))
    assert length(found.spot_notice) == certain
    assert length(found.possible_spot_notice) == possible


POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: batch}
spec: {template: {spec: {terminationGracePeriod: 2m%s}}}
---"""


@pytest.mark.parametrize(
    ("pool", "extra", "certain", "possible"),
    [
        (POOL % "", "nodeSelector: {karpenter.sh/nodepool: batch}", 120, None),
        (POOL % "", "nodeSelector: {karpenter.sh/nodepool: other}", None, None),
        (POOL % "", "nodeSelector: {}", None, 120),
        (POOL % ", taints: [{key: batch, effect: NoSchedule}]", "nodeSelector: {}", None, None),
        (POOL.replace("2m", "soon") % "", "nodeSelector: {}", None, None),
    ],
)
def test_node_pools(pool: str, extra: str, certain: int | None, possible: int | None) -> None:
    found = node_facts(pool + pod(extra))
    assert length(found.pool_grace) == certain
    assert length(found.possible_pool_grace) == possible
