"""The places of a mesh configuration: istiod's ConfigMap, installations, istiod's Deployment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field
from yaml.nodes import MappingNode

from shutdownlint.manifests.decoding import decode
from shutdownlint.manifests.document import (
    EmbeddedNodeRef,
    NodeRef,
    Source,
    embedded_error_region,
)
from shutdownlint.manifests.resources import (
    ConfigMap,
    Container,
    LifecycleHandler,
    Metadata,
    PodTemplate,
)
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.helm_installs import HelmInstall, HelmValues, helm_installs, scalar_at
from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.istio.problems import MeshConfigRejected
from shutdownlint.platforms.istio.proxyconfig import (
    ProxyConfigText,
    misplaced_fields,
    read_proxy_config,
)
from shutdownlint.platforms.pods.hooks import HookSettings, read_hook
from shutdownlint.platforms.versions import Version
from shutdownlint.yaml_source.composer import ComposeError, compose
from shutdownlint.yaml_source.location import EntryPart, FixedLocation, KeyPath, SourceLocation
from shutdownlint.yaml_source.tree import Tree, child

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from yaml.nodes import Node

    from shutdownlint.manifests.object_index import LoadedResource, ObjectIndex, RawObject
    from shutdownlint.platforms.problem import Problem

#: istiod's container.
_CONTROL_PLANE: Final = "discovery"
#: The kinds that istiod itself is found in.
_ISTIOD_KINDS: Final = ("Deployment", "Pod")
_CHART: Final = lazy_pattern(r"(?:istiod|istio-discovery|istio)-(\d.*)")


class MeshConfig(Struct, eq=False):
    """One installation's settings for its proxies.

    ``replaces_hook``: global.proxy.lifecycle is set, so the template's hooks are not used.
    ``drops_post_start``: it brings no postStart hook, so nothing holds the app back.
    ``env_only``: it is istiod's environment, no mesh configuration. ``typed_strictly``: it is
    known what becomes of a wrong type (istioctl and Sail were not tried).
    """

    label: str
    revision: str
    location: NodeRef
    proxy: ProxyConfigText = field(default_factory=ProxyConfigText)
    native: str | None = None
    native_location: SourceLocation | None = None
    hook: HookSettings | None = None
    replaces_hook: bool = False
    drops_post_start: bool = False
    version: Version | None = None
    unreadable: Problem | None = None
    env_only: bool = False
    #: Where its settings for all proxies are written, or would be.
    defaults: Source | None = None
    typed_strictly: bool = False
    #: Which ports pass the proxies, by the annotation that a pod says it with.
    captured: dict[str, str] = field(default_factory=dict)
    #: The kind of the proxies' images (``global.variant``, or the end of the tag).
    variant: str = ""

    @property
    def file(self) -> str:
        """The file that it is written in."""
        return self.location.document.file

    @property
    def is_invalid(self) -> bool:
        """Whether istiod ignores it whole."""
        return bool(self.proxy.rejected) or self.unreadable is not None

    @property
    def has_drain_settings(self) -> bool:
        """Whether it says anything about how proxies drain."""
        proxy = self.proxy
        return bool(proxy.env or proxy.drain_duration or proxy.termination_drain or self.native)

    @property
    def drain_settings(self) -> tuple[object, ...]:
        """The settings for the drain of proxies, to compare with another configuration."""
        proxy = self.proxy
        return (
            proxy.drain_duration and proxy.drain_duration[0],
            proxy.termination_drain and proxy.termination_drain[0],
            tuple(sorted((key, value[0]) for key, value in proxy.env.items())),
            proxy.stats_matched,
            self.native,
            self.hook and self.hook.handler.value,
        )


class _Install(Struct, frozen=True, eq=False):
    """The place of an Istio installation's Helm values.

    ``mesh_config`` is the key path of another place for the mesh configuration, where there is
    one; ``rendered``: the values become the mesh's ConfigMap as they are, types included. What
    istioctl and Sail make of wrong types was not tried.
    """

    helm: HelmInstall
    mesh_config: KeyPath | None = None
    rendered: bool = True


class IstiodPods(Struct, frozen=True, eq=False):
    """An object that runs istiod: its pod template, and istiod's containers with their index."""

    obj: RawObject
    template: PodTemplate
    containers: tuple[tuple[int, Container], ...]


def read_istiods(index: ObjectIndex) -> Iterator[IstiodPods]:
    """Yield the objects that run istiod."""
    for obj in index.raw:
        if obj.entry.kind in _ISTIOD_KINDS:
            yield index.read(obj, _read_istiod)


