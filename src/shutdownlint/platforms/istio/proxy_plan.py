"""Istio's proxy in a pod: from its settings to a container of the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.manifests.document import EmbeddedNodeRef
from shutdownlint.platforms.captured_ports import CapturedPorts, read_ports, skipped_ports
from shutdownlint.platforms.edit_target import EditTarget, ValueFormat
from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.istio.effective_config import (
    EffectiveConfig,
    env_setting,
    field_setting,
    parse_duration,
)
from shutdownlint.platforms.istio.injection import Sidecar, is_waypoint
from shutdownlint.platforms.istio.process import (
    ProxyMode,
    ProxySettings,
    proxy_knobs,
    proxy_process,
    proxy_switch,
)
from shutdownlint.platforms.istio.proxyconfig import matches_stat, parse_bool
from shutdownlint.platforms.locations import node_ref, source_location
from shutdownlint.platforms.mesh_proxy import add_mesh_proxy
from shutdownlint.platforms.overrides import Overrides
from shutdownlint.platforms.pod_draft import ContainerDraft
from shutdownlint.platforms.pods.containers import whole_hook
from shutdownlint.platforms.pods.hooks import (
    NO_HOOK,
    HookHandler,
    HookKind,
    HookSettings,
    no_hook,
    read_pre_stop,
)
from shutdownlint.platforms.traffic import ClosesKeptConnections
from shutdownlint.shell.syntax import SHELLS, base_name
from shutdownlint.shutdown.durations import ZERO, DurationRange, format_duration
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.process import Hook
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting, with_value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.istio.mesh_config import Mesh
    from shutdownlint.platforms.istio.mesh_sources import MeshConfig
    from shutdownlint.platforms.pod_draft import PodDraft
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.versions import Version

#: Where a proxy's settings are in proxy.istio.io/config, and in defaultConfig.
_STEPS = {
    "terminationDrain": ("terminationDrainDuration",),
    "drainDuration": ("drainDuration",),
    "exitOnZero": ("proxyMetadata", facts.EXIT_ON_ZERO_ENV),
    "minimumDrain": ("proxyMetadata", facts.MINIMUM_DRAIN_ENV),
}
_VARIABLES = ("exitOnZero", "minimumDrain")


class IstioProxyFacts(Struct, frozen=True):
    """The facts that Istio's rules use.

    ``stats_matched``: the statistic that exit-on-zero reads is turned on in proxyStatsMatcher.
    ``calls_quit``: a command of the pod asks the proxy to end (/quitquitquit). ``waypoint``: it
    serves a namespace of an ambient mesh. ``image`` is empty where it is not written.
    """

    settings: ProxySettings
    hook: Setting[HookHandler]
    stats_matched: bool = False
    calls_quit: bool = False
    waypoint: bool = False
    image: str = ""

    @property
    def drain_hook_replaced(self) -> bool:
        """Whether another hook replaces the drain hook of a native sidecar."""
        replaces = self.hook.value.kind in (HookKind.NONE, HookKind.EXEC)
        return self.settings.native and not self.settings.drain_hook and replaces


def plan_proxy(
    draft: PodDraft,
    mesh: Mesh,
    sidecar: Sidecar,
    merged: EffectiveConfig,
    assumptions: tuple[Assumption, ...],
) -> list[Problem]:
    """Add the proxy to the pod; what is wrong with its settings is returned."""
    workload = draft.workload
    nearest = sidecar.ref / "name" if sidecar.ref else _nearest(workload)
    problems: list[Problem] = []
    image = _proxy_image(sidecar, mesh, merged, workload)
    hook = _own_hook(sidecar, mesh, workload)
    if facts.DISTROLESS in image and _needs_shell(hook.handler.value):
        # What the image does not have fails at once.
        hook = replace(hook, duration=with_value(hook.duration, DurationRange.exact(ZERO)))
    settings = _settings(sidecar, merged, nearest, problems)
    config, _ = mesh.config_for(sidecar.revision, draft.workload)
    replaced = config is not None and config.replaces_hook and hook.handler.value is NO_HOOK
    drain_hook = settings.native and not replaced and _drains(sidecar, hook.handler.value)
    waypoint = is_waypoint(workload)
    if waypoint and sidecar.version is None:
        assumptions += (_assume_grace(),)
    further = workload.template.metadata.annotations.get(facts.STATS_ANNOTATION, "")
    merged.stats_matched = merged.stats_matched or matches_stat(further)
    connection = _connection_settings(merged, sidecar.version)
    drain = connection.get(facts.CONNECTION_DRAIN_FIELD)
    settings = replace(
        settings,
        drain_hook=drain_hook,
        exit_on_zero_broken=_exit_on_zero_broken(sidecar.version, merged, waypoint=waypoint),
        early_idle_drain=_drains_idle_early(sidecar.version),
        idle_timeout=_idle_timeout(merged, connection),
        connection_drain=drain.value if drain is not None else facts.CONNECTION_DRAIN.value,
    )
    written = IstioProxyFacts(
        settings,
        hook.handler,
        stats_matched=merged.stats_matched,
        calls_quit=_any_command_contains(workload, facts.QUIT_PATH),
        waypoint=waypoint,
        image=image,
    )
    defaults = _mesh_defaults(config, mesh, workload)
    container = _add_container(
        draft,
        settings,
        hook,
        written,
        defaults,
        sidecar.version,
        _captured_ports(workload, merged, config),
        reached=not sidecar.already_injected,
    )
    container.assumptions = assumptions
    draft.note(_overrides(config, merged))
    # Nothing reads these variables where the sidecar is drained by its own hook.
    return [] if drain_hook else problems


def _assume_grace() -> Assumption:
    """Return the assumption that a waypoint's grace period is that of current releases."""
    grace, versions = facts.WAYPOINT_GRACE.value, facts.WAYPOINT_GRACE_IN.value
    text = (
        "Istio's version is not known: a current one is assumed; waypoints of Istio "
        f"{versions.text} have a grace period of {format_duration(grace)}"
    )
    return Assumption(text, "set --mesh istio=VERSION", about_versions=("istio",))


