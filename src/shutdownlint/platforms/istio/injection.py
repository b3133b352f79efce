"""Whether a pod gets a sidecar, decided as Istio's webhook decides it, and in which mode.

Sources: manifests/charts/istio-control/istio-discovery/templates/mutatingwebhook.yaml (which
pods reach the webhook), pkg/kube/inject/inject.go:201-315 (what it then does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.platforms.istio import facts
from shutdownlint.platforms.istio.own_objects import find_own_object
from shutdownlint.platforms.istio.process import ProxyMode
from shutdownlint.platforms.mesh_signs import allows_signs, assume_member, find_sign
from shutdownlint.platforms.versions import Version
from shutdownlint.shutdown.pod_plan import Assumption, Confidence
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.istio.mesh_config import Mesh
    from shutdownlint.platforms.istio.mesh_sources import MeshConfig

NAMESPACE_REMEDY = "add the Namespace to the files, or name it with --context"
VERSION_REMEDY = "set --mesh istio=VERSION and --kubernetes-version"


class Sidecar(Struct, frozen=True):
    """The istio-proxy of a pod. ``container`` and ``ref`` are set where one is written."""

    mode: Setting[ProxyMode]
    written: Container | None = None
    ref: NodeRef | None = None
    already_injected: bool = False
    version: Version | None = None
    revision: str | None = None
    injection_assumptions: tuple[Assumption, ...] = ()
    mode_assumptions: tuple[Assumption, ...] = ()
    #: istiod deploys it for a Gateway of the Gateway API.
    deployed: bool = False

    @property
    def gateway(self) -> bool:
        """Whether it is the whole pod."""
        return self.mode.value is ProxyMode.GATEWAY


def find_sidecar(workload: Workload, mesh: Mesh) -> Sidecar | None:
    """Return the proxy that the pod has or will get, or (a gateway) is; None when it has none."""
    if _has_plain_init_proxy(workload):
        return None
    present = _explicit_proxy(workload)
    if workload.group == facts.GATEWAY_GROUP:
        return _deployed(workload, mesh, present if workload.spec_at else None)
    if present is not None and present.already_injected:
        if is_gateway(workload):
            return replace(present, mode=replace(present.mode, value=ProxyMode.GATEWAY))
        return _with_redirection(present, workload) if _is_sidecar(present, workload) else None
    decided = _injected(workload, mesh)
    if decided is None or _templates(workload) & facts.PROXYLESS_TEMPLATES:
        return None
    assumptions, revision = decided
    config, _ = mesh.config_for(revision, workload)
    version = mesh.version_for(revision, workload.namespace, workload)
    image = workload.template.metadata.annotations.get(facts.PROXY_IMAGE, "")
    version = Version.find(image.rpartition(":")[2]) or version if ":" in image else version
    more: tuple[Assumption, ...] = ()
    if facts.GATEWAY_TEMPLATE in _templates(workload):
        location = workload.annotations / facts.TEMPLATES
        origin = Origin(OriginKind.EXPLICIT, facts.TEMPLATES, location)
        mode = _mode_setting(ProxyMode.GATEWAY, origin)
    else:
        mode, more = _mode(workload, mesh, config, version)
    return Sidecar(
        mode=mode,
        written=present.written if present else None,
        ref=present.ref if present else None,
        version=version,
        revision=revision,
        injection_assumptions=assumptions,
        mode_assumptions=more,
    )


def _templates(workload: Workload) -> set[str]:
    annotation = workload.template.metadata.annotations.get(facts.TEMPLATES, "")
    return {name.strip() for name in annotation.split(",") if name.strip()}


def _with_redirection(sidecar: Sidecar, workload: Workload) -> Sidecar:
    """Assume that requests pass the proxy, where the pod does not show it."""
    names = {each.name for each in workload.template.spec.initContainers}
    if (
        not names.isdisjoint(facts.REDIRECTING.value)
        or facts.INJECTED in workload.template.metadata.annotations
    ):
        return sidecar
    text = "no init container leads requests through istio-proxy: they are assumed to pass it"
    assumption = Assumption(text, "write istio-init, or let the webhook inject the pod")
    return replace(sidecar, injection_assumptions=(assumption,))


def _is_sidecar(sidecar: Sidecar, workload: Workload) -> bool:
    """Whether an injected istio-proxy runs an Envoy beside an app."""
    if sidecar.written is None:
        return False
    disabled = any(e.name == "DISABLE_ENVOY" and e.value == "true" for e in sidecar.written.env)
    return not disabled and not _templates(workload) & facts.PROXYLESS_TEMPLATES


def _deployed(workload: Workload, mesh: Mesh, overridden: Sidecar | None) -> Sidecar:
    """Return istiod's pod for a Gateway; ``overridden`` is what the Gateway's parameters change."""
    revision = workload.owner.labels.get(facts.REVISION)
    origin = Origin(OriginKind.EXPLICIT, "Gateway", workload.ref / "spec" / "gatewayClassName")
    return Sidecar(
        mode=_mode_setting(ProxyMode.GATEWAY, origin),
        written=overridden.written if overridden else None,
        ref=overridden.ref if overridden else None,
        version=mesh.version_for(revision, workload.namespace, workload),
        revision=revision,
        deployed=True,
    )


def is_gateway(workload: Workload) -> bool:
    """Return whether the pod is a gateway: all its listeners drain, and no app is behind it."""
    if facts.GATEWAY_TEMPLATE in _templates(workload):
        return True
    return bool({"router", "waypoint"} & set(_proxy_arguments(workload)))


def is_waypoint(workload: Workload) -> bool:
    """Whether the pod is the proxy of a namespace or service in an ambient mesh."""
    return "waypoint" in _proxy_arguments(workload)


def _proxy_arguments(workload: Workload) -> list[str]:
    containers = workload.template.spec.containers
    return [word for c in containers if c.name == facts.PROXY_CONTAINER for word in c.args]


def is_bare_proxy(workload: Workload) -> bool:
    """Whether there is nothing but a proxy, of which it is not known what it is."""
    containers = workload.template.spec.containers
    return all(c.name == facts.PROXY_CONTAINER for c in containers) and bool(containers)


def _explicit_proxy(workload: Workload) -> Sidecar | None:
    """Return an istio-proxy that is written in the template: injected already, or to be merged."""
    spec, ref = workload.template.spec, workload.spec
    for field, containers in (
        ("containers", spec.containers),
        ("initContainers", spec.initContainers),
    ):
        for index, container in enumerate(containers):
            if container.name != facts.PROXY_CONTAINER:
                continue
            native = field == "initContainers" and container.restartPolicy == "Always"
            if field == "initContainers" and not native:
                continue
            here = ref / field / index
            image = container.image or ""
            mode = ProxyMode.NATIVE if native else ProxyMode.CLASSIC
            origin = Origin(OriginKind.EXPLICIT, field, here / "name")
            done = image not in ("", "auto") and "proxy" in image
            return Sidecar(
                mode=Setting("istio-proxy", mode, origin),
                written=container,
                ref=here,
                already_injected=done,
                version=Version.find(image.rpartition(":")[2]) if done else None,
            )
    return None


def _has_plain_init_proxy(workload: Workload) -> bool:
    """Return whether a plain init container has the proxy's name. It is neither injected nor
    merged, so nothing is certain.
    """
    return any(
        c.name == facts.PROXY_CONTAINER and c.restartPolicy != "Always"
        for c in workload.template.spec.initContainers
    )


def _is_istiod(workload: Workload) -> bool:
    labelled = workload.template.metadata.labels.get("app") == "istiod"
    containers = workload.template.spec.containers
    return labelled or any(
        each.name == "discovery" and "/pilot" in (each.image or "") for each in containers
    )


def _injected(workload: Workload, mesh: Mesh) -> tuple[tuple[Assumption, ...], str | None] | None:
    """Return the necessary assumptions, and the revision; None if the webhook does not inject."""
    metadata = workload.template.metadata
    spec = workload.template.spec
    namespace = workload.namespace
    if spec.hostNetwork is True or namespace in facts.IGNORED_NAMESPACES or workload.created:
        return None
    pod_label = metadata.labels.get(facts.INJECT)
    if _is_istiod(workload) and pod_label != "true":
        return None
    # The annotation only opts out: nothing but a label brings a pod to the webhook.
    opted_out = pod_label == "false" or (
        pod_label is None and metadata.annotations.get(facts.INJECT) == "false"
    )
    if opted_out or metadata.labels.get(facts.DATAPLANE_MODE) == facts.AMBIENT:
        return None
    labels = mesh.context.namespace_labels(workload)
    if labels is not None:
        return _injected_by(labels, pod_label, metadata.labels.get(facts.REVISION))
    declared = mesh.context.declared_mesh(namespace)
    if declared is None:
        return _infer_injection(workload, mesh, pod_label)
    return ((), metadata.labels.get(facts.REVISION)) if declared == "istio" else None


def _injected_by(
    namespace: dict[str, str], pod_label: str | None, pod_revision: str | None
) -> tuple[tuple[Assumption, ...], str | None] | None:
    """Return the webhook's five selectors, for a namespace whose labels are known."""
    injection = namespace.get(facts.NAMESPACE_INJECTION)
    if injection is not None:
        return ((), None) if injection == "enabled" else None
    revision = namespace.get(facts.REVISION)
    if revision is not None:
        return (), revision
    if pod_revision is not None:
        return (), pod_revision
    return ((), None) if pod_label == "true" else None


