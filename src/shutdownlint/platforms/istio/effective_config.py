"""The effective settings of a pod's proxy, merged in Istio's order, each with its origin.

Order, low to high (pilot/pkg/model/proxy_config.go:37-68, the same since 1.13.0): built in < mesh
config < ProxyConfig of the root namespace < of the pod's namespace < the pod's annotation <
ProxyConfig with a matching selector; environment variables merge per key (since 1.11).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import Struct, field

from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.istio import facts, problems
from shutdownlint.platforms.istio.annotations import read_embedded
from shutdownlint.platforms.istio.proxyconfig import parse_bool
from shutdownlint.platforms.locations import source_location
from shutdownlint.platforms.overrides import Override
from shutdownlint.shutdown.durations import format_duration
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import timedelta

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.facts import SourcedValue
    from shutdownlint.platforms.istio.injection import Sidecar
    from shutdownlint.platforms.istio.mesh_config import Mesh
    from shutdownlint.platforms.istio.proxyconfig import ProxyConfigText
    from shutdownlint.platforms.istio.resources import ProxyConfigResource
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.versions import Version
    from shutdownlint.yaml_source.location import SourceLocation

T = TypeVar("T")
_Found = tuple[T, Origin]
_ISTIO_DEFAULT: Final = "Istio's default"


class EffectiveConfig(Struct):
    """The settings that have been merged so far.

    ``unresolved``: a setting is a placeholder, so the timing is not known.
    ``replaced``: variables of the mesh that an old release drops for those of the annotation.
    """

    env: dict[str, _Found[str]] = field(default_factory=dict)
    drain_duration: _Found[timedelta] | None = None
    termination_drain: _Found[timedelta] | None = None
    connection: dict[str, _Found[timedelta]] = field(default_factory=dict)
    stats_matched: bool = False
    image_type: str = ""
    unresolved: bool = False
    replaced: list[str] = field(default_factory=list)
    #: The drain settings that replace the mesh's; None while these are read.
    overrides: list[Override] | None = None

    def add(self, text: ProxyConfigText, kind: OriginKind, label: str, *, env: bool = True) -> None:
        """Merge a ProxyConfig over what is there; ``env``: its variables too."""
        if text.drain_duration is not None:
            value, location = text.drain_duration
            self._note_override("drainDuration", value, self.drain_duration, location)
            self.drain_duration = (value, Origin(kind, label, location))
        if text.termination_drain is not None:
            value, location = text.termination_drain
            before = self.termination_drain
            shorter = before is not None and value < before[0]
            name = "terminationDrainDuration"
            self._note_override(name, value, before, location, shorter=shorter)
            self.termination_drain = (value, Origin(kind, label, location))
        for name, (value, location) in text.connection.items():
            self.connection[name] = (value, Origin(kind, label, location))
        self.image_type = text.image_type or self.image_type
        self.unresolved = self.unresolved or text.unresolved
        if text.stats_matched is not None:
            self.stats_matched = text.stats_matched
        if env:
            for name, (value_text, location) in text.env.items():
                self._set_env(name, value_text, Origin(kind, label, location), location)

    def _set_env(self, name: str, value: str, origin: Origin, location: SourceLocation) -> None:
        before = self.env.get(name)
        if name in (facts.EXIT_ON_ZERO_ENV, facts.MINIMUM_DRAIN_ENV):
            was_on = name == facts.EXIT_ON_ZERO_ENV and before is not None and parse_bool(before[0])
            shorter = bool(was_on) and not parse_bool(value)
            self._note_override(name, value, before, location, shorter=shorter)
        self.env[name] = (value, origin)

    def _note_override(
        self,
        name: str,
        value: timedelta | str,
        before: _Found[Any] | None,
        location: SourceLocation,
        *,
        shorter: bool = False,
    ) -> None:
        if self.overrides is None:
            return
        mesh = before or (_DEFAULTS[name].value, Origin(OriginKind.DEFAULT, _ISTIO_DEFAULT))
        if _written(value) != _written(mesh[0]):
            found = Override(name, _written(value), _written(mesh[0]), location, mesh[1], shorter)
            self.overrides.append(found)

    def add_environment(self, objects: Iterable[LoadedResource[ProxyConfigResource]]) -> None:
        """Merge the variables of ProxyConfig objects over what is there."""
        for loaded in objects:
            label = f"ProxyConfig {loaded.model.metadata.name}"
            variables = loaded.model.spec.environmentVariables
            # There may be very many, and they are merged for every pod.
            for name in [each for each in _READ_VARIABLES if each in variables]:
                value = variables[name]
                location = loaded.ref / "spec" / "environmentVariables" / name
                self._set_env(name, value, Origin(OriginKind.INHERITED, label, location), location)

    def _add_container_env(self, sidecar: Sidecar) -> None:
        assert sidecar.written is not None
        assert sidecar.ref is not None
        for index, variable in enumerate(sidecar.written.env):
            if variable.value is not None:
                location = sidecar.ref / "env" / index / "value"
                label = f"env of {facts.PROXY_CONTAINER}"
                origin = Origin(OriginKind.EXPLICIT, label, location)
                self.env[variable.name] = (variable.value, origin)


#: The variables that bear on a stop.
_READ_VARIABLES: Final = (
    *(facts.EXIT_ON_ZERO_ENV, facts.MINIMUM_DRAIN_ENV),
    *(facts.IDLE_TIMEOUT_ENV.value, facts.INBOUND_PORTS_ENV),
)
_DEFAULTS: Final[dict[str, SourcedValue[Any]]] = {
    "drainDuration": facts.DRAIN_DURATION,
    "terminationDrainDuration": facts.TERMINATION_DRAIN_DURATION,
    facts.EXIT_ON_ZERO_ENV: facts.EXIT_ON_ZERO,
    facts.MINIMUM_DRAIN_ENV: facts.MINIMUM_DRAIN_DURATION,
}


def _written(value: timedelta | bool | str) -> str:
    """Return a value as it is written."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else format_duration(value)


