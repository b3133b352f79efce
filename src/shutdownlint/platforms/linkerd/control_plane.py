"""The Linkerd control plane shown by the files: its version and its defaults for proxies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.manifests.resources import ConfigMap
from shutdownlint.patterns import lazy_pattern
from shutdownlint.platforms.helm_installs import HelmInstall, helm_installs
from shutdownlint.platforms.linkerd import facts
from shutdownlint.platforms.versions import Version
from shutdownlint.yaml_source.composer import ComposeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.yaml_source.location import SourceLocation

#: The version of an edge release's chart is its date: 2025.4.4 is edge-25.4.4.
_EDGE_CHART: Final = lazy_pattern(r"v?20(\d\d\.\d+\.\d+)")
_RELEASE: Final = lazy_pattern(r"(?:.*:)?(stable|edge|enterprise)-(\d+)\.(\d+)\.(\d+)")


class ControlPlane(Struct):
    """The defaults of one control plane, each with the location where it is written.

    ``label`` is how messages name the source.
    """

    label: str
    version: Version | None = None
    native: tuple[bool, SourceLocation] | None = None
    wait: tuple[int, SourceLocation] | None = None
    grace: tuple[str, SourceLocation] | None = None


class LinkerdMesh:
    """The control planes among the files. Two that disagree say nothing."""

    def __init__(self, context: AnalysisContext) -> None:
        self.context = context
        known = [*_from_config_maps(context), *_from_installs(context)]
        self.version = _agreed([plane.version for plane in known if plane.version is not None])
        self.defaults = known[0] if _all_same(known) else None

    def version_for(self, namespace: str | None) -> Version | None:
        """Return the version that the user says, else the one that the files show."""
        configured = self.context.version_of(facts.MESH, namespace)
        return configured if configured is not None else self.version


def _agreed(versions: list[Version]) -> Version | None:
    return versions[0] if len(set(versions)) == 1 else None


def _all_same(planes: list[ControlPlane]) -> bool:
    def values(plane: ControlPlane) -> tuple[Any, ...]:
        return tuple(v and v[0] for v in (plane.native, plane.wait, plane.grace))

    return len({values(plane) for plane in planes}) == 1


def read_release(text: str) -> Version | None:
    """Return the version that a release name or image tag shows: stable-2.14.1, edge-25.4.4."""
    found = _RELEASE.fullmatch(text)
    if found is None:
        return None
    channel, *numbers = found.groups()
    release = Version(*map(int, numbers))
    if channel != "edge":
        return release
    for first, leads_to in facts.EDGE_RELEASES.value:
        if release >= Version.parse(first):
            return Version.parse(leads_to)
    return None


def _from_config_maps(context: AnalysisContext) -> Iterator[ControlPlane]:
    """Yield the values of the installed chart, which the control plane keeps in a ConfigMap."""
    for loaded in context.index.all_of(ConfigMap):
        if loaded.model.metadata.name != facts.CONFIG_MAP or "values" not in loaded.model.data:
            continue
        install = HelmInstall("ConfigMap", loaded.ref, (*loaded.ref.key_path, "data", "values"))
        plane = _from_values(install, f"ConfigMap {facts.CONFIG_MAP}")
        if plane is not None:
            yield plane


def _from_installs(context: AnalysisContext) -> Iterator[ControlPlane]:
    """Helm values of the control plane's chart."""
    for obj in context.index.raw:
        if facts.CONTROL_PLANE_CHART not in obj.ref.document.text:
            continue
        for install in helm_installs(obj):
            if install.chart == facts.CONTROL_PLANE_CHART:
                plane = _from_values(install, f"{install.kind} values")
                if plane is not None:
                    yield plane


def _from_values(install: HelmInstall, label: str) -> ControlPlane | None:
    try:
        values = install.read_values()
    except ComposeError:
        return None  # whoever renders it refuses it
    plane = ControlPlane(label)
    chart = _EDGE_CHART.fullmatch(install.chart_version)
    shown = f"edge-{chart[1]}" if chart else values.scalar("linkerdVersion")
    plane.version = read_release(shown) if shown is not None else None
    native, wait = values.value("proxy", "nativeSidecar"), values.value(*_WAIT)
    grace = values.scalar(*_GRACE)
    if isinstance(native, bool):
        plane.native = (native, values.location("proxy", "nativeSidecar"))
    if isinstance(wait, int) and not isinstance(wait, bool) and wait >= 0:
        plane.wait = (wait, values.location(*_WAIT))
    if grace and not has_placeholder(grace):
        plane.grace = (grace, values.location(*_GRACE))
    return plane


_WAIT: Final = ("proxy", "waitBeforeExitSeconds")
_GRACE: Final = ("proxy", "shutdownGracePeriod")
