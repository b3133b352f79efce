"""What a kubelet grants its pods when its node shuts down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers import check_text, run

if TYPE_CHECKING:
    from pathlib import Path

PODS = """\
---
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {selector: {app: shop}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: shop, labels: {app: shop}}
spec:
  %sterminationGracePeriodSeconds: 60
  containers: [{name: app, image: "shop/app:1"}]
"""
KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
OPENSHIFT = """\
apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: slow}
spec:
  kubeletConfig: {shutdownGracePeriod: 30s, shutdownGracePeriodCriticalPods: 10s}
"""
NODE_CLASS = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  userData: |
%s
"""
NODEADM = """\
    apiVersion: node.eks.aws/v1alpha1
    kind: NodeConfig
    spec:
      kubelet:
        config:
          shutdownGracePeriod: 30s
          shutdownGracePeriodCriticalPods: 10s
"""
BOTTLEROCKET = """\
    [settings.kubernetes]
    shutdown-grace-period = "40s"
    shutdown-grace-period-for-critical-pods = "15s"
"""
CRITICAL = "priorityClassName: system-node-critical\n  "


@pytest.mark.parametrize(
    ("config", "priority", "granted"),
    [
        (f"{KUBELET}shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s\n", "", "20s"),
        (
            f"{KUBELET}shutdownGracePeriod: 30s\nshutdownGracePeriodCriticalPods: 10s\n",
            CRITICAL,
            "10s",
        ),
        (f"{KUBELET}shutdownGracePeriod: 45s\n", "", "45s"),
        (OPENSHIFT, "", "20s"),
        (NODE_CLASS % NODEADM, "", "20s"),
        (NODE_CLASS % BOTTLEROCKET, "", "25s"),
        (NODE_CLASS % "    echo shutdownGracePeriod", "", ""),
        (f"{KUBELET}shutdownGracePeriod: 2m\n", "", ""),
        (f"{KUBELET}shutdownGracePeriod: 0s\n", "", ""),
        (KUBELET, "", ""),
        # Refused by the kubelet: the part is longer than the whole.
        (f"{KUBELET}shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s\n", "", ""),
        (f"{KUBELET}shutdownGracePeriod: soon\n", "", ""),
    ],
)
def test_a_kubelet_that_waits_less_than_a_pod_needs(
    config: str, priority: str, granted: str
) -> None:
    found = [f for f in check_text(config + PODS % priority).findings if f.rule == "SL169"]
    assert [f"gives this pod {granted} (" in f.message for f in found] == [True] * bool(granted)


@pytest.mark.parametrize(("granted", "shown"), [("30s", True), ("2m", False)])
def test_explain_says_what_is_left(granted: str, shown: bool, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"{KUBELET}shutdownGracePeriod: {granted}\n" + PODS % "")
    _, out, _ = run("explain", str(tmp_path), "--mesh=none")
    line = "when its node shuts down, the pod gets 30s of its 60s (the kubelet's configuration, line 3)"
    assert (line in out) is shown
