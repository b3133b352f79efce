"""Load balancers outside the cluster: which one sends to a pod, and its settings."""

from __future__ import annotations

import pytest

from shutdownlint.platforms.traffic import LoadBalancerFacts
from shutdownlint.shutdown.durations import seconds
from tests.helpers import check_text, plan_pod_text, rule_lines

POD = """
apiVersion: v1
kind: Pod
metadata: {name: shop, namespace: shop, labels: {app: shop}}
spec: {containers: [{name: app, image: a, ports: [{containerPort: 80}]}]}
"""


def service(annotations: str = "", spec: str = "") -> str:
    return f"""
apiVersion: v1
kind: Service
metadata: {{name: shop, namespace: shop, annotations: {{{annotations}}}}}
spec: {{selector: {{app: shop}}, ports: [{{port: 80}}]{spec}}}
---"""


def ingress(annotations: str = "", kind: str = "alb", backend: str = "shop") -> str:
    return f"""
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: shop, namespace: shop, annotations: {{{annotations}}}}}
spec:
  ingressClassName: {kind}
  rules: [{{http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: {backend}, port: {{number: 80}}}}}}}}]}}}}]
---"""


def found(text: str, pod: str = POD) -> LoadBalancerFacts | None:
    return plan_pod_text(text + pod).facts.get(LoadBalancerFacts)


IP = "alb.ingress.kubernetes.io/target-type: ip"
DELAY = 'alb.ingress.kubernetes.io/target-group-attributes: "a=b, deregistration_delay.timeout_seconds = {}"'
NLB_IP = "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: ip"
NEG = "cloud.google.com/neg: '{\"ingress\": true}'"


@pytest.mark.parametrize(
    ("text", "name", "window", "delay"),
    [
        (service() + ingress(f"{IP}, {DELAY.format(25)}"), "an ALB", 10, 25),
        # the Service wins
        (
            service(f"{IP}, {DELAY.format(7)}") + ingress(f"{IP}, {DELAY.format(25)}"),
            "an ALB",
            10,
            7,
        ),
        (service() + ingress(), None, None, None),
        (service() + ingress("alb.ingress.kubernetes.io/target-type: instance"), None, None, None),
        (service() + ingress(IP, backend="other"), None, None, None),
        (service() + ingress(IP, kind="nginx"), None, None, None),
        (service(NLB_IP, ", type: LoadBalancer"), "an NLB", 10, None),
        (service(NLB_IP), None, None, None),
        (service(NEG), "Google", 10, None),
        (service("cloud.google.com/neg: '{not json'"), None, None, None),
        (service('cloud.google.com/neg: \'{"exposed_ports": {"80":{}}}\''), "Google", 10, None),
        (service() + ingress(kind="azure-application-gateway"), "Azure", 90, None),
        (
            service()
            + ingress(
                "appgw.ingress.kubernetes.io/connection-draining: 'true', "
                "appgw.ingress.kubernetes.io/connection-draining-timeout: '60'",
                kind="azure/application-gateway",
            ),
            "Azure",
            90,
            60,
        ),
        (
            service(f'{NEG}, cloud.google.com/backend-config: \'{{"default": "slow"}}\'')
            + """
apiVersion: cloud.google.com/v1
kind: BackendConfig
metadata: {name: slow, namespace: shop}
spec: {connectionDraining: {drainingTimeoutSec: 40}}
---""",
            "Google",
            10,
            40,
        ),
        (
            service(NEG)
            + """
apiVersion: networking.gke.io/v1
kind: GCPBackendPolicy
metadata: {name: slow, namespace: shop}
spec:
  default: {connectionDraining: {drainingTimeoutSec: 50}}
  targetRef: {kind: Service, name: shop}
---""",
            "Google",
            10,
            50,
        ),
        (
            service()
            + """
apiVersion: gateway.k8s.aws/v1beta1
kind: TargetGroupConfiguration
metadata: {name: slow, namespace: shop}
spec:
  targetReference: {name: shop}
  defaultConfiguration:
    targetType: ip
    targetGroupAttributes: [{key: deregistration_delay.timeout_seconds, value: "70"}]
---""",
            "an AWS load balancer",
            10,
            70,
        ),
        # another namespace's
        (service().replace("namespace: shop", "namespace: other") + ingress(IP), None, None, None),
    ],
)
def test_which_and_how_long(
    text: str, name: str | None, window: int | None, delay: int | None
) -> None:
    balancer = found(text)
    if name is None:
        assert balancer is None
        return
    assert balancer is not None
    assert balancer.name.value.startswith(name)
    assert balancer.window.value == seconds(window or 0)
    written = balancer.deregistration
    assert (written and written.value) == (None if delay is None else seconds(delay))


def test_jobs_get_no_traffic() -> None:
    job = POD.replace("spec: {containers", "spec: {restartPolicy: Never, containers")
    assert found(service() + ingress(IP), job) is None


@pytest.mark.parametrize(
    ("value", "fires"),
    [
        ("deregistration_delay.timeout_seconds=3600", False),
        ("deregistration_delay.timeout_seconds=3601", True),
        ("deregistration_delay.timeout_seconds=-1", True),
        ("deregistration_delay.timeout_seconds=30s", True),
        ("deregistration_delay.timeout_seconds=30,stickiness.enabled=true", False),
        ("deregistration_delay.timeout_seconds: 30", True),
        ("${ATTRIBUTES}", False),
    ],
)
def test_attributes_that_cannot_be_read(value: str, fires: bool) -> None:
    annotation = f'alb.ingress.kubernetes.io/target-group-attributes: "{value}"'
    lines = rule_lines(check_text(service() + ingress(annotation) + POD).findings)
    assert [each for each in lines if each[0] == "SL307"] == ([("SL307", 8)] if fires else [])


@pytest.mark.parametrize(
    ("controller", "is_alb"),
    [("ingress.k8s.aws/alb", True), ("eks.amazonaws.com/alb", True), ("nginx.org/ingress", False)],
)
def test_the_controller_of_a_class_decides(controller: str, is_alb: bool) -> None:
    shown = (
        "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: public}\n"
        f"spec: {{controller: {controller}}}\n---"
    )
    facts = found(f"\n{shown}" + service() + ingress(IP, kind="public"))
    assert (facts is not None) is is_alb


@pytest.mark.parametrize(
    ("load_balancer", "annotation", "is_nlb"),
    [
        ("service.k8s.aws/nlb", "", True),
        ("eks.amazonaws.com/nlb", "", False),  # its default of targets is not known
        (
            "eks.amazonaws.com/nlb",
            "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type: instance",
            True,
        ),
        ("tailscale", "", False),
    ],
)
def test_the_class_of_a_service_decides(load_balancer: str, annotation: str, is_nlb: bool) -> None:
    spec = f", type: LoadBalancer, externalTrafficPolicy: Local, loadBalancerClass: {load_balancer}"
    facts = found(service(annotation, spec))
    name = facts.name.value if facts is not None else ""
    assert (name == "an NLB with nodes as targets") is is_nlb
