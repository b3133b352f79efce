"""The effective settings of a pod's proxy, merged in Istio's order, each with its origin.

Order, low to high (pilot/pkg/model/proxy_config.go:37-68, the same since 1.13.0): built in < mesh
config < ProxyConfig of the root namespace < of the pod's namespace < the pod's annotation <
ProxyConfig with a matching selector; environment variables merge per key (since 1.11).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.manifests.document import EmbeddedNodeRef, embedded_error_region
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.homes import namespace_of
from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.istio.injection import Sidecar, find_sidecar, is_gateway, is_waypoint
from shutdownlint.platforms.istio.mesh_config import Mesh, root_of
from shutdownlint.platforms.istio.proxyconfig import (
    ProxyConfigText,
    parse_bool,
    read_proxy_config,
)
from shutdownlint.platforms.kubernetes.pods import pre_stop
from shutdownlint.platforms.kubernetes.shell import SHELLS, base_name
from shutdownlint.platforms.problem import ConfigProblem
from shutdownlint.shutdown import (
    Assumption,
    Hook,
    Origin,
    OriginKind,
    ProxyMode,
    ProxyPlan,
    Setting,
    Span,
)
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.plan import NO_HOOK
from shutdownlint.yaml_source.composer import ComposeError
from shutdownlint.yaml_source.location import EntryPart, FixedLocation, KeyPath
from shutdownlint.yaml_source.tree import Tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container, ProxyConfigResource
    from shutdownlint.manifests.workloads import LoadedResource, Workload
    from shutdownlint.platforms.facts import Fact
    from shutdownlint.platforms.versions import Version
    from shutdownlint.yaml_source.location import SourceLocation

T = TypeVar("T")
_Found = tuple[T, Origin]
_ISTIO_DEFAULT = "Istio's default"


class _Merged(Struct):
    """What has been merged so far."""

    env: dict[str, _Found[str]] = field(default_factory=dict)
    drain_duration: _Found[object] | None = None
    termination_drain: _Found[object] | None = None
    stats_matched: bool = False
    hidden: bool = False
    #: Variables of the mesh that an old release drops for those of the annotation.
    replaced: list[str] = field(default_factory=list)

    def add(self, text: ProxyConfigText, kind: OriginKind, told: str, *, env: bool = True) -> None:
        if text.drain_duration is not None:
            value, location = text.drain_duration
            self.drain_duration = (value, Origin(kind, told, location))
        if text.termination_drain is not None:
            value, location = text.termination_drain
            self.termination_drain = (value, Origin(kind, told, location))
        self.hidden = self.hidden or text.hidden
        if text.stats_matched is not None:
            self.stats_matched = text.stats_matched
        if env:
            for name, (value_text, location) in text.env.items():
                self.env[name] = (value_text, Origin(kind, told, location))


class PodProxy(Struct):
    """A pod's proxy with its settings, and what is wrong with how they are written.

    ``refused``: Istio's webhook would not take the pod. ``hidden``: a setting is a placeholder, so
    nothing can be said of the timing. ``bypassed``: requests reach the app past the proxy.
    """

    plan: ProxyPlan | None = None
    defects: list[ConfigProblem] = field(default_factory=list)
    refused: bool = False
    hidden: bool = False
    bypassed: bool = False


def proxy_of(workload: Workload, mesh: Mesh) -> PodProxy:
    """What becomes of this workload's pods in the mesh."""
    sidecar = find_sidecar(workload, mesh)
    version = sidecar.version if sidecar is not None else mesh.version
    written = [*_misplaced(workload), *_in_vain(workload)]
    result = PodProxy(defects=[_of_version(defect, version) for defect in written])
    annotation, annotation_defects = _annotation(workload)
    if sidecar is None:
        result.defects += _settings_without_proxy(workload, mesh, annotation)
        return result
    # Whether the webhook refuses a pod depends on its being injected, not on how.
    result.defects += [
        _of_version(_with(defect, sidecar.injected_if), version) for defect in annotation_defects
    ]
    annotated = ("metadata", "annotations", facts.CONFIG_ANNOTATION)
    if any(defect.what == "proxy-config-rejected" for defect in annotation_defects) or any(
        rejected.key_path == annotated for rejected in workload.rejected
    ):
        result.refused = True
        return result
    assumptions = [*sidecar.injected_if, *sidecar.mode_if]
    merged = _merge(workload, mesh, sidecar, annotation, assumptions)
    if merged.hidden:
        result.hidden = True
        return result
    if merged.replaced:
        location = (workload.annotations / facts.CONFIG_ANNOTATION).key
        words = {"key": ", ".join(merged.replaced)}
        result.defects.append(
            _of_version(ConfigProblem("metadata-replaced", location, words), version)
        )
    if sidecar.gateway and (sidecar.deployed or sidecar.already_injected):
        result.defects += _env_in_vain(annotation, merged)
    if not sidecar.gateway and _bypassed(workload, merged):
        result.bypassed = True
        return result
    result.plan, env_defects = _plan(workload, mesh, sidecar, merged, tuple(assumptions))
    result.defects += env_defects
    return result