def is_membership_open(workload: Workload, mesh: Mesh) -> bool:
    """Whether the files and the user leave open if the pod gets a sidecar."""
    metadata, namespace = workload.template.metadata, workload.namespace
    switches = (metadata.labels.get(facts.INJECT), metadata.annotations.get(facts.INJECT))
    ambient = metadata.labels.get(facts.DATAPLANE_MODE) == facts.AMBIENT
    if workload.template.spec.hostNetwork is True or "false" in switches or ambient:
        return False
    if metadata.labels.get(facts.INJECT) == "true" or facts.REVISION in metadata.labels:
        return False
    if namespace in facts.IGNORED_NAMESPACES or _is_istiod(workload):
        return False
    written = _explicit_proxy(workload)
    if (written is not None and written.already_injected) or is_gateway(workload):
        return False
    return workload.group != facts.GATEWAY_GROUP and not mesh.context.is_namespace_known(namespace)


def _infer_injection(
    workload: Workload, mesh: Mesh, pod_label: str | None
) -> tuple[tuple[Assumption, ...], str | None] | None:
    """Return the same for a namespace that is not among the files: other signs have to show it."""
    metadata, namespace = workload.template.metadata, workload.namespace
    location = f"namespace {namespace}" if namespace else "the pod's namespace"
    revision = metadata.labels.get(facts.REVISION)
    if pod_label == "true" or revision is not None:
        text = f"{location} is not among the files; the pod's label says that it is injected"
        return (Assumption(text, NAMESPACE_REMEDY),), revision
    written = any(c.name == facts.PROXY_CONTAINER for c in workload.template.spec.containers)
    if facts.CONFIG_ANNOTATION in metadata.annotations or written:
        text = f"{location} is not among the files; the proxy settings of the pod suggest injection"
        return (Assumption(text, NAMESPACE_REMEDY, Confidence.LOW),), None
    if _is_istiod(workload):
        return None
    sign = find_sign("istio", workload, mesh.context, lambda: find_own_object(workload, mesh))
    version_set = mesh.context.version_of("istio") is not None
    if sign is None and version_set and allows_signs("istio", workload, mesh.context):
        sign = "the Istio version that is set"
    return None if sign is None else ((assume_member(sign, workload),), None)


