"""The mesh as the input shows it: mesh configuration, ProxyConfig objects, versions."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace
from yaml.nodes import MappingNode, ScalarNode

from shutdownlint.manifests.decoding import decode
from shutdownlint.manifests.document import EmbeddedNodeRef, NodeRef, embedded_error_region
from shutdownlint.manifests.resources import ConfigMap, LifecycleHandler, ProxyConfigResource
from shutdownlint.manifests.workloads import CONTROL_PLANE
from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.istio.proxyconfig import ProxyConfigText, read_proxy_config
from shutdownlint.platforms.kubernetes.pods import hook_settings
from shutdownlint.platforms.problem import ConfigProblem
from shutdownlint.platforms.versions import Version
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.location import EntryPart, FixedLocation, KeyPath
from shutdownlint.yaml_source.tree import Tree, child

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.workloads import LoadedResource, MeshInstall, Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.shutdown import Hook, Setting, Span
    from shutdownlint.yaml_source.location import SourceLocation


class MeshConfig(Struct, eq=False):
    """One installation's settings for its proxies."""

    told: str
    revision: str
    location: NodeRef
    proxy: ProxyConfigText = field(default_factory=ProxyConfigText)
    native: str | None = None
    native_where: SourceLocation | None = None
    lifecycle: tuple[Setting[Span], Setting[Hook]] | None = None
    #: global.proxy.lifecycle is set, whatever stands in it: the template's hooks are not used.
    replaces_hook: bool = False
    #: It brings no postStart hook, so nothing holds the app back.
    drops_hold: bool = False
    version: Version | None = None
    unreadable: ConfigProblem | None = None
    #: istiod's environment, no mesh configuration.
    env_only: bool = False
    #: Whether it is known what becomes of a wrong type: istioctl and Sail were not tried.
    typed_strictly: bool = False

    @property
    def refused(self) -> bool:
        """Whether istiod ignores it whole."""
        return bool(self.proxy.rejected) or self.unreadable is not None


class Mesh(Struct, dict=True):
    """All that the input says of Istio."""

    world: AnalysisContext
    _chosen: dict[str, tuple[MeshConfig | None, bool]] = field(default_factory=dict)

    @cached_property
    def configs(self) -> tuple[MeshConfig, ...]:
        """Every mesh configuration among the files."""
        found = [_from_config_map(located) for located in self.world.objects.of(ConfigMap)]
        found += [_from_install(install) for install in self.world.objects.mesh_installs]
        found += [_from_istiod(workload) for workload in self.world.objects.control_planes]
        return tuple(config for config in found if config is not None)

    def config_for(self, revision: str | None) -> tuple[MeshConfig | None, bool]:
        """The configuration of a revision, and whether several contradict each other."""
        wanted = "" if revision in (None, "default") else str(revision)
        if wanted not in self._chosen:
            self._chosen[wanted] = self._choose(wanted)
        return self._chosen[wanted]

    def _choose(self, wanted: str) -> tuple[MeshConfig | None, bool]:
        fitting = [c for c in self.configs if c.revision == wanted and not c.refused]
        fitting = fitting or [c for c in self.configs if not c.refused and not wanted]
        fitting = _with_istiod([c for c in fitting if _says_something(c)] or fitting)
        if not fitting:
            return None, False
        first = fitting[0]
        same = all(_fingerprint(config) == _fingerprint(first) for config in fitting)
        return (first, False) if same else (None, True)

    def refused_for(self, revision: str | None) -> bool:
        """Whether a configuration that would count is refused: an older one may be in force."""
        wanted = "" if revision in (None, "default") else str(revision)
        return any(c.refused and c.revision == wanted for c in self.configs)

    def environment(self, workload: Workload, namespace: str | None) -> list[ProxyEnvironment]:
        """The ProxyConfig objects that reach a pod, the weakest first."""
        labels = workload.template.metadata.labels
        found: list[ProxyEnvironment] = []
        for located in self.world.objects.of(ProxyConfigResource):
            theirs = located.model.metadata.namespace
            selector = located.model.spec.selector
            wanted = selector.matchLabels if selector else {}
            if theirs == facts.ROOT_NAMESPACE and not wanted:
                found.append(ProxyEnvironment(0, located))
            if theirs == namespace and namespace is not None:
                if not wanted:
                    found.append(ProxyEnvironment(1, located))
                elif all(labels.get(k) == v for k, v in wanted.items()):
                    found.append(ProxyEnvironment(2, located))
        return sorted(found, key=lambda environment: environment.rank)

    def version_for(self, revision: str | None) -> Version | None:
        """The release of the control plane that serves this revision."""
        if self.world.given.istio is not None:
            return self.world.given.istio
        named = revision_version(revision)
        if named is not None:
            return named
        config, _ = self.config_for(revision)
        if config is not None and config.version is not None:
            return config.version
        return self.version

    @cached_property
    def version(self) -> Version | None:
        """The release in force: said by the user, or the only one that the files show."""
        if self.world.given.istio is not None:
            return self.world.given.istio
        shown = {c.version for c in self.configs if c.version is not None}
        shown |= {
            v for w in self.world.objects.control_planes if (v := _istiod_version(w)) is not None
        }
        minors = {(version.major, version.minor) for version in shown}
        return max(shown) if len(minors) == 1 else None

    def defects(self) -> list[ConfigProblem]:
        """What is wrong with the mesh's own configuration."""
        found = []
        for config in self.configs:
            if config.unreadable is not None:
                found.append(config.unreadable)
            if config.drops_hold and config.proxy.hold is not None:
                found.append(ConfigProblem("lifecycle-hides-hold", config.proxy.hold))
            refused = config.proxy.rejected if config.typed_strictly else ()
            found += [p.defect("mesh-config-rejected", config.told) for p in refused]
            ignored = config.proxy.ignored
            found += [p.defect("proxy-config-key-ignored", config.told) for p in ignored]
        for located in self.world.objects.of(ProxyConfigResource):
            found += _no_fields(located)
        return found