def _read_istiod(obj: RawObject) -> IstiodPods:
    template, _ = decode(PodTemplate, obj.ref.document.tree.to_python(_pod(obj).key_path))
    containers = enumerate(template.spec.containers)
    found = tuple(entry for entry in containers if entry[1].name == _CONTROL_PLANE)
    return IstiodPods(obj, template, found)


def read_mesh_configs(index: ObjectIndex, istiods: Iterable[IstiodPods]) -> Iterator[MeshConfig]:
    """Every mesh configuration among the files."""
    raw = [obj for obj in index.raw if obj.entry.kind not in _ISTIOD_KINDS]
    sources = (
        *(index.read(loaded, _from_config_map) for loaded in index.all_of(ConfigMap)),
        *(config for obj in raw for config in index.read(obj, _read_installs)),
        *(_from_istiod(pods) for pods in istiods),
    )
    return (config for config in sources if config is not None)


def read_versions(istiods: Iterable[IstiodPods]) -> Iterator[Version]:
    """Return the releases that istiod's own pods show."""
    found = (_istiod_version(pods) for pods in istiods)
    return (version for version in found if version is not None)


def _from_config_map(loaded: LoadedResource[ConfigMap]) -> MeshConfig | None:
    model = loaded.model
    name = model.metadata.name or ""
    if (name != "istio" and not name.startswith("istio-")) or facts.MESH_KEY not in model.data:
        return None
    revision = name.removeprefix("istio").removeprefix("-")
    host = loaded.ref / "data" / facts.MESH_KEY
    config = MeshConfig(f"mesh config (ConfigMap {name})", revision, host)
    config.version = _labelled_version(model.metadata.labels)
    config.typed_strictly = True
    config.defaults = EmbeddedNodeRef(host, None, ("defaultConfig",))
    try:
        roots = compose(model.data[facts.MESH_KEY])
    except ComposeError as error:
        location = FixedLocation(embedded_error_region(host, error), host.template)
        config.unreadable = MeshConfigRejected(
            location=location, key="", reason=f"is not YAML: {error.reason}", config=config.label
        )
        return config
    if not roots:
        return config
    tree = Tree(roots[0])

    def at(key_path: KeyPath, part: EntryPart) -> SourceLocation:
        return EmbeddedNodeRef(host, tree, key_path, part)

    entry = child(tree.root, "defaultConfig")
    if entry is not None:
        config.proxy = read_proxy_config(entry.value, ("defaultConfig",), at)
    config.proxy.ignored += misplaced_fields(tree.root, (), at)
    return config


# istiod's own Deployment


def _pod(obj: RawObject) -> NodeRef:
    return obj.ref if obj.entry.kind == "Pod" else obj.ref / "spec" / "template"


def _from_istiod(pods: IstiodPods) -> MeshConfig | None:
    """istiod's environment says whether sidecars are native."""
    obj = pods.obj
    for index, container in pods.containers:
        for number, variable in enumerate(container.env):
            if variable.name == facts.NATIVE_ENV and variable.value:
                location = _pod(obj) / "spec" / "containers" / index / "env" / number / "value"
                revision = pods.template.metadata.labels.get(facts.REVISION, "").replace(
                    "default", ""
                )
                config = MeshConfig(f"istiod's {obj.entry.kind}", revision, location)
                config.env_only = True
                config.native, config.native_location = variable.value.lower(), location
                return config
    return None


def _istiod_version(pods: IstiodPods) -> Version | None:
    """Return the release that istiod's pods show by their image or labels."""
    obj = pods.obj
    for _, container in pods.containers:
        name, _, tag = (container.image or "").rpartition(":")
        if name.endswith("/pilot"):
            key_path = (*obj.ref.key_path, "metadata")
            metadata, _ = decode(Metadata, obj.ref.document.tree.to_python(key_path))
            return Version.find(tag) or _labelled_version(metadata.labels)
    return None


def _labelled_version(labels: dict[str, str]) -> Version | None:
    """Return the release that the labels of Istio's own charts and operator name."""
    chart = _CHART.fullmatch(labels.get("helm.sh/chart", ""))
    if chart is not None:
        return Version.find(chart.group(1))
    version = labels.get("operator.istio.io/version")
    return Version.find(version) if version else None


# Installations


def _installs(obj: RawObject) -> Iterator[_Install]:
    ref, kind = obj.ref, obj.entry.kind
    values: KeyPath = (*ref.key_path, "spec", "values")
    if kind == "IstioOperator":
        beside: KeyPath = (*ref.key_path, "spec", "meshConfig")
        release: KeyPath = (*ref.key_path, "spec", "tag")
        yield _Install(HelmInstall(kind, ref, values, release=release), beside, rendered=False)
    elif kind == "Istio":
        release = (*ref.key_path, "spec", "version")
        yield _Install(HelmInstall(kind, ref, values, release=release), rendered=False)
    else:
        yield from map(_Install, helm_installs(obj))


