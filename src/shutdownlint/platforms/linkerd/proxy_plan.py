"""From a workload to its Linkerd proxy: injection, mode, and the settings that count."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.linkerd import facts, problems
from shutdownlint.platforms.linkerd.annotations import (
    Annotation,
    Annotations,
    read_proxy_duration,
)
from shutdownlint.platforms.linkerd.control_plane import read_release
from shutdownlint.platforms.linkerd.process import ProxySettings
from shutdownlint.platforms.mesh_proxy import sidecar_mode
from shutdownlint.platforms.mesh_signs import assume_member, find_sign
from shutdownlint.platforms.pod_annotations import read_bool, read_seconds
from shutdownlint.platforms.pods.hooks import HookSettings
from shutdownlint.platforms.user_facts import NO_MESH
from shutdownlint.shutdown.durations import ZERO, DurationRange, seconds
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting, with_value

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.linkerd.control_plane import LinkerdMesh
    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft
    from shutdownlint.platforms.versions import Version

_DEFAULT: Final = "Linkerd's default"
_VERSION_REMEDY: Final = "set --mesh linkerd=VERSION"


class PlannedProxy(Struct):
    """A proxy's settings, and what they rest on.

    ``unused_wait`` is a wait before the exit that is configured for a native proxy.
    """

    settings: ProxySettings
    version: Version | None = None
    unused_wait: Setting[DurationRange] | None = None
    assumptions: list[Assumption] = field(default_factory=list)
    #: A value that decides its shutdown is a placeholder.
    unresolved: bool = False


def find_written_proxy(draft: PodDraft) -> ContainerDraft | None:
    """Return the proxy of a manifest that was injected already."""
    found = draft.container(facts.PROXY_CONTAINER)
    return found if found is not None and found.spec is not None else None


def is_injected(workload: Workload, mesh: LinkerdMesh, annotations: Annotations) -> bool:
    """Whether the injector adds a proxy (pkg/inject/report.go:101-132,186-227)."""
    if workload.template.spec.hostNetwork is True or workload.created:
        return False
    on_namespace = annotations.on_namespace(facts.INJECT) or ""
    found = annotations.get(facts.INJECT)
    own = found.text if found is not None and not found.inherited else ""
    valid = ("", *facts.INJECT_VALUES.value)
    if on_namespace not in valid or own not in valid or own == "disabled":
        return False
    enabled = ("enabled", "ingress")
    if on_namespace in enabled or own in enabled:
        return True
    declared = mesh.context.declared_mesh(workload.namespace)
    if declared == facts.MESH and not annotations.namespace_known:
        return True
    return _sign(workload, mesh, annotations) is not None


def membership_assumptions(
    workload: Workload, mesh: LinkerdMesh, annotations: Annotations
) -> list[Assumption]:
    """Return the assumptions if only other objects suggest that the pods are in the mesh."""
    own = annotations.get(facts.INJECT)
    sign = _sign(workload, mesh, annotations) if own is None else None
    return [] if sign is None else [assume_member(sign, workload)]


def _sign(workload: Workload, mesh: LinkerdMesh, annotations: Annotations) -> str | None:
    """Return what suggests the mesh if neither the user nor a file shows it."""
    declared = mesh.context.declared_mesh(workload.namespace)
    if declared is not None or annotations.namespace_known:
        return None
    return find_sign(facts.MESH, workload, mesh.context)


def contradicts_user(workload: Workload, mesh: LinkerdMesh) -> bool:
    """Whether the user says that the pods are in no mesh."""
    return mesh.context.declared_mesh(workload.namespace) == NO_MESH


def plan_injected(workload: Workload, mesh: LinkerdMesh, annotations: Annotations) -> PlannedProxy:
    """Return the proxy that the injector adds."""
    version = mesh.version_for(workload.namespace)
    mode, assumptions = _mode(workload, mesh, annotations, version)
    wait, unused = _wait(workload, mesh, annotations), None
    if mode.value == "native":
        unused = wait if wait.value.low else None
        wait = with_value(wait, DurationRange.exact(ZERO))
    settings = ProxySettings(mode, wait, _grace(workload, mesh, annotations))
    planned = PlannedProxy(settings, version, unused, assumptions)
    texts = (annotations.get(key) for key in (facts.WAIT_ANNOTATION, facts.GRACE_ANNOTATION))
    planned.unresolved = any(a is not None and has_placeholder(a.text) for a in texts)
    return planned


def plan_written(
    draft: PodDraft, container: ContainerDraft, mesh: LinkerdMesh
) -> tuple[PlannedProxy, list[problems.LinkerdProblem]]:
    """Return the proxy as an injected manifest has it."""
    assert container.spec is not None
    assert container.ref is not None
    name = "initContainers" if container.native_sidecar else "containers"
    origin = Origin(OriginKind.EXPLICIT, name, container.ref / "name")
    mode = _mode_setting(native=container.native_sidecar, origin=origin)
    hook: HookSettings = container.facts[HookSettings]
    annotations = draft.workload.template.metadata.annotations
    shown = read_release(annotations.get("linkerd.io/proxy-version", ""))
    version = shown or mesh.version_for(draft.workload.namespace)
    found: list[problems.LinkerdProblem] = []
    grace = _written_grace(container, found)
    return PlannedProxy(ProxySettings(mode, hook.duration, grace), version), found


def _written_grace(
    container: ContainerDraft, found: list[problems.LinkerdProblem]
) -> Setting[timedelta]:
    assert container.spec is not None
    assert container.ref is not None
    for index, variable in enumerate(container.spec.env):
        if variable.name != facts.GRACE_ENV or not variable.value:
            continue
        location = container.ref / "env" / index / "value"
        try:
            value = read_proxy_duration(variable.value)
        except ValueError:
            if not has_placeholder(variable.value):
                found.append(
                    problems.LinkerdProxyEnv(
                        location=location, key=facts.GRACE_ENV, value=variable.value
                    )
                )
            break
        origin = Origin(OriginKind.EXPLICIT, facts.GRACE_ENV, location)
        return Setting("shutdown-grace-period", value, origin)
    default = Origin(OriginKind.DEFAULT, _DEFAULT, container.ref / "name")
    return Setting("shutdown-grace-period", facts.SHUTDOWN_GRACE_PERIOD.value, default)


def _mode(
    workload: Workload, mesh: LinkerdMesh, annotations: Annotations, version: Version | None
) -> tuple[Setting[str], list[Assumption]]:
    """Whether the proxy is native: by annotation, by the chart's values, by the release."""
    for key in facts.NATIVE_ANNOTATIONS:
        found = annotations.get(key)
        since = facts.NATIVE_SPELLED_SINCE[key].value
        if found is None or (version is not None and version < since):
            continue
        try:
            native = read_bool(found.text)
        except ValueError:
            continue
        return _mode_setting(native=native, origin=origin_of(found)), []
    defaults = mesh.defaults
    if defaults is not None and defaults.native is not None:
        native, location = defaults.native
        origin = Origin(OriginKind.INHERITED, f"nativeSidecar of {defaults.label}", location)
        return _mode_setting(native=native, origin=origin), []
    nearest = workload.annotations / facts.NATIVE_STABLE
    if version is None:
        text = (
            "Linkerd's version is not known: its proxy is assumed to be a classic sidecar, "
            "which was the default before 2.20"
        )
        origin = Origin(OriginKind.ASSUMED, "assumed", nearest)
        assumption = Assumption(text, _VERSION_REMEDY, about_versions=(facts.MESH,))
        return _mode_setting(native=False, origin=origin), [assumption]
    native = version >= facts.NATIVE_BY_DEFAULT_SINCE.value
    origin = Origin(OriginKind.DEFAULT, f"the default of Linkerd {version}", nearest)
    return _mode_setting(native=native, origin=origin), []