def _no_fields(located: LoadedResource[ProxyConfigResource]) -> Iterator[ConfigProblem]:
    """Settings that a ProxyConfig object has no field for: the API server prunes them."""
    for name in facts.NOT_IN_PROXY_CONFIG_OBJECT:
        location = located.ref / "spec" / name
        if location.exists:
            words = {"key": name, "config": located.model.metadata.name or ""}
            yield ConfigProblem("proxy-config-object-field", location.key, words)


class ProxyEnvironment(Struct, frozen=True):
    """A ProxyConfig object that reaches a pod. ``rank`` 2 beats the pod's own annotation."""

    rank: int
    located: LoadedResource[ProxyConfigResource]


def _with_istiod(configs: list[MeshConfig]) -> list[MeshConfig]:
    """istiod's environment and a mesh configuration say different things: one fills the other."""
    env = [c for c in configs if c.env_only]
    others = [c for c in configs if not c.env_only]
    if not env or not others or len({c.native for c in env}) > 1:
        return configs
    native, location = env[0].native, env[0].native_where
    return [
        config
        if config.native is not None
        else replace(config, native=native, native_where=location)
        for config in others
    ]


def _says_something(config: MeshConfig) -> bool:
    proxy = config.proxy
    return bool(proxy.env or proxy.drain_duration or proxy.termination_drain or config.native)


def _fingerprint(config: MeshConfig) -> tuple[object, ...]:
    proxy = config.proxy
    return (
        proxy.drain_duration and proxy.drain_duration[0],
        proxy.termination_drain and proxy.termination_drain[0],
        tuple(sorted((key, value[0]) for key, value in proxy.env.items())),
        proxy.stats_matched,
        config.native,
        config.lifecycle and config.lifecycle[1].value,
    )


