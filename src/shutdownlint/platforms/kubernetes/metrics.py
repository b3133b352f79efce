"""The time that a change of a pod takes until every node sends no more requests to it."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.metric import PropagationMetric
from shutdownlint.promql import equals

PROPAGATION_METRICS: Final = (
    PropagationMetric(
        "kubeproxy_network_programming_duration_seconds",
        True,
        "kubernetes pkg/proxy/metrics/metrics.go (NetworkProgrammingLatency: from the change of "
        "the pod or Service until the rules are synced)",
    ),
    PropagationMetric(
        "kubeproxy_sync_proxy_rules_duration_seconds",
        False,
        "kubernetes pkg/proxy/metrics/metrics.go (SyncProxyRulesLatency: one round of kube-proxy)",
    ),
    PropagationMetric(
        "workqueue_queue_duration_seconds",
        False,
        "kubernetes staging/src/k8s.io/component-base/metrics/prometheus/workqueue/metrics.go",
        (equals("name", "endpoint_slice"),),
    ),
    PropagationMetric(
        "workqueue_work_duration_seconds",
        False,
        "kubernetes staging/src/k8s.io/component-base/metrics/prometheus/workqueue/metrics.go",
        (equals("name", "endpoint_slice"),),
    ),
)