def _settings_without_proxy(
    workload: Workload, mesh: Mesh, annotation: ProxyConfigText
) -> Iterator[ConfigProblem]:
    """Drain settings on a pod that surely gets no sidecar: its namespace is known."""
    name = facts.CONFIG_ANNOTATION
    drains = (
        annotation.drain_duration
        or annotation.termination_drain
        or ({facts.EXIT_ON_ZERO_ENV, facts.MINIMUM_DRAIN_ENV} & annotation.env.keys())
    )
    known = mesh.world.namespace_labels(namespace_of(workload)) is not None
    host = workload.template.spec.hostNetwork is True
    templated = facts.TEMPLATES in workload.template.metadata.annotations
    if drains and (known or host) and not is_gateway(workload) and not templated:
        location = (workload.annotations / name).key
        reason = (
            "pods on the node's network get none"
            if host
            else "its namespace and labels ask for none"
        )
        yield ConfigProblem("proxy-config-without-proxy", location, {"key": name, "reason": reason})


def _older(version: Version | None, than: Version) -> bool:
    return version is not None and version < than


def _env_in_vain(annotation: ProxyConfigText, merged: _Merged) -> Iterator[ConfigProblem]:
    """Variables in the annotation of a gateway that no webhook injects: nothing exports them."""
    for name in (facts.EXIT_ON_ZERO_ENV, facts.MINIMUM_DRAIN_ENV):
        if name in annotation.env and name not in merged.env:
            value, location = annotation.env[name]
            yield ConfigProblem(
                "gateway-env-in-annotation", location, {"key": name, "value": value}
            )


def _bypassed(workload: Workload, merged: _Merged) -> bool:
    ports = workload.template.metadata.annotations.get(facts.INBOUND_PORTS)
    variable = merged.env.get(facts.INBOUND_PORTS_ENV)
    return ports == "" or (variable is not None and variable[0] == "")


def _of_version(defect: ConfigProblem, version: Version | None) -> ConfigProblem:
    """The defect, with the release that decides which rules hold for it."""
    words = defect.words | {"istioVersion": str(version)} if version else defect.words
    return replace(defect, words=words)


def _with(defect: ConfigProblem, assumptions: tuple[Assumption, ...]) -> ConfigProblem:
    return replace(defect, assumptions=assumptions)


def _misplaced(workload: Workload) -> Iterator[ConfigProblem]:
    """Pod annotations on the workload's own metadata, where nothing reads them."""
    if workload.object_ref.key_path == workload.ref.key_path:
        return
    for name in (facts.CONFIG_ANNOTATION, facts.NATIVE_ANNOTATION, facts.TEMPLATES):
        if name in workload.owner.annotations:
            location = (workload.object_ref / "metadata" / "annotations" / name).key
            words = {"key": name, "kind": workload.id.kind}
            yield ConfigProblem("proxy-config-misplaced", location, words)