def _read_installs(obj: RawObject) -> tuple[MeshConfig | None, ...]:
    return tuple(map(_from_install, _installs(obj)))


def _from_install(install: _Install) -> MeshConfig | None:
    """Return an installation's values: an IstioOperator, Sail's Istio, or a Helm release."""
    ref, tree = install.helm.ref, install.helm.ref.document.tree
    config = MeshConfig(f"mesh config ({install.helm.kind})", "", ref)
    config.typed_strictly = install.rendered or install.mesh_config is not None
    try:
        values = install.helm.read_values()
    except ComposeError:
        return None  # whoever renders it refuses it
    config.revision = scalar_at(tree, (*ref.key_path, "spec", "revision")) or ""
    config.revision = config.revision or values.scalar("revision") or ""
    found = False

    def at(key_path: KeyPath, part: EntryPart) -> Source:
        return NodeRef(ref.document, key_path, part)

    beside, below = install.mesh_config, (*values.key_path, "meshConfig")
    for tree_, whole, place in ((tree, beside, at), (values.tree, below, values.at)):
        if whole is not None and (config.defaults is None or tree_.entry(whole) is not None):
            config.defaults = place((*whole, "defaultConfig"), EntryPart.VALUE)
        entry = tree_.entry((*whole, "defaultConfig")) if whole is not None else None
        if whole is not None and entry is not None:
            config.proxy = read_proxy_config(entry.value, (*whole, "defaultConfig"), place)
            found = True
        mesh = tree_.entry(whole) if whole is not None else None
        if whole is not None and mesh is not None:
            config.proxy.ignored += misplaced_fields(mesh.value, whole, place)
    _read_native(config, ref, values)
    tag = install.helm.chart_version or values.scalar("global", "tag")
    config.version = Version.find(tag) if tag else None
    config.variant = values.scalar("global", "variant") or ""
    if tag and tag.endswith(f"-{facts.DISTROLESS}"):
        config.variant = facts.DISTROLESS
    _read_lifecycle(config, values)
    for annotation, name in facts.CAPTURE_VALUES.value.items():
        text = values.scalar("global", "proxy", name)
        if text:
            config.captured[annotation] = text
    says_something = found or bool(config.captured) or config.has_drain_settings
    return config if says_something or not install.rendered else None


def _read_native(config: MeshConfig, ref: NodeRef, values: HelmValues) -> None:
    """Whether the installation makes native sidecars."""
    tree = ref.document.tree
    spec: KeyPath = (*ref.key_path, "spec")
    native = values.scalar("pilot", "env", facts.NATIVE_ENV)
    location = values.location("pilot", "env", facts.NATIVE_ENV)
    env: KeyPath = (*spec, "components", "pilot", "k8s", "env")
    variables = tree.to_python(env)
    for index, variable in enumerate(variables if isinstance(variables, list) else ()):
        if isinstance(variable, dict) and variable.get("name") == facts.NATIVE_ENV:
            location, native = (
                NodeRef(ref.document, (*env, index, "value")),
                str(variable.get("value")),
            )
    if (
        native is None
        and values.scalar("compatibilityVersion") in facts.COMPATIBILITY_WITHOUT_NATIVE
    ):
        location, native = values.location("compatibilityVersion"), "false"
    if native is not None:
        config.native, config.native_location = native.lower(), location


def _read_lifecycle(config: MeshConfig, values: HelmValues) -> None:
    """Read the hooks that ``global.proxy.lifecycle`` gives every proxy."""
    lifecycle = (*values.key_path, "global", "proxy", "lifecycle")
    # An empty one is none: the template asks whether it is true.
    written = values.tree.entry(lifecycle)
    entries: Node | None = written.value if written is not None else None
    config.replaces_hook = isinstance(entries, MappingNode) and bool(entries.value)
    post_start = values.tree.entry((*lifecycle, "postStart"))
    config.drops_post_start = config.replaces_hook and post_start is None
    hook = (*lifecycle, "preStop")
    if values.tree.entry(hook) is not None:
        handler, _ = decode(LifecycleHandler, values.tree.to_python(hook))
        location = values.host if values.inside else NodeRef(values.host.document, hook)
        name = "global.proxy.lifecycle preStop"
        config.hook = read_hook(handler, location, name, lambda _name: None)
