"""Policies and webhooks that change pods are named where they may change one."""

from __future__ import annotations

import pytest

from tests.helpers import plan_files

POD = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: shop, namespace: shop}
    spec:
      selector: {matchLabels: {app: shop}}
      template:
        metadata: {labels: {app: shop}}
        spec: {containers: [{name: app, image: shop/app:1}]}
    """
KYVERNO = """
    apiVersion: kyverno.io/v1
    kind: %s
    metadata: {name: add-sleep%s}
    spec:
      rules:
      - name: sleep
        match: {any: [{resources: {kinds: [%s]}}]}
        mutate:
          patchStrategicMerge:
            spec:
              containers:
              - (name): "*"
                lifecycle: {preStop: {exec: {command: [sleep, "15"]}}}
    """
GATEKEEPER = """
    apiVersion: mutations.gatekeeper.sh/v1
    kind: Assign
    metadata: {name: grace}
    spec:
      applyTo: [{groups: [""], kinds: [Pod], versions: [v1]}]
      match: {namespaces: [%s]}
      location: spec.terminationGracePeriodSeconds
      parameters: {assign: {value: 60}}
    """
ADMISSION = """
    apiVersion: admissionregistration.k8s.io/v1beta1
    kind: MutatingAdmissionPolicy
    metadata: {name: sidecar-drain}
    spec:
      matchConstraints:
        resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [%s]}]
      mutations:
      - patchType: ApplyConfiguration
        applyConfiguration: {expression: "Object{spec: Object.spec{terminationGracePeriodSeconds: 60}}"}
    """
WEBHOOK = """
    apiVersion: admissionregistration.k8s.io/v1
    kind: MutatingWebhookConfiguration
    metadata: {name: %s}
    webhooks:
    - name: inject.example.com
      rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE], resources: [%s]}]
    """


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (KYVERNO % ("ClusterPolicy", "", "Pod"), "policy add-sleep may change the pods (preStop)"),
        (KYVERNO % ("ClusterPolicy", "", "v1/Pod"), "policy add-sleep may change the pods"),
        (KYVERNO % ("ClusterPolicy", "", "Deployment"), "policy add-sleep may change"),
        (KYVERNO % ("ClusterPolicy", "", "Service"), None),
        (KYVERNO % ("Policy", ", namespace: shop", "Pod"), "policy add-sleep may change"),
        (KYVERNO % ("Policy", ", namespace: other", "Pod"), None),
        (GATEKEEPER % "'sh*'", "Assign grace may change the pods (terminationGracePeriodSeconds)"),
        (GATEKEEPER % "other", None),
        (ADMISSION % "pods", "MutatingAdmissionPolicy sidecar-drain may change the pods"),
        (ADMISSION % "services", None),
        (WEBHOOK % ("vault-agent-injector", "pods"), "MutatingWebhookConfiguration vault-agent"),
        (WEBHOOK % ("all", "'*'"), "MutatingWebhookConfiguration all may change the pods: not"),
        (WEBHOOK % ("vault-agent-injector", "services"), None),
        (WEBHOOK % ("istio-sidecar-injector", "pods"), None),
    ],
)
def test_what_may_change_the_pods_is_an_assumption(policy: str, expected: str | None) -> None:
    (pod,) = plan_files({"pod.yaml": POD, "policy.yaml": policy}).pods
    assert pod.plan is not None
    found = [a.text for a in pod.plan.assumptions if "may change the pods" in a.text]
    assert [text.startswith(expected or "-") for text in found] == ([True] if expected else [])