def _in_vain(workload: Workload) -> Iterator[ConfigProblem]:
    """What stands on the pod and has no effect: unknown annotations, variables nobody reads."""
    metadata, ref = workload.template.metadata, workload.annotations
    for name, instead in facts.UNKNOWN_ANNOTATIONS.value.items():
        if name in metadata.annotations:
            words = {"key": name, "reason": f"what does it is {instead}"}
            if instead == facts.NATIVE_ANNOTATION:
                words["instead"] = instead
            yield ConfigProblem("istio-annotation-unknown", (ref / name).key, words)
    native = metadata.annotations.get(facts.NATIVE_ANNOTATION)
    if native is not None and not has_placeholder(native):
        what = "native-annotation" if native in ("true", "false") else "native-annotation-value"
        words = {"key": facts.NATIVE_ANNOTATION, "value": native}
        yield ConfigProblem(what, ref / facts.NATIVE_ANNOTATION, words)
    for index, container in enumerate(workload.template.spec.containers):
        here = workload.spec / "containers" / index / "env"
        proxy = container.name == facts.PROXY_CONTAINER
        for number, variable in enumerate(container.env):
            words = {"key": variable.name, "value": container.name}
            location = here / number / "name"
            if variable.name == facts.STALE_DRAIN_ENV:
                yield ConfigProblem("stale-drain-env", location, words, container.name)
            elif variable.name in (facts.EXIT_ON_ZERO_ENV, facts.MINIMUM_DRAIN_ENV) and not proxy:
                yield ConfigProblem("drain-env-on-app", location, words, container.name)


def _annotation(workload: Workload) -> tuple[ProxyConfigText, list[ConfigProblem]]:
    text = workload.template.metadata.annotations.get(facts.CONFIG_ANNOTATION)
    if text is None:
        return ProxyConfigText(), []
    host = workload.annotations / facts.CONFIG_ANNOTATION
    return _embedded(text, host, "proxy-config-rejected")


def _embedded(
    text: str, host: NodeRef, refused: str
) -> tuple[ProxyConfigText, list[ConfigProblem]]:
    try:
        root = root_of(text)
    except ComposeError as error:
        if has_placeholder(text):
            return ProxyConfigText(hidden=True), []
        location = FixedLocation(embedded_error_region(host, error), host.source)
        words = {"key": "", "reason": f"is not YAML: {error.reason}"}
        return ProxyConfigText(), [ConfigProblem(refused, location, words)]
    tree = Tree(root) if root is not None else None

    def at(key_path: KeyPath, part: EntryPart) -> SourceLocation:
        return EmbeddedNodeRef(host, tree, key_path, part)

    read = read_proxy_config(root, (), at)
    kinds = {
        refused: read.rejected,
        "proxy-config-removed": read.removed,
        "proxy-config-doubtful": read.doubtful,
        "proxy-config-key-ignored": read.ignored,
    }
    told = facts.CONFIG_ANNOTATION
    return read, [p.defect(what, told) for what, problems in kinds.items() for p in problems]


def _merge(
    workload: Workload,
    mesh: Mesh,
    sidecar: Sidecar,
    annotation: ProxyConfigText,
    assumptions: list[Assumption],
) -> _Merged:
    merged = _Merged()
    config, several = mesh.config_for(sidecar.revision)
    if sidecar.already_injected:
        if sidecar.gateway and config is not None:
            # A gateway that is not injected reads the mesh's ConfigMap itself.
            merged.add(config.proxy, OriginKind.INHERITED, config.told, env=False)
        _merge_written(sidecar, annotation, merged)
        return merged
    if mesh.refused_for(sidecar.revision):
        assumptions.append(
            Assumption(
                "the mesh configuration has a wrong type: an older one may be in force",
                "mend it first",
            )
        )
    if several:
        assumptions.append(
            Assumption(
                "several mesh configurations among the files contradict each other: none is used",
                "check one mesh at a time",
            )
        )
    if config is not None:
        merged.add(config.proxy, OriginKind.INHERITED, config.told)
    namespace = namespace_of(workload)
    environment = mesh.environment(workload, namespace)
    for found in environment:
        if found.rank < 2:
            _add_environment(found.located, merged)
    if annotation.env and _older(sidecar.version, facts.METADATA_MERGED_SINCE.value):
        merged.replaced = sorted(merged.env.keys() - annotation.env.keys())
        merged.env.clear()
    # istiod renders a Gateway's variables without its annotations.
    own_env = not sidecar.deployed
    merged.add(annotation, OriginKind.EXPLICIT, facts.CONFIG_ANNOTATION, env=own_env)
    for found in environment:
        if found.rank == 2:
            _add_environment(found.located, merged)
    if sidecar.written is not None and sidecar.ref is not None:
        _add_container_env(sidecar, merged)
    return merged


