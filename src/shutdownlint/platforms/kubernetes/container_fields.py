"""The fields of containers that every rule can use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from shutdownlint.platforms.fields import (
    CaseView,
    Field,
    FieldType,
    plain_field,
    setting_field,
)
from shutdownlint.platforms.kubernetes.pod_fields import (
    load_balancer,
    pod_facts,
    proxy_assumptions,
    serving_containers,
)
from shutdownlint.platforms.pods.containers import ContainerFacts
from shutdownlint.platforms.pods.hooks import NO_HOOK, HookHandler
from shutdownlint.platforms.traffic import DEFAULT_PROPAGATION, SERVES_ASSUMED, MeshProxyFacts
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.provenance import CauseKind, Setting, with_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from shutdownlint.shutdown.durations import DurationRange
    from shutdownlint.shutdown.pod_plan import Assumption

_D, _B, _S = FieldType.DURATION, FieldType.BOOL, FieldType.STRING
_L = FieldType.STRINGS


def _serves_assumption(view: CaseView) -> tuple[Assumption, ...]:
    return (SERVES_ASSUMED,) if view.container.serves_assumed else ()


def _written(view: CaseView) -> ContainerFacts:
    found: ContainerFacts = view.container_facts(ContainerFacts)
    return found


def _handler(view: CaseView) -> HookHandler:
    found: ContainerFacts | None = view.container_facts(ContainerFacts)
    return found.handler.value if found is not None else NO_HOOK


def _hook_kind(view: CaseView) -> Setting[str]:
    handler = _written(view).handler
    return with_value(handler, handler.value.kind.value)


def _forwarding(view: CaseView) -> Setting[str]:
    forwarding = _written(view).forwarding
    return with_value(forwarding, forwarding.value.value)


def pre_stop(view: CaseView) -> Setting[DurationRange]:
    return view.container.hook.duration


def _propagation(view: CaseView) -> timedelta:
    """Return the longest of those that send to the container; at least that of a Service."""
    name = view.container.name
    windows = (
        sender.window.value
        for sender in view.plan.senders
        if not sender.containers or name in sender.containers
    )
    return max(windows, default=DEFAULT_PROPAGATION.value)


def _after_hook(view: CaseView) -> tuple[bool, timedelta]:
    """Whether the hook is abandoned, and how long SIGKILL follows on the stop signal."""
    timeline = view.idle()
    signal, kill = timeline.signal, timeline.kill
    # How long a hook takes that waits for the program depends on the requests that are open.
    if signal is None or kill is None or timeline.plan.hook.ending is not None:
        return False, ZERO
    return signal.cause.kind is CauseKind.HOOK_ABANDONED, kill.at - signal.at


def _longest_pre_stop(view: CaseView) -> timedelta:
    shown = (c for c in serving_containers(view) if not c.serves_assumed)
    return max((c.hook.duration.value.low for c in shown), default=ZERO)


def container_balancer(view: CaseView) -> Setting[str] | None:
    """Return the load balancer that leads to this container."""
    balancer = load_balancer(view)
    if balancer is None:
        return None
    elsewhere = balancer.containers and view.container.name not in balancer.containers
    return with_value(balancer.name, "") if elsewhere else balancer.name


def _mesh_proxy(view: CaseView) -> MeshProxyFacts | None:
    for proxy in view.plan.proxies:
        found: MeshProxyFacts | None = view.pod.container_facts[proxy.name].get(MeshProxyFacts)
        if found is not None:
            return found
    return None


def _mesh(view: CaseView) -> str:
    found = _mesh_proxy(view)
    return found.mesh if found is not None else ""


def _mesh_proxy_mode(view: CaseView) -> str:
    found = _mesh_proxy(view)
    return found.mode.value if found is not None else ""


def path_fields(app: Callable[[CaseView], CaseView | None]) -> tuple[Field, ...]:
    """Return the arithmetic of one container's path; ``app`` finds the container."""

    def ask(view: CaseView, get: Callable[[CaseView], Any]) -> Any:
        found = app(view)
        return None if found is None else get(found)

    def drain(view: CaseView) -> Setting[timedelta]:
        return _written(view).drain

    def required(view: CaseView) -> timedelta | None:
        p99 = view.plan.p99
        if p99 is None:
            return None
        return view.container.hook.duration.value.low + drain(view).value + p99.value

    def remaining(view: CaseView) -> timedelta:
        return view.plan.grace.value.low - view.container.hook.duration.value.low

    return (
        setting_field(
            "preStop",
            _D,
            "how long the container's preStop hook takes",
            lambda v: ask(v, pre_stop),
        ),
        setting_field(
            "drain",
            _D,
            "how long the app still accepts after its stop signal",
            lambda v: ask(v, drain),
        ),
        plain_field(
            "required", _D, "preStop + drain + p99; absent where p99 is", lambda v: ask(v, required)
        ),
        plain_field("remaining", _D, "grace - preStop", lambda v: ask(v, remaining)),
    )