def _mode_setting(*, native: bool, origin: Origin) -> Setting[str]:
    return sidecar_mode(facts.PROXY_CONTAINER, origin, native=native)


def origin_of(annotation: Annotation) -> Origin:
    """Return the origin of an annotation's value."""
    kind = OriginKind.INHERITED if annotation.inherited else OriginKind.EXPLICIT
    label = "the namespace" if annotation.inherited else annotation.key
    return Origin(kind, label, annotation.location)


def _wait(
    workload: Workload, mesh: LinkerdMesh, annotations: Annotations
) -> Setting[DurationRange]:
    """Return how long a classic proxy's preStop hook sleeps."""
    name = "proxy-wait-before-exit-seconds"
    found = annotations.get(facts.WAIT_ANNOTATION)
    nearest = workload.annotations / facts.WAIT_ANNOTATION
    value, origin = facts.WAIT_BEFORE_EXIT.value, Origin(OriginKind.DEFAULT, _DEFAULT, nearest)
    defaults = mesh.defaults
    if defaults is not None and defaults.wait is not None:
        label = f"waitBeforeExitSeconds of {defaults.label}"
        origin = Origin(OriginKind.INHERITED, label, defaults.wait[1])
        value = seconds(defaults.wait[0])
    if found is not None:
        with suppress(ValueError):
            value, origin = read_seconds(found.text), origin_of(found)
    return Setting(name, DurationRange.exact(value), origin)


def _grace(workload: Workload, mesh: LinkerdMesh, annotations: Annotations) -> Setting[timedelta]:
    name = "shutdown-grace-period"
    found = annotations.get(facts.GRACE_ANNOTATION)
    if found is not None:
        with suppress(ValueError):
            return Setting(name, max(go_duration(found.text), ZERO), origin_of(found))
    defaults = mesh.defaults
    if defaults is not None and defaults.grace is not None:
        text, location = defaults.grace
        try:
            value = read_proxy_duration(text)
        except ValueError:
            value = facts.SHUTDOWN_GRACE_PERIOD.value
        origin = Origin(OriginKind.INHERITED, f"shutdownGracePeriod of {defaults.label}", location)
        return Setting(name, value, origin)
    nearest: NodeRef = workload.annotations / facts.GRACE_ANNOTATION
    origin = Origin(OriginKind.DEFAULT, _DEFAULT, nearest)
    return Setting(name, facts.SHUTDOWN_GRACE_PERIOD.value, origin)