def _from_config_map(located: LoadedResource[ConfigMap]) -> MeshConfig | None:
    model = located.model
    name = model.metadata.name or ""
    if (name != "istio" and not name.startswith("istio-")) or facts.MESH_KEY not in model.data:
        return None
    revision = name.removeprefix("istio").removeprefix("-")
    host = located.ref / "data" / facts.MESH_KEY
    config = MeshConfig(f"mesh config (ConfigMap {name})", revision, host)
    config.version = _labelled(model.metadata.labels)
    config.typed_strictly = True
    try:
        roots = compose(model.data[facts.MESH_KEY])
    except ComposeError as error:
        words = {"key": "", "reason": f"is not YAML: {error.reason}", "config": config.told}
        location = FixedLocation(embedded_error_region(host, error), host.source)
        config.unreadable = ConfigProblem("mesh-config-rejected", location, words)
        return config
    if not roots:
        return config
    tree = Tree(roots[0])

    def at(key_path: KeyPath, part: EntryPart) -> SourceLocation:
        return EmbeddedNodeRef(host, tree, key_path, part)

    entry = child(tree.root, "defaultConfig")
    if entry is not None:
        config.proxy = read_proxy_config(entry.value, ("defaultConfig",), at)
    return config


def _from_istiod(workload: Workload) -> MeshConfig | None:
    """istiod's own Deployment: its environment says whether sidecars are native."""
    for index, container in enumerate(workload.template.spec.containers):
        if container.name != CONTROL_PLANE:
            continue
        for number, variable in enumerate(container.env):
            if variable.name == facts.NATIVE_ENV and variable.value:
                location = workload.spec / "containers" / index / "env" / number / "value"
                revision = workload.template.metadata.labels.get(facts.REVISION, "")
                config = MeshConfig(
                    "istiod's Deployment", revision.replace("default", ""), location
                )
                config.env_only = True
                config.native, config.native_where = variable.value.lower(), location
                return config
    return None


class _Values(Struct, frozen=True):
    """Helm values: a part of a document, or the text of one of its scalars."""

    tree: Tree
    key_path: KeyPath
    host: NodeRef
    inside: bool

    @classmethod
    def of(cls, install: MeshInstall) -> _Values:
        """Raises ``ComposeError`` where a text is not YAML."""
        document = install.ref.document
        entry = document.tree.entry(install.values)
        host = NodeRef(document, install.values)
        if entry is None or not isinstance(entry.value, ScalarNode):
            return cls(document.tree, install.values, host, inside=False)
        roots = compose(str(entry.value.value)) or compose("{}")
        return cls(Tree(roots[0]), (), host, inside=True)

    def at(self, key_path: KeyPath, part: EntryPart = EntryPart.VALUE) -> SourceLocation:
        """The place of a route of the tree."""
        if self.inside:
            return EmbeddedNodeRef(self.host, self.tree, key_path, part)
        return NodeRef(self.host.document, key_path, part)

    def scalar(self, *steps: str) -> str | None:
        """The text at a way below the values."""
        return _scalar(self.tree, (*self.key_path, *steps))


def _from_install(install: MeshInstall) -> MeshConfig | None:
    """An installation's values: an IstioOperator, Sail's Istio, a Helm release of the chart."""
    ref, tree = install.ref, install.ref.document.tree
    config = MeshConfig(f"mesh config ({install.kind})", "", ref)
    config.typed_strictly = install.rendered
    try:
        values = _Values.of(install)
    except ComposeError:
        return None  # whoever renders it refuses it
    config.revision = _scalar(tree, (*ref.key_path, "spec", "revision")) or ""
    config.revision = config.revision or values.scalar("revision") or ""
    found = False
    beside = (*(install.mesh_config or ()), "defaultConfig")
    entry = tree.entry(beside) if install.mesh_config is not None else None
    if entry is not None:
        config.proxy = read_proxy_config(
            entry.value, beside, lambda r, p: NodeRef(ref.document, r, p)
        )
        found = True
    below = (*values.key_path, "meshConfig", "defaultConfig")
    entry = values.tree.entry(below)
    if entry is not None:
        config.proxy, found = read_proxy_config(entry.value, below, values.at), True
    _install_values(config, install, values)
    return config if found or not install.rendered or _says_something(config) else None


