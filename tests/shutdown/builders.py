"""Plans from bare numbers: the model needs no manifest."""

from __future__ import annotations

from shutdownlint.shutdown import (
    Behaviour,
    ContainerPlan,
    Origin,
    OriginKind,
    Plan,
    ProxyMode,
    ProxyPlan,
    Setting,
    Span,
    seconds,
)

HERE = Origin(OriginKind.EXPLICIT, "here")


def span(low: float, high: float | None = -1) -> Span:
    return Span(seconds(low), None if high is None else seconds(low if high == -1 else high))


def app(
    name: str = "app",
    pre_stop: float | Span = 0,
    drain: float = 0,
    behaviour: Behaviour = Behaviour.GRACEFUL,
    serves: bool = True,
    native_sidecar: bool = False,
) -> ContainerPlan:
    hook = pre_stop if isinstance(pre_stop, Span) else span(pre_stop)
    return ContainerPlan(
        name,
        Setting("preStop", hook, HERE),
        Setting("drain", seconds(drain), HERE),
        Setting("app", behaviour, HERE),
        serves,
        native_sidecar,
    )


def proxy(
    mode: ProxyMode = ProxyMode.CLASSIC,
    pre_stop: float = 0,
    exit_on_zero: bool = False,
    minimum: float = 5,
    termination: float = 5,
    drain: float = 45,
    hook: bool | None = None,
) -> ProxyPlan:
    return ProxyPlan(
        "istio-proxy",
        Setting("mode", mode, HERE),
        Setting("preStop", span(pre_stop), HERE),
        Setting("EXIT_ON_ZERO_ACTIVE_CONNECTIONS", exit_on_zero, HERE),
        Setting("MINIMUM_DRAIN_DURATION", seconds(minimum), HERE),
        Setting("terminationDrainDuration", seconds(termination), HERE),
        Setting("drainDuration", seconds(drain), HERE),
        drain_hook=(mode is ProxyMode.NATIVE) if hook is None else hook,
    )


def plan(
    *containers: ContainerPlan, grace: float | Span = 30, proxy: ProxyPlan | None = None
) -> Plan:
    value = grace if isinstance(grace, Span) else span(grace)
    return Plan(
        Setting("terminationGracePeriodSeconds", value, HERE), containers or (app(),), proxy
    )