def merge_config(
    workload: Workload,
    mesh: Mesh,
    sidecar: Sidecar,
    annotation: ProxyConfigText,
    assumptions: list[Assumption],
) -> EffectiveConfig:
    """Return the settings of a pod's proxy; what had to be assumed is added to ``assumptions``."""
    merged = EffectiveConfig()
    config, contradicting = mesh.config_for(sidecar.revision, workload)
    if sidecar.already_injected:
        if sidecar.gateway and config is not None:
            # A gateway that is not injected reads the mesh's ConfigMap itself.
            merged.add(config.proxy, OriginKind.INHERITED, config.label, env=False)
        _merge_written(sidecar, annotation, merged)
        return merged
    if mesh.has_invalid_config(sidecar.revision):
        text = "the mesh configuration has a wrong type: an older one may be in force"
        assumptions.append(Assumption(text, "fix it first"))
    if contradicting:
        text = "several mesh configurations among the files contradict each other: none is used"
        assumptions.append(Assumption(text, "check one mesh at a time"))
    if config is not None:
        merged.add(config.proxy, OriginKind.INHERITED, config.label)
    environment = mesh.environment(workload)
    # Those of the root namespace are settings of the mesh too.
    merged.add_environment(each.loaded for each in environment if each.rank == 0)
    merged.overrides = []
    merged.add_environment(each.loaded for each in environment if each.rank == 1)
    if annotation.env and _older(sidecar.version, facts.METADATA_MERGED_SINCE.value):
        merged.replaced = sorted(merged.env.keys() - annotation.env.keys())
        merged.env.clear()
    # istiod renders a Gateway's variables without its annotations.
    own_env = not sidecar.deployed
    merged.add(annotation, OriginKind.EXPLICIT, facts.CONFIG_ANNOTATION, env=own_env)
    merged.add_environment(each.loaded for each in environment if each.rank == 2)
    if sidecar.written is not None and sidecar.ref is not None:
        merged._add_container_env(sidecar)
    return merged


def _merge_written(sidecar: Sidecar, annotation: ProxyConfigText, merged: EffectiveConfig) -> None:
    """Merge the settings of an injected proxy: PROXY_CONFIG and its environment, as they are."""
    assert sidecar.written is not None
    assert sidecar.ref is not None
    for index, variable in enumerate(sidecar.written.env):
        if variable.name == "PROXY_CONFIG" and variable.value:
            host = sidecar.ref / "env" / index / "value"
            text, _ = read_embedded(variable.value, host)
            merged.add(text, OriginKind.EXPLICIT, "PROXY_CONFIG", env=False)
    merged.add(annotation, OriginKind.EXPLICIT, facts.CONFIG_ANNOTATION, env=False)
    merged._add_container_env(sidecar)


def _older(version: Version | None, than: Version) -> bool:
    return version is not None and version < than


def field_setting(
    name: str, found: _Found[T] | None, default: SourcedValue[T], nearest: NodeRef
) -> Setting[T]:
    """Return a field of the message, or its default."""
    if found is not None:
        value, origin = found
        return Setting(name, value, origin)
    return Setting(name, default.value, Origin(OriginKind.DEFAULT, _ISTIO_DEFAULT, nearest))


def env_setting(
    merged: EffectiveConfig,
    name: str,
    default: SourcedValue[T],
    parse: Callable[[str], T | None],
    nearest: NodeRef,
    found_problems: list[Problem],
) -> Setting[T]:
    """Return a variable of the agent; the default, with a log line, if it does not parse."""
    unset = Setting(name, default.value, Origin(OriginKind.DEFAULT, _ISTIO_DEFAULT, nearest))
    found = merged.env.get(name)
    if found is None or found[0] == "":
        return unset
    text, origin = found
    value = parse(text)
    setting: Setting[Any] = Setting(name, default.value if value is None else value, origin)
    location = source_location(setting)
    if value is None:
        assert location is not None
        found_problems.append(
            problems.ProxyEnvUnparseable(
                location=location, key=name, value=text, default=setting.value_text
            )
        )
        return unset
    return setting


def parse_duration(text: str) -> timedelta | None:
    """Return a duration as the agent reads it; None where it cannot."""
    try:
        return go_duration(text)
    except ValueError:
        return None
