"""Nodes that end on their own clock, and the pods that land there."""

from __future__ import annotations

import pytest

from shutdownlint.shutdown import seconds
from tests.helpers import plan_of

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
    plan = plan_of(pod(extra))
    assert (plan.spot_notice and plan.spot_notice.value) == (certain and seconds(certain))
    assert (plan.maybe_spot and plan.maybe_spot.value) == (possible and seconds(possible))


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
    plan = plan_of(pool + pod(extra))
    assert (plan.node_grace and plan.node_grace.value) == (certain and seconds(certain))
    assert (plan.maybe_node_grace and plan.maybe_node_grace.value) == (
        possible and seconds(possible)
    )
