"""The signs of a pod's shutdown in Istio's agent and Envoy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.istio.proxy_plan import IstioProxyFacts
from shutdownlint.platforms.observation import Observation
from shutdownlint.shutdown.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.platforms.istio.process import ProxySettings
    from shutdownlint.platforms.planned_pod import PlannedPod

_AGENT: Final = "istio pkg/envoy/agent.go:139-243"
_CONNECTIONS: Final = Observation(
    'kubectl exec $namespace "$pod" -c istio-proxy -- pilot-agent request GET '
    "'stats?usedonly&filter=downstream_cx_active$'",
    "the connections that exit-on-zero waits for, outbound ones too.",
    "istio pkg/envoy/agent.go:238-281",
)
_FLAGS: Final = Observation(
    "kubectl logs CLIENT -c istio-proxy --follow (the access log of a client or gateway)",
    "response flags: UC: the connection was cut. UF: none could be opened. UH: no healthy pod. "
    "NR: no route. URX: retries are used up. DC: the client went away.",
    "envoy docs/root/configuration/observability/access_log/usage.rst (RESPONSE_FLAGS)",
)


def istio_observations(pod: PlannedPod) -> Iterator[Observation]:
    """Yield the agent's log lines, in their order, and the statistics it looks at."""
    for name, noted in pod.container_facts.items():
        facts: IstioProxyFacts | None = noted.get(IstioProxyFacts)
        if facts is None:
            continue
        settings = facts.settings
        command = f'kubectl logs $namespace "$pod" -c {name} --follow'
        yield Observation(command, " ".join(_lines(settings)), _AGENT)
        if settings.exit_on_zero.value and not settings.keeps_listening:
            yield _CONNECTIONS
        yield _FLAGS


def _lines(settings: ProxySettings) -> Iterator[str]:
    if settings.keeps_listening:
        yield "'Agent draining proxy' with the preStop hook; once the app has ended"
        yield "'Agent already drained, exiting immediately'."
        return
    yield "'Agent draining Proxy' at the stop signal; then"
    if settings.exit_on_zero.value:
        least = format_duration(settings.minimum_drain.value)
        yield f"'Agent draining proxy for {least}, then waiting for active connections', each"
        yield "second 'There are still n active connections', at the end 'There are no more active'"
        yield "'connections. terminating proxy...'."
        return
    waits = format_duration(settings.termination_drain.value)
    yield f"'Graceful termination period is {waits}, starting...', at the end 'Graceful termination"
    yield "period complete, terminating remaining proxies.'"