CONTAINER_FIELDS: Final = (
    plain_field("container", _S, "the container's name", lambda view: view.container.name),
    plain_field(
        "serves",
        _B,
        "whether requests are sent to this container",
        lambda view: view.container.serves,
        _serves_assumption,
    ),
    plain_field(
        "nativeSidecar",
        _B,
        "whether it is an init container with restartPolicy Always",
        lambda view: view.container.native_sidecar,
    ),
    setting_field(
        "hook",
        _S,
        "its preStop handler: none, exec, httpGet, tcpSocket, sleep, empty, several",
        _hook_kind,
    ),
    plain_field(
        "handlers",
        _L,
        "the handlers that its preStop hook names",
        lambda view: list(_handler(view).handlers),
    ),
    plain_field(
        "hookCommand",
        _L,
        "the hook's command, word by word",
        lambda view: list(_handler(view).command),
    ),
    plain_field(
        "hookIsAbandoned",
        _B,
        "whether the hook takes the whole grace period and is abandoned",
        lambda view: _after_hook(view)[0],
    ),
    plain_field(
        "leftAfterHook",
        _D,
        "the time between the stop signal and SIGKILL",
        lambda view: _after_hook(view)[1],
    ),
    plain_field(
        "hookSeconds",
        _D,
        "what a sleep action asks for, as written; absent elsewhere",
        lambda view: _handler(view).seconds,
    ),
    plain_field(
        "hookHost",
        _S,
        "the host of an httpGet hook, empty for the pod itself",
        lambda view: _handler(view).host,
    ),
    plain_field(
        "hookFails",
        _S,
        "why the hook's command cannot work, empty where it can",
        lambda view: _handler(view).fails,
    ),
    plain_field(
        "meshProxy",
        _S,
        "how the pod's mesh proxy is put in: classic, native, or empty",
        _mesh_proxy_mode,
        proxy_assumptions,
    ),
    plain_field(
        "mesh",
        _S,
        "the mesh that the pod's proxy belongs to, or empty",
        _mesh,
        proxy_assumptions,
    ),
    plain_field(
        "hostNetwork",
        _B,
        "whether the pod uses the node's network",
        lambda view: pod_facts(view).host_network,
    ),
    plain_field(
        "propagationNeeded",
        _D,
        "how long new requests still arrive after termination starts",
        _propagation,
    ),
    setting_field(
        "behaviour",
        _S,
        "what the app does at its stop signal: graceful, abrupt, ignoring",
        lambda view: _written(view).behaviour,
    ),
    plain_field(
        "behaviourReason",
        _S,
        "why the app does that: the program, the setting, the configuration",
        lambda view: _written(view).behaviour.origin.label,
    ),
    plain_field(
        "startCommand",
        _L,
        "the container's command and arguments",
        lambda view: list(_written(view).command),
    ),
    plain_field("image", _S, "its image", lambda view: _written(view).image),
    plain_field(
        "longestPreStop",
        _D,
        "the longest preStop of the containers that are shown to serve",
        _longest_pre_stop,
    ),
    setting_field(
        "stopSignal",
        _S,
        "lifecycle.stopSignal; absent unless written",
        lambda view: _written(view).stop_signal,
    ),
    setting_field(
        "livenessGrace",
        _D,
        "the liveness probe's own grace period; absent unless written",
        lambda view: _written(view).liveness_grace,
    ),
    setting_field(
        "startupGrace",
        _D,
        "the startup probe's own grace period; absent unless written",
        lambda view: _written(view).startup_grace,
    ),
    setting_field(
        "signalForwarding",
        _S,
        "whether the stop signal gets past the shell that starts the app: yes, depends-on-shell, "
        "no, unknown",
        _forwarding,
    ),
    plain_field(
        "startScript",
        _S,
        "the shell script that starts the app, or empty",
        lambda view: _written(view).start_script,
    ),
)
