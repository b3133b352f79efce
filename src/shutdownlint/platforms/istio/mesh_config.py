"""The mesh as the input shows it: which mesh configuration and which release apply to a pod."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.istio.mesh_sources import (
    IstiodPods,
    MeshConfig,
    read_istiods,
    read_mesh_configs,
    read_versions,
)
from shutdownlint.platforms.istio.problems import (
    LifecycleDropsHold,
    MeshConfigRejected,
    ProxyConfigKeyIgnored,
    ProxyConfigObjectField,
    ProxyEnvMisspelled,
)
from shutdownlint.platforms.istio.resources import ProxyConfigResource
from shutdownlint.platforms.nearness import nearest
from shutdownlint.platforms.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.manifests.object_index import LoadedResource, ObjectIndex
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.problem import Problem

_REVISION: Final = lazy_pattern(r"(\d+)-(\d+)(?:-(\d+))?")


class ProxyEnvironment(Struct, frozen=True):
    """A ProxyConfig object that reaches a pod. ``rank`` 2 beats the pod's own annotation."""

    rank: int
    loaded: LoadedResource[ProxyConfigResource]


def _read_files(index: ObjectIndex) -> tuple[tuple[IstiodPods, ...], tuple[MeshConfig, ...]]:
    """Return the objects that run istiod, and every mesh configuration."""
    istiods = tuple(read_istiods(index))
    return istiods, tuple(read_mesh_configs(index, istiods))


class Mesh:
    """Everything that the input says about Istio."""

    def __init__(self, context: AnalysisContext) -> None:
        self.context = context
        self._selected: dict[str, list[MeshConfig]] = {}

    @property
    def _istiods(self) -> tuple[IstiodPods, ...]:
        return self.context.read_once(_read_files)[0]

    @property
    def configs(self) -> tuple[MeshConfig, ...]:
        """Every mesh configuration among the files."""
        return self.context.read_once(_read_files)[1]

    def config_for(
        self, revision: str | None, workload: Workload | None = None
    ) -> tuple[MeshConfig | None, bool]:
        """Return the configuration of a revision, and whether several contradict each other.

        Of those that contradict each other the one nearest to the workload counts.
        """
        wanted = _revision_name(revision)
        if wanted not in self._selected:
            self._selected[wanted] = self._fitting(wanted)
        fitting = self._selected[wanted]
        if not _agree(fitting) and workload is not None:
            fitting = nearest(fitting, workload.ref.document.file, lambda config: config.file)
        if not fitting:
            return None, False
        return (fitting[0], False) if _agree(fitting) else (None, True)

    def _fitting(self, wanted: str) -> list[MeshConfig]:
        fitting = [c for c in self.configs if c.revision == wanted and not c.is_invalid]
        fitting = fitting or [c for c in self.configs if not c.is_invalid and not wanted]
        return _merge_istiod_env([c for c in fitting if c.has_drain_settings] or fitting)

    def has_invalid_config(self, revision: str | None) -> bool:
        """Whether a configuration that would count is invalid: an older one may be in force."""
        wanted = _revision_name(revision)
        return any(c.is_invalid and c.revision == wanted for c in self.configs)

    def environment(self, workload: Workload) -> Sequence[ProxyEnvironment]:
        """Return the ProxyConfig objects that reach a pod, the weakest first."""
        labels, namespace = workload.template.metadata.labels, workload.namespace
        found: list[ProxyEnvironment] = []
        for loaded in self.context.index.all_of(ProxyConfigResource):
            theirs = loaded.model.metadata.namespace
            selector = loaded.model.spec.selector
            wanted = selector.matchLabels if selector else {}
            if theirs == facts.ROOT_NAMESPACE and not wanted:
                found.append(ProxyEnvironment(0, loaded))
            if theirs == namespace and namespace is not None:
                if not wanted:
                    found.append(ProxyEnvironment(1, loaded))
                elif all(labels.get(k) == v for k, v in wanted.items()):
                    found.append(ProxyEnvironment(2, loaded))
        return sorted(found, key=lambda environment: environment.rank)

    def version_for(
        self, revision: str | None, namespace: str | None, workload: Workload | None = None
    ) -> Version | None:
        """Return the release of the control plane that serves this revision."""
        configured = self.context.version_of("istio", namespace)
        if configured is not None:
            return configured
        named = revision_version(revision)
        if named is not None:
            return named
        config, _ = self.config_for(revision, workload)
        if config is not None and config.version is not None:
            return config.version
        return self.version

    @cached_property
    def version(self) -> Version | None:
        """The release in force: configured by the user, or the only one that the files show."""
        configured = self.context.version_of("istio")
        if configured is not None:
            return configured
        shown = {c.version for c in self.configs if c.version is not None}
        shown |= set(read_versions(self._istiods))
        minors = {(version.major, version.minor) for version in shown}
        return max(shown) if len(minors) == 1 else None

    def problems(self) -> Iterator[Problem]:
        """Yield the problems of the mesh's own configuration."""
        for config in self.configs:
            if config.unreadable is not None:
                yield config.unreadable
            if config.drops_post_start and config.proxy.hold is not None:
                yield LifecycleDropsHold(location=config.proxy.hold)
            rejected = config.proxy.rejected if config.typed_strictly else ()
            for found in rejected:
                yield found.as_problem(MeshConfigRejected, config.label)
            for found in config.proxy.misspelled:
                yield found.as_problem(ProxyEnvMisspelled, config.label)
            yield from config.proxy.stale_problems()
            for found in config.proxy.ignored:
                yield found.as_problem(ProxyConfigKeyIgnored, config.label)
        for loaded in self.context.index.all_of(ProxyConfigResource):
            yield from _missing_fields(loaded)


def _missing_fields(loaded: LoadedResource[ProxyConfigResource]) -> Iterator[Problem]:
    """Yield the settings that a ProxyConfig object has no field for: the API server prunes them."""
    for name in facts.NOT_IN_PROXY_CONFIG_OBJECT:
        location = loaded.ref / "spec" / name
        if location.exists:
            config = loaded.model.metadata.name or ""
            yield ProxyConfigObjectField(location=location.key, key=name, config=config)


def _agree(configs: Sequence[MeshConfig]) -> bool:
    """Whether configurations say the same about the drain."""
    return all(config.drain_settings == configs[0].drain_settings for config in configs)


def _revision_name(revision: str | None) -> str:
    return "" if revision in (None, "default") else str(revision)


def _merge_istiod_env(configs: list[MeshConfig]) -> list[MeshConfig]:
    """istiod's environment and a mesh configuration say different things: one fills the other."""
    env = [c for c in configs if c.env_only]
    others = [c for c in configs if not c.env_only]
    if not env or not others or len({c.native for c in env}) > 1:
        return configs
    native, location = env[0].native, env[0].native_location
    return [
        c if c.native is not None else replace(c, native=native, native_location=location)
        for c in others
    ]


def revision_version(revision: str | None) -> Version | None:
    """Return the release that a revision is named after, as in Istio's guides: ``1-24-2``."""
    found = _REVISION.fullmatch(revision or "")
    return Version.find(".".join(part for part in found.groups() if part)) if found else None
