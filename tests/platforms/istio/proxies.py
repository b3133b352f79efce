"""A planned pod's Istio proxy, with everything that tests look at."""

from __future__ import annotations

from typing import Any

from shutdownlint.platforms.istio.process import ProxySettings
from shutdownlint.platforms.istio.proxy_plan import IstioProxyFacts
from shutdownlint.platforms.planned_pod import PlannedPod
from shutdownlint.platforms.user_facts import UserFacts
from shutdownlint.shutdown.pod_plan import Assumption, ContainerPlan, Role
from tests.helpers import plan_pod_text


class Proxy:
    """The settings of ``ProxySettings`` by their own names, and what the plan says."""

    def __init__(self, pod: PlannedPod, plan: ContainerPlan) -> None:
        self.facts: IstioProxyFacts = pod.container_facts[plan.name][IstioProxyFacts]
        self.settings: ProxySettings = self.facts.settings
        self.assumptions: tuple[Assumption, ...] = plan.assumptions
        self.version = str(pod.versions.get("istio", ""))
        self.gateway = plan.role is Role.EDGE

    def __getattr__(self, name: str) -> Any:
        return getattr(self.settings, name)


def proxy_of(pod: PlannedPod) -> Proxy | None:
    """Return the Istio proxy of a pod, if it has one."""
    if pod.plan is None:
        return None
    for plan in pod.plan.proxies:
        if IstioProxyFacts in pod.container_facts[plan.name]:
            return Proxy(pod, plan)
    return None


def proxy_in(text: str, facts: UserFacts | None = None) -> Proxy | None:
    """Return the Istio proxy of the only workload of a text."""
    return proxy_of(plan_pod_text(text, facts))
