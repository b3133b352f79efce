"""The behaviour of the clouds' load balancers, each with its source.

LBC is kubernetes-sigs/aws-load-balancer-controller, EKSBP aws/aws-eks-best-practices.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from shutdownlint.platforms.facts import SourcedValue

#: The time that AWS load balancers may send to a pod whose address they hold. The guide's example,
#: not a measured bound.
AWS_WINDOW: Final = SourcedValue(
    timedelta(seconds=10), "EKSBP networking/loadbalancing.adoc:356-371"
)
#: The same of Google's; its guide's number could not be confirmed, so the one of AWS is taken.
GKE_WINDOW: Final = SourcedValue(
    timedelta(seconds=10), "taken from AWS' guide: GKE publishes no number"
)
#: Application Gateway's ingress controller asks for a delay of at least this.
AGIC_WINDOW: Final = SourcedValue(
    timedelta(seconds=90),
    "Azure/application-gateway-kubernetes-ingress minimize-downtime-during-deployments.md:61",
)
#: The time that a load balancer in front of a gateway may go on sending to it.
GATEWAY_WINDOW: Final = SourcedValue(
    timedelta(seconds=10), "EKSBP networking/loadbalancing.adoc:356"
)
#: The range of a deregistration delay, in seconds.
DEREGISTRATION_RANGE: Final = SourcedValue(
    (0, 3600), "LBC docs/guide/ingress/annotations.md:1103, docs/guide/service/annotations.md:308"
)

ALB_PREFIX: Final = "alb.ingress.kubernetes.io/"
ALB_CLASS: Final = "alb"
#: The controllers of IngressClasses for ALBs, whatever their name: AWS' own, and EKS Auto Mode's
#: (EKS user guide auto-configure-alb.adoc).
ALB_CONTROLLERS: Final = frozenset(("ingress.k8s.aws/alb", "eks.amazonaws.com/alb"))
ALB_TARGET_TYPE: Final = f"{ALB_PREFIX}target-type"
ALB_ATTRIBUTES: Final = f"{ALB_PREFIX}target-group-attributes"
NLB_PREFIX: Final = "service.beta.kubernetes.io/aws-load-balancer-"
NLB_TARGET_TYPE: Final = f"{NLB_PREFIX}nlb-target-type"
NLB_TYPE: Final = f"{NLB_PREFIX}type"
NLB_ATTRIBUTES: Final = f"{NLB_PREFIX}target-group-attributes"
DEREGISTRATION_KEY: Final = "deregistration_delay.timeout_seconds"
#: The namespace label that makes new pods wait for their target (LBC pod_readiness_gate.md:6).
AWS_GATE_LABEL: Final = "elbv2.k8s.aws/pod-readiness-gate-inject"
#: Container-native load balancing (ingress-gce pkg/negannotation/negannotation.go:36).
GKE_NEG: Final = "cloud.google.com/neg"
AGIC_CLASSES: Final = ("azure/application-gateway", "azure-application-gateway")
AGIC_DRAINING: Final = "appgw.ingress.kubernetes.io/connection-draining"
AGIC_TIMEOUT: Final = "appgw.ingress.kubernetes.io/connection-draining-timeout"

#: The interval of health checks, in seconds, and the failures needed: for an NLB with nodes as
#: targets, behind a Service with externalTrafficPolicy Local.
NLB_CHECKS: Final = SourcedValue((10, 2), "LBC pkg/service/model_builder.go:158-164")
NLB_CHECK_KEYS: Final = (
    f"{NLB_PREFIX}healthcheck-interval",
    f"{NLB_PREFIX}healthcheck-unhealthy-threshold",
)
#: Another port for them than the Service's healthCheckNodePort.
NLB_CHECK_PORT: Final = f"{NLB_PREFIX}healthcheck-port"
#: Values of its type annotation for which AWS' controller makes an NLB.
NLB_TYPES: Final = ("external", "nlb")
#: The class of a Service that means the same (LBC docs/guide/service/nlb.md).
NLB_CLASS: Final = "service.k8s.aws/nlb"
#: That of EKS Auto Mode; which targets it takes by default was not read.
AUTO_NLB_CLASS: Final = "eks.amazonaws.com/nlb"