def _mesh_defaults(config: MeshConfig | None, mesh: Mesh, workload: Workload) -> Setting[str]:
    """Return where the defaults of the proxies could be set for many pods at once."""
    labels = mesh.context.namespace_labels(workload) or {}
    injected = facts.REVISION in labels or labels.get(facts.NAMESPACE_INJECTION) == "enabled"
    namespace = mesh.context.namespace_ref(workload) if injected else None
    location = config.location if config is not None else namespace
    origin = Origin(OriginKind.DEFAULT, "the mesh", location)
    return Setting("mesh defaults", facts.MESH_DEFAULTS, origin)


def _overrides(config: MeshConfig | None, merged: EffectiveConfig) -> Overrides:
    """Return what a pod replaces of its mesh's settings, and where these are written."""
    targets = {}
    if config is not None and config.defaults is not None:
        for name, steps in _STEPS.items():
            location = config.defaults
            for step in steps:
                location = location / step
            targets[name] = EditTarget(location, _format_of(name))
    names = {name: steps[-1] for name, steps in _STEPS.items()}
    return Overrides("istio", tuple(merged.overrides or ()), names, targets)


def _format_of(name: str) -> ValueFormat:
    return ValueFormat.STRING if name in _VARIABLES else ValueFormat.DURATION


def _settings(
    sidecar: Sidecar, merged: EffectiveConfig, nearest: NodeRef, problems: list[Problem]
) -> ProxySettings:
    exit_on_zero = env_setting(
        merged, facts.EXIT_ON_ZERO_ENV, facts.EXIT_ON_ZERO, parse_bool, nearest, problems
    )
    of_minimum: list[Problem] = []
    minimum = env_setting(
        merged,
        facts.MINIMUM_DRAIN_ENV,
        facts.MINIMUM_DRAIN_DURATION,
        parse_duration,
        nearest,
        of_minimum,
    )
    version = sidecar.version
    if version is not None and version < facts.EXIT_ON_ZERO_SINCE.value:
        label = f"Istio {version} does not know it"
        unset = Origin(OriginKind.DEFAULT, label, nearest)
        exit_on_zero = replace(exit_on_zero, value=False, origin=unset)
    older = version is not None and version < facts.TERMINATION_DRAIN_SINCE.value
    drain = field_setting(
        facts.STALE_DRAIN_ENV if older else "terminationDrainDuration",
        merged.termination_drain,
        facts.TERMINATION_DRAIN_DURATION,
        nearest,
    )
    if version is not None and version < facts.DRAIN_SINCE.value:
        ends = Origin(OriginKind.DEFAULT, f"Istio {version} ends its proxy at once", nearest)
        drain = replace(drain, value=ZERO, origin=ends)
    if exit_on_zero.value:  # the minimum is read with exit-on-zero only
        problems += of_minimum
    return ProxySettings(
        mode=sidecar.mode,
        exit_on_zero=exit_on_zero,
        minimum_drain=minimum,
        termination_drain=drain,
        drain_duration=field_setting(
            "drainDuration", merged.drain_duration, facts.DRAIN_DURATION, nearest
        ),
    )


