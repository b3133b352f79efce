"""Plans from bare numbers: the model needs no manifest."""

from __future__ import annotations

from msgspec.structs import replace

from shutdownlint.platforms.istio.process import (
    ProxyMode,
    ProxySettings,
    proxy_knobs,
    proxy_process,
    proxy_switch,
)
from shutdownlint.shutdown.durations import DurationRange, seconds
from shutdownlint.shutdown.pod_plan import ContainerPlan, Effect, Knob, PodPlan, Role
from shutdownlint.shutdown.process import Hook, Process, abrupt, graceful, ignoring
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

HERE = Origin(OriginKind.EXPLICIT, "here")


def between(low: float, high: float | None = -1) -> DurationRange:
    """Return a range; without ``high`` an exact duration, with None an open one."""
    top = None if high is None else seconds(low if high == -1 else high)
    return DurationRange(seconds(low), top)


def app(
    name: str = "app",
    pre_stop: float | DurationRange = 0,
    drain: float = 0,
    behaviour: str = "graceful",
    serves: bool = True,
    native_sidecar: bool = False,
    limit: float | None = None,
) -> ContainerPlan:
    value = pre_stop if isinstance(pre_stop, DurationRange) else between(pre_stop)
    hook = Setting("preStop", value, HERE)
    return ContainerPlan(
        name,
        Hook(hook),
        _app_process(behaviour, drain, limit),
        Role.HELPER if native_sidecar else Role.APP,
        serves=serves,
        native_sidecar=native_sidecar,
        knobs=(Knob("preStop", Effect.DELAYS_SIGNAL, hook),),
    )


def _app_process(behaviour: str, drain: float, limit: float | None) -> Process:
    if behaviour == "abrupt":
        return abrupt()
    if behaviour == "ignoring":
        return ignoring()
    setting = None if limit is None else Setting("limit", seconds(limit), HERE)
    return graceful(Setting("drain", seconds(drain), HERE), setting)


def proxy(
    mode: ProxyMode = ProxyMode.CLASSIC,
    pre_stop: float = 0,
    exit_on_zero: bool = False,
    minimum: float = 5,
    termination: float = 5,
    drain: float = 45,
    hook: bool | None = None,
    written: bool = True,
) -> ContainerPlan:
    """Istio's proxy. What is not ``written`` is a default, so it may be switched."""
    origin = HERE if written else Origin(OriginKind.DEFAULT, "Istio's default")
    settings = ProxySettings(
        Setting("mode", mode, HERE),
        Setting("EXIT_ON_ZERO_ACTIVE_CONNECTIONS", exit_on_zero, origin),
        Setting("MINIMUM_DRAIN_DURATION", seconds(minimum), HERE),
        Setting("terminationDrainDuration", seconds(termination), origin),
        Setting("drainDuration", seconds(drain), HERE),
        drain_hook=(mode is ProxyMode.NATIVE) if hook is None else hook,
    )
    return ContainerPlan(
        "istio-proxy",
        Hook(Setting("preStop", between(pre_stop), HERE)),
        proxy_process(settings),
        Role.EDGE if mode is ProxyMode.GATEWAY else Role.PROXY,
        native_sidecar=mode is ProxyMode.NATIVE,
        knobs=proxy_knobs(settings),
        switch=proxy_switch(settings),
    )


def plan(
    *containers: ContainerPlan,
    grace: float | DurationRange = 30,
    proxy: ContainerPlan | None = None,
) -> PodPlan:
    value = grace if isinstance(grace, DurationRange) else between(grace)
    sidecar = () if proxy is None else (proxy,)
    edge = proxy is not None and proxy.role is Role.EDGE
    path = (proxy.name,) if proxy is not None and not edge else ()
    apps = () if edge else containers or (app(),)
    setting = Setting("terminationGracePeriodSeconds", value, HERE)
    return PodPlan(setting, (*apps, *sidecar), path, path)


def with_grace(plan: PodPlan, value: DurationRange) -> PodPlan:
    return replace(plan, grace=Setting(plan.grace.name, value, HERE))


def with_hook(plan: PodPlan, name: str, value: DurationRange) -> PodPlan:
    """Return the plan with another duration of one container's hook."""
    containers = tuple(
        replace(c, hook=Hook(Setting("preStop", value, HERE))) if c.name == name else c
        for c in plan.containers
    )
    return replace(plan, containers=containers)