def _install_values(config: MeshConfig, install: MeshInstall, values: _Values) -> None:
    ref, tree = install.ref, install.ref.document.tree
    spec: KeyPath = (*ref.key_path, "spec")
    native = values.scalar("pilot", "env", facts.NATIVE_ENV)
    native_where: SourceLocation = values.at((*values.key_path, "pilot", "env", facts.NATIVE_ENV))
    variables = tree.plain((*spec, "components", "pilot", "k8s", "env"))
    for index, variable in enumerate(variables if isinstance(variables, list) else ()):
        if isinstance(variable, dict) and variable.get("name") == facts.NATIVE_ENV:
            key_path = (*spec, "components", "pilot", "k8s", "env", index, "value")
            native_where, native = NodeRef(ref.document, key_path), str(variable.get("value"))
    compatibility = values.scalar("compatibilityVersion")
    if native is None and compatibility in facts.COMPATIBILITY_WITHOUT_NATIVE:
        native_where = values.at((*values.key_path, "compatibilityVersion"))
        native = "false"
    if native is not None:
        config.native, config.native_where = native.lower(), native_where
    tags = [_scalar(tree, (*ref.key_path, *key_path)) for key_path in _TAGS.get(install.kind, ())]
    if install.release is not None:
        tags.append(_scalar(tree, install.release))
    tag = next((tag for tag in tags if tag), None) or values.scalar("global", "tag")
    config.version = Version.find(tag) if tag else None
    lifecycle = (*values.key_path, "global", "proxy", "lifecycle")
    # An empty one is none: the template asks whether it is true.
    written = values.tree.entry(lifecycle)
    entries = written.value if written is not None else None
    config.replaces_hook = isinstance(entries, MappingNode) and bool(entries.value)
    config.drops_hold = (
        config.replaces_hook and values.tree.entry((*lifecycle, "postStart")) is None
    )
    hook = (*lifecycle, "preStop")
    if values.tree.entry(hook) is not None:
        handler, _ = decode(LifecycleHandler, values.tree.plain(hook))
        location = values.host if values.inside else NodeRef(ref.document, hook)
        config.lifecycle = hook_settings(
            handler, location, "global.proxy.lifecycle preStop", lambda _name: None
        )


#: Where an installation names the release.
_TAGS: Final[dict[str, tuple[KeyPath, ...]]] = {
    "Istio": (("spec", "version"),),
    "IstioOperator": (("spec", "tag"),),
    "HelmRelease": (("spec", "chart", "spec", "version"),),
}


def _scalar(tree: Tree, key_path: KeyPath) -> str | None:
    entry = tree.entry(key_path)
    return str(entry.value.value) if entry and isinstance(entry.value, ScalarNode) else None


def _istiod_version(workload: Workload) -> Version | None:
    """The release that istiod's own Deployment shows by its image or labels."""
    for container in workload.template.spec.containers:
        name, _, tag = (container.image or "").rpartition(":")
        if name.endswith("/pilot") and container.name == CONTROL_PLANE:
            return Version.find(tag) or _labelled(workload.owner.labels)
    return None


_CHART = re.compile(r"(?:istiod|istio-discovery|istio)-(\d.*)")
_REVISION = re.compile(r"(\d+)-(\d+)(?:-(\d+))?")


def _labelled(labels: dict[str, str]) -> Version | None:
    """The release that the labels of Istio's own charts and operator name."""
    chart = _CHART.fullmatch(labels.get("helm.sh/chart", ""))
    if chart is not None:
        return Version.find(chart.group(1))
    version = labels.get("operator.istio.io/version")
    return Version.find(version) if version else None


def revision_version(revision: str | None) -> Version | None:
    """The release that a revision is named after, as Istio's guides name them: ``1-24-2``."""
    found = _REVISION.fullmatch(revision or "")
    return Version.find(".".join(part for part in found.groups() if part)) if found else None


def root_of(text: str) -> Node | None:
    """The root of a text's first document; Istio reads no further. Raises ``ComposeError``."""
    roots: list[Any] = compose(text)
    return roots[0] if roots else None