def _merge_written(sidecar: Sidecar, annotation: ProxyConfigText, merged: _Merged) -> None:
    """An injected proxy: PROXY_CONFIG and its environment, taken as they stand."""
    assert sidecar.written is not None
    assert sidecar.ref is not None
    for index, variable in enumerate(sidecar.written.env):
        if variable.name == "PROXY_CONFIG" and variable.value:
            host = sidecar.ref / "env" / index / "value"
            text, _ = _embedded(variable.value, host, "proxy-config-rejected")
            merged.add(text, OriginKind.EXPLICIT, "PROXY_CONFIG", env=False)
    merged.add(annotation, OriginKind.EXPLICIT, facts.CONFIG_ANNOTATION, env=False)
    _add_container_env(sidecar, merged)


def _add_container_env(sidecar: Sidecar, merged: _Merged) -> None:
    assert sidecar.written is not None
    assert sidecar.ref is not None
    for index, variable in enumerate(sidecar.written.env):
        if variable.value is not None:
            location = sidecar.ref / "env" / index / "value"
            told = f"env of {facts.PROXY_CONTAINER}"
            merged.env[variable.name] = (
                variable.value,
                Origin(OriginKind.EXPLICIT, told, location),
            )


def _add_environment(located: LoadedResource[ProxyConfigResource], merged: _Merged) -> None:
    for name, value in located.model.spec.environmentVariables.items():
        location = located.ref / "spec" / "environmentVariables" / name
        told = f"ProxyConfig {located.model.metadata.name}"
        merged.env[name] = (value, Origin(OriginKind.INHERITED, told, location))


def _plan(
    workload: Workload,
    mesh: Mesh,
    sidecar: Sidecar,
    merged: _Merged,
    assumptions: tuple[Assumption, ...],
) -> tuple[ProxyPlan, list[ConfigProblem]]:
    nearest = sidecar.ref / "name" if sidecar.ref else _nearest(workload)
    defects: list[ConfigProblem] = []
    mode = sidecar.mode
    native = mode.value is ProxyMode.NATIVE
    waypoint = is_waypoint(workload)
    hook_time, hook = _own_hook(sidecar, mesh, nearest)
    exit_on_zero = _from_env(
        merged, facts.EXIT_ON_ZERO_ENV, facts.EXIT_ON_ZERO, parse_bool, nearest, defects
    )
    minimum = _from_env(
        merged, facts.MINIMUM_DRAIN_ENV, facts.MINIMUM_DRAIN_DURATION, _duration, nearest, defects
    )
    if sidecar.version is not None and sidecar.version < facts.EXIT_ON_ZERO_SINCE.value:
        told = f"Istio {sidecar.version} does not know it"
        unset = Origin(OriginKind.DEFAULT, told, nearest)
        exit_on_zero = replace(exit_on_zero, value=False, origin=unset)
    if not exit_on_zero.value:  # the minimum is read with exit-on-zero only
        defects = [d for d in defects if d.words["key"] != facts.MINIMUM_DRAIN_ENV]
    config, _ = mesh.config_for(sidecar.revision)
    replaced = config is not None and config.replaces_hook and hook.value is NO_HOOK
    drain_hook = native and not replaced and _drains(sidecar, hook.value)
    plan = ProxyPlan(
        name=facts.PROXY_CONTAINER,
        mode=mode,
        pre_stop=hook_time,
        exit_on_zero=exit_on_zero,
        minimum_drain=minimum,
        termination_drain=_field(
            "terminationDrainDuration",
            merged.termination_drain,
            facts.TERMINATION_DRAIN_DURATION,
            nearest,
        ),
        drain_duration=_field(
            "drainDuration", merged.drain_duration, facts.DRAIN_DURATION, nearest
        ),
        drain_hook=drain_hook,
        never_sees_zero=_never_sees_zero(sidecar.version, merged, waypoint=waypoint),
        waypoint=waypoint,
        hook=hook,
        stats_matched=merged.stats_matched,
        early_idle_drain=_drains_idle_early(sidecar.version),
        told_to_quit=_mentions(workload, facts.QUIT_PATH),
        image=(sidecar.written.image or "") if sidecar.written is not None else "",
        version=str(sidecar.version or ""),
        assumptions=assumptions,
    )
    # Nothing reads these variables where the sidecar is drained by its own hook.
    told_of = [] if drain_hook else defects
    return plan, [_with(defect, assumptions) for defect in told_of]