def _mode(
    workload: Workload, mesh: Mesh, config: MeshConfig | None, version: Version | None
) -> tuple[Setting[ProxyMode], tuple[Assumption, ...]]:
    """Classic or native, as istiod of that version decides it."""
    ref = workload.annotations / facts.NATIVE_ANNOTATION
    nearest = workload.ref / "metadata"
    wish = workload.template.metadata.annotations.get(facts.NATIVE_ANNOTATION)
    if wish in ("true", "false") and _since(version, facts.NATIVE_ANNOTATION_SINCE.value):
        mode = ProxyMode.NATIVE if wish == "true" else ProxyMode.CLASSIC
        return _mode_setting(mode, Origin(OriginKind.EXPLICIT, facts.NATIVE_ANNOTATION, ref)), ()
    if config is not None and config.native in ("true", "false"):
        mode = ProxyMode.NATIVE if config.native == "true" else ProxyMode.CLASSIC
        label = f"{facts.NATIVE_ENV} of {config.label}"
        return _mode_setting(mode, Origin(OriginKind.INHERITED, label, config.native_location)), ()
    kubernetes = mesh.context.version_of("kubernetes", workload.namespace)
    if version is None:
        text = "Istio's version is not known: its proxy is assumed to be a classic sidecar"
        return _default(ProxyMode.CLASSIC, "assumed", nearest), (
            _unknown(text, "istio", "kubernetes"),
        )
    if version < facts.NATIVE_AUTO_SINCE.value:
        return _default(ProxyMode.CLASSIC, f"the default of Istio {version}", nearest), ()
    if kubernetes is None:
        needs = facts.NATIVE_AUTO_KUBERNETES.value
        text = (
            f"Istio {version} makes native sidecars on Kubernetes {needs.major}.{needs.minor} and "
            "later; Kubernetes' version is not known: a classic sidecar is assumed"
        )
        return _default(ProxyMode.CLASSIC, "assumed", nearest), (_unknown(text, "kubernetes"),)
    native = kubernetes >= facts.NATIVE_AUTO_KUBERNETES.value
    label = f"the default of Istio {version} on Kubernetes {kubernetes}"
    return _default(ProxyMode.NATIVE if native else ProxyMode.CLASSIC, label, nearest), ()


def _unknown(text: str, *versions: str) -> Assumption:
    return Assumption(text, VERSION_REMEDY, about_versions=versions)


def _since(version: Version | None, first: Version) -> bool:
    return version is None or version >= first


def _mode_setting(mode: ProxyMode, origin: Origin) -> Setting[ProxyMode]:
    return Setting("istio-proxy", mode, origin)


def _default(mode: ProxyMode, label: str, location: NodeRef) -> Setting[ProxyMode]:
    return _mode_setting(mode, Origin(OriginKind.DEFAULT, label, location))
