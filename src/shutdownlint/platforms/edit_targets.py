"""Where a pod's settings are written, or would be: the places that fixes and suggestions change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.document import EmbeddedNodeRef, NodeRef
from shutdownlint.platforms.istio import facts as istio
from shutdownlint.platforms.kubernetes.pods import GRACE
from shutdownlint.shutdown import HookKind, OriginKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.planner import Pod
    from shutdownlint.shutdown import ContainerPlan, ProxyPlan, Setting
    from shutdownlint.yaml_source.location import SourceLocation

#: Where a proxy's settings stand in proxy.istio.io/config.
_IN_ANNOTATION: Final = {
    "terminationDrain": ("terminationDrainDuration",),
    "drainDuration": ("drainDuration",),
    "exitOnZero": ("proxyMetadata", istio.EXIT_ON_ZERO_ENV),
    "minimumDrain": ("proxyMetadata", istio.MINIMUM_DRAIN_ENV),
}
_VARIABLES: Final = ("exitOnZero", "minimumDrain")


def slots_of(pod: Pod) -> dict[str | None, Mapping[str, SourceLocation]]:
    """The places of a pod's settings, by container; None is the pod's own.

    A setting that cannot be changed from here (a script, another object's last word) has none.
    """
    plan = pod.plan
    if plan is None:
        return {}
    grace = {"grace": pod.workload.spec / GRACE}
    found: dict[str | None, Mapping[str, SourceLocation]] = {None: grace}
    for container in plan.containers:
        found[container.name] = {**grace, **_container(container, sleeps=pod.sleeps)}
    if plan.proxy is not None:
        found[plan.proxy.name] = {**grace, **_proxy(plan.proxy, pod.workload)}
    return found


def _container(container: ContainerPlan, *, sleeps: bool) -> dict[str, SourceLocation]:
    found: dict[str, SourceLocation] = {}
    location = container.pre_stop.origin.location
    kind = container.hook.value.kind if container.hook is not None else HookKind.NONE
    if isinstance(location, NodeRef):
        if kind is HookKind.NONE:
            hook = location.parent / "lifecycle" / "preStop"
            found["preStop"] = hook / "sleep" / "seconds" if sleeps else hook / "exec"
        elif kind is HookKind.EXEC or (kind is HookKind.SLEEP and sleeps):
            found["preStop"] = location
    settings: dict[str, Setting[object] | None] = {
        "hook": container.hook,
        "livenessGrace": container.liveness_grace,
        "startupGrace": container.startup_grace,
        "stopSignal": container.stop_signal,
        "finishWithin": container.finish_within,
        "behaviour": container.behaviour,
    }
    for name, setting in settings.items():
        if (
            setting is not None
            and setting.origin.written_down
            and setting.origin.location is not None
        ):
            found[name] = setting.origin.location
    whole = _whole_hook(found.pop("hook", None)) if kind is not HookKind.NONE else None
    return {**found, "hook": whole} if whole is not None else found


def _proxy(proxy: ProxyPlan, workload: Workload) -> dict[str, SourceLocation]:
    host = workload.annotations / istio.CONFIG_ANNOTATION
    settings: dict[str, Setting[object]] = {
        "terminationDrain": proxy.termination_drain,
        "drainDuration": proxy.drain_duration,
        "exitOnZero": proxy.exit_on_zero,
        "minimumDrain": proxy.minimum_drain,
    }
    found: dict[str, SourceLocation] = {}
    for name, setting in settings.items():
        origin = setting.origin
        if origin.kind is OriginKind.EXPLICIT and origin.location is not None:
            found[name] = origin.location
            continue
        # A ProxyConfig object may have the last word, and no annotation reaches the environment of
        # a gateway that is not injected.
        beyond = origin.told.startswith("ProxyConfig ") or workload.group == istio.GATEWAY_GROUP
        if not (name in _VARIABLES and beyond):
            found[name] = EmbeddedNodeRef(host, None, _IN_ANNOTATION[name])
    if proxy.hook is not None and proxy.hook.origin.kind is OriginKind.EXPLICIT:
        hook = _whole_hook(proxy.hook.origin.location)
        if hook is not None:
            found["proxyHook"] = hook
    return found


def _whole_hook(location: SourceLocation | None) -> NodeRef | None:
    """The entry of the whole hook that something stands in."""
    if not isinstance(location, NodeRef) or "preStop" not in location.key_path:
        return None
    return NodeRef(location.document, location.key_path[: location.key_path.index("preStop") + 1])