def _never_sees_zero(version: Version | None, merged: _Merged, *, waypoint: bool) -> bool:
    """The releases whose statistic is missing (unless the matcher asks for it) or never zero."""
    if version is None:
        return False
    if waypoint and version in facts.WAYPOINT_STATS_BUG.value:
        return True
    return version in facts.STATS_BUG.value and not merged.stats_matched


def _mentions(workload: Workload, text: str) -> bool:
    """Whether a command, hook or variable of the pod's containers mentions something."""
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


def _drains_idle_early(version: Version | None) -> bool:
    return version is not None and version >= facts.EARLY_IDLE_DRAIN_SINCE.value


def _nearest(workload: Workload) -> NodeRef:
    """Where a pod's proxy settings could have been written; its nearest parent is shown."""
    return (workload.annotations / facts.CONFIG_ANNOTATION).key


def _own_hook(
    sidecar: Sidecar, mesh: Mesh, nearest: NodeRef
) -> tuple[Setting[Span], Setting[Hook]]:
    """The proxy container's own preStop hook: written on it, or given mesh-wide."""
    written = sidecar.written
    if written is not None and sidecar.ref is not None and written.lifecycle is not None:
        time, hook = pre_stop(written, sidecar.ref)
        distroless = "distroless" in (written.image or "") and any(
            base_name(word) in (*SHELLS, "sleep") for word in hook.value.command
        )
        # The agent answers the drain call at once; what the image does not have fails at once.
        if distroless or _tells_agent_to_drain(hook.value):
            return Setting(time.name, Span.exactly(ZERO), time.origin), hook
        return time, hook
    config, _ = mesh.config_for(sidecar.revision)
    if not sidecar.already_injected and config is not None and config.lifecycle is not None:
        time, hook = config.lifecycle
        origin = Origin(OriginKind.INHERITED, config.told, time.origin.location)
        return Setting(time.name, time.value, origin), Setting(hook.name, hook.value, origin)
    origin = Origin(OriginKind.DEFAULT, "no preStop hook", nearest)
    name = f"{facts.PROXY_CONTAINER} preStop"
    return Setting(name, Span.exactly(ZERO), origin), Setting(name, NO_HOOK, origin)


def _tells_agent_to_drain(hook: Hook) -> bool:
    """The template's hook, or the same call made otherwise: POST /drain of the agent."""
    line = " ".join(hook.command)
    return ("pilot-agent" in line and "drain" in line) or ":15020/drain" in line


def _drains(sidecar: Sidecar, hook: Hook) -> bool:
    """Whether a native proxy's own hook tells the agent to drain."""
    if hook is not NO_HOOK:
        return _tells_agent_to_drain(hook)
    if sidecar.already_injected:
        return False
    version = sidecar.version
    return version is None or version >= facts.NATIVE_DRAIN_HOOK_SINCE.value


def _field(
    name: str, found: _Found[object] | None, default: Fact[T], nearest: NodeRef
) -> Setting[T]:
    if found is not None:
        value, origin = found
        return Setting(name, value, origin)  # type: ignore[arg-type]
    return Setting(name, default.value, Origin(OriginKind.DEFAULT, _ISTIO_DEFAULT, nearest))


def _duration(text: str) -> object | None:
    try:
        return go_duration(text)
    except ValueError:
        return None


def _from_env(
    merged: _Merged,
    name: str,
    default: Fact[T],
    parse: Callable[[str], object | None],
    nearest: NodeRef,
    defects: list[ConfigProblem],
) -> Setting[T]:
    """A variable that the agent reads; what does not parse is the default, with a log line."""
    found = merged.env.get(name)
    if found is None or found[0] == "":
        return Setting(name, default.value, Origin(OriginKind.DEFAULT, _ISTIO_DEFAULT, nearest))
    text, origin = found
    value = parse(text)
    if value is None:
        shown = Setting(name, default.value, origin).shown
        words = {"key": name, "value": text, "default": shown}
        assert origin.location is not None
        defects.append(ConfigProblem("proxy-env-unparseable", origin.location, words))
        return Setting(name, default.value, Origin(OriginKind.DEFAULT, _ISTIO_DEFAULT, nearest))
    return Setting(name, value, origin)  # type: ignore[arg-type]