def _add_container(
    draft: PodDraft,
    settings: ProxySettings,
    hook: HookSettings,
    written: IstioProxyFacts,
    defaults: Setting[str],
    version: Version | None,
    captured: CapturedPorts,
    *,
    reached: bool,
) -> ContainerDraft:
    container = ContainerDraft(facts.PROXY_CONTAINER, hook.duration, native_sidecar=settings.native)
    container.hook = Hook(hook.duration)
    container.process = proxy_process(settings)
    if version is None or version >= facts.TERMINATION_DRAIN_SINCE.value:
        shared = defaults if reached else None
        container.knobs += [replace(knob, shared=shared) for knob in proxy_knobs(settings)]
        _note_edit_targets(container, settings, hook, draft.workload, reached=reached)
    container.note(written)
    # Measured with Envoy 1.36 and 1.40: from the first answer after the drain call on.
    container.note(ClosesKeptConnections(settings.keeps_listening))
    known = version is None or version >= facts.EXIT_ON_ZERO_SINCE.value
    if known and set(_VARIABLES) <= set(container.edit_targets):
        container.switch = proxy_switch(settings)
    mode = settings.mode
    edge = mode.value is ProxyMode.GATEWAY
    add_mesh_proxy(
        draft,
        container,
        "istio",
        with_value(mode, mode.value.value),
        edge=edge,
        captured=captured,
    )
    return container


def _captured_ports(
    workload: Workload, merged: EffectiveConfig, config: MeshConfig | None
) -> CapturedPorts:
    """Return what passes the sidecar, by the pod's annotations or the mesh's, and a variable."""
    mesh_wide = config.captured if config is not None else {}
    annotations = {**mesh_wide, **workload.template.metadata.annotations}
    variable = merged.env.get(facts.INBOUND_PORTS_ENV)
    taken, written = annotations.get(facts.INBOUND_PORTS), facts.INBOUND_PORTS
    if taken is None and variable is not None:
        taken, written = variable[0], facts.INBOUND_PORTS_ENV
    calls = annotations.get(facts.OUTBOUND_ADDRESSES) != "" or bool(
        annotations.get(facts.OUTBOUND_PORTS)
    )
    if taken is None or taken.strip() == "*":
        return replace(skipped_ports(annotations, facts.SKIPPED_PORTS), calls=calls)
    ports = read_ports(taken)
    return CapturedPorts(ports, calls=calls, written=written)


def _note_edit_targets(
    container: ContainerDraft,
    settings: ProxySettings,
    hook: HookSettings,
    workload: Workload,
    *,
    reached: bool,
) -> None:
    """Note where the proxy's settings are written, or would be.

    ``reached``: the annotation becomes the proxy's environment when the pod is injected. One that
    is written in the pod has its own.
    """
    host = workload.annotations / facts.CONFIG_ANNOTATION
    named: dict[str, Setting[object]] = {
        "terminationDrain": settings.termination_drain,
        "drainDuration": settings.drain_duration,
        "exitOnZero": settings.exit_on_zero,
        "minimumDrain": settings.minimum_drain,
    }
    for name, setting in named.items():
        value_format = _format_of(name)
        location = source_location(setting)
        if setting.origin.kind is OriginKind.EXPLICIT and location is not None:
            container.editable(name, location, value_format)
            continue
        # A ProxyConfig object may have the last word, and no annotation reaches the environment of
        # a gateway that is not injected.
        beyond = (
            not reached
            or setting.origin.label.startswith("ProxyConfig ")
            or workload.group == facts.GATEWAY_GROUP
        )
        if not (name in _VARIABLES and beyond):
            inner = EmbeddedNodeRef(host, None, _STEPS[name])
            container.editable(name, inner, value_format)
    if hook.handler.origin.kind is OriginKind.EXPLICIT:
        container.editable("proxyHook", whole_hook(node_ref(hook.handler)))


def _exit_on_zero_broken(
    version: Version | None, merged: EffectiveConfig, *, waypoint: bool
) -> bool:
    """Return whether the statistic is missing (unless the matcher asks for it) or never zero."""
    if version is None:
        return False
    if waypoint and version in facts.WAYPOINT_STATS_BUG.value:
        return True
    return version in facts.STATS_BUG.value and not merged.stats_matched


def _connection_settings(
    merged: EffectiveConfig, version: Version | None
) -> dict[str, Setting[timedelta]]:
    """Return the fields of connectionSettings, in releases that know them."""
    if version is not None and version < facts.CONNECTION_SETTINGS_SINCE.value:
        return {}
    return {
        name: Setting(name, value, origin) for name, (value, origin) in merged.connection.items()
    }


def _idle_timeout(
    merged: EffectiveConfig, connection: dict[str, Setting[timedelta]]
) -> Setting[timedelta] | None:
    """Return when idle connections are closed: the field takes precedence over the variable."""
    name = facts.IDLE_TIMEOUT_ENV.value
    if facts.IDLE_TIMEOUT_FIELD in connection or name not in merged.env:
        return connection.get(facts.IDLE_TIMEOUT_FIELD)
    text, origin = merged.env[name]
    value = parse_duration(text)
    return Setting(name, value, origin) if value is not None else None


def _drains_idle_early(version: Version | None) -> bool:
    return version is not None and version >= facts.EARLY_IDLE_DRAIN_SINCE.value


def _any_command_contains(workload: Workload, text: str) -> bool:
    """Whether a command, hook or variable of the pod's containers contains a text."""
    spec = workload.template.spec
    return any(
        text in word
        for container in (*spec.containers, *spec.initContainers)
        for word in _words_of(container)
    )


def _words_of(container: Container) -> Iterator[str]:
    yield from container.command
    yield from container.args
    hook = container.lifecycle.preStop if container.lifecycle else None
    if hook is not None and hook.exec is not None:
        yield from hook.exec.command
    yield from (variable.value for variable in container.env if variable.value is not None)


def _nearest(workload: Workload) -> NodeRef:
    """Return where a pod's proxy settings could have been written; its nearest parent is shown."""
    return (workload.annotations / facts.CONFIG_ANNOTATION).key


def _own_hook(sidecar: Sidecar, mesh: Mesh, workload: Workload) -> HookSettings:
    """Return the proxy container's own preStop hook: written on it, or set mesh-wide."""
    written = sidecar.written
    if written is not None and sidecar.ref is not None and written.lifecycle is not None:
        hook = read_pre_stop(written, sidecar.ref)
        # The agent answers the drain call at once.
        if _calls_agent_drain(hook.handler.value):
            return replace(hook, duration=with_value(hook.duration, DurationRange.exact(ZERO)))
        return hook
    config, _ = mesh.config_for(sidecar.revision, workload)
    if not sidecar.already_injected and config is not None and config.hook is not None:
        location = config.hook.duration.origin.location
        origin = Origin(OriginKind.INHERITED, config.label, location)
        return HookSettings(
            replace(config.hook.duration, origin=origin),
            replace(config.hook.handler, origin=origin),
        )
    return no_hook(f"{facts.PROXY_CONTAINER} preStop", _nearest(workload))


def _needs_shell(handler: HookHandler) -> bool:
    return any(base_name(word) in (*SHELLS, "sleep") for word in handler.command)


def _proxy_image(sidecar: Sidecar, mesh: Mesh, merged: EffectiveConfig, workload: Workload) -> str:
    """Return the image of the proxy with its kind, as far as it is known: ``-distroless``."""
    written = sidecar.written.image if sidecar.written is not None else None
    if sidecar.already_injected:
        return written or ""
    annotations = workload.template.metadata.annotations
    own = written if written not in (None, "", "auto") else annotations.get(facts.PROXY_IMAGE)
    if own:
        return own
    config, _ = mesh.config_for(sidecar.revision, workload)
    variant = config.variant if config is not None else ""
    kind = annotations.get(facts.PROXY_IMAGE_TYPE) or merged.image_type or variant
    return f"proxyv2-{kind}" if kind else ""


def _calls_agent_drain(handler: HookHandler) -> bool:
    """Return the template's hook, or the same call made otherwise: POST /drain of the agent."""
    line = " ".join(handler.command)
    return ("pilot-agent" in line and "drain" in line) or ":15020/drain" in line


def _drains(sidecar: Sidecar, handler: HookHandler) -> bool:
    """Whether a native proxy's own hook makes the agent drain."""
    if handler is not NO_HOOK:
        return _calls_agent_drain(handler)
    if sidecar.already_injected:
        return False
    version = sidecar.version
    return version is None or version >= facts.NATIVE_DRAIN_HOOK_SINCE.value
