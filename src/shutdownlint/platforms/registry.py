"""The platforms that there are, and what makes a run load them.

A platform's module and rules are loaded only when one of its words is in the input, or when the
user names it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.manifests.kinds import KindEntry, KindTable, MeshSign, MeshWord, Reach
from shutdownlint.platforms.user_facts import NO_MESH
from shutdownlint.programs.known import bundled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shutdownlint.platforms.platform import Platform
    from shutdownlint.programs.known import KnownPrograms

_RESOURCES: Final = "shutdownlint.manifests.resources"


class PlatformEntry(Struct, frozen=True):
    """A platform before it is loaded.

    ``module`` has a class ``Plugin``. ``verified``: how what it knows was checked. ``words``: any
    of them in a document loads it; none: it is always loaded. ``mesh``: users can say that pods are
    in it (``--mesh``).
    Its rule files are in the folder of its name.
    """

    name: str
    title: str
    module: str
    verified: str
    words: tuple[bytes, ...] = ()
    mesh: bool = False
    kinds: tuple[KindEntry, ...] = ()
    describing_groups: tuple[str, ...] = ()
    pod_kinds: tuple[tuple[str, str], ...] = ()
    #: The end of the API groups whose objects show that the mesh is in use.
    mesh_group: bytes = b""
    #: Other objects that show it.
    mesh_signs: tuple[MeshSign, ...] = ()
    #: The words in an installation that injects all pods, or none.
    mesh_switched_on: tuple[bytes, ...] = ()
    mesh_switched_off: tuple[bytes, ...] = ()
    batch_kinds: tuple[str, ...] = ()
    #: Annotations of this group in a chart's values ask for a proxy; this label gives the pod one.
    proxy_annotations: str = ""
    proxy_label: tuple[str, str] = ("", "")
    #: The module with the metrics of request durations, for ``measure``.
    metrics: str = ""


def _label(name: bytes, value: bytes) -> bytes:
    """Return the pattern of a label or annotation in a text."""
    return name + rb"[\"']?: *[\"']?" + value


def _core(kind: str, group: str = "", model: str = "", *, strict: bool = False) -> KindEntry:
    return KindEntry(group, kind, f"{_RESOURCES}:{model or kind}", strict=strict)


_ISTIOD: Final = ((b"discovery", b"pilot"), (b"discovery", b"ENABLE_NATIVE_SIDECARS"))
#: A reverse proxy's file that leads to another container of its pod, or listens for its pod only.
_FORWARDS: Final = (
    *(
        (word, address)
        for word in (b"_pass", b"reverse_proxy", b"ProxyPass", b"backend", b"port_value")
        for address in (b"127.0.0.1", b"localhost")
    ),
    (b"listen 127.0.0.1",),
    (b"listen localhost",),
    (b"listen [::1]",),
)
#: The words of manifests that change how a mesh's proxy stops, or whether a pod has one.
_MESH_WORDS: Final[dict[str, tuple[bytes, ...]]] = {
    "istio": (b"proxy.istio.io/config", b"sidecar.istio.io/inject"),
    "linkerd": (
        b"linkerd.io/inject",
        b"shutdown-grace-period",
        b"proxy-wait-before-exit-seconds",
    ),
    "consul": (b"consul.hashicorp.com/connect-inject", b"sidecar-proxy-lifecycle"),
    "kuma": (b"kuma.io/sidecar",),
    "dapr": (b"dapr.io/",),
}
#: The words of a policy that changes the shutdown of pods, or the mesh that they are in.
SHUTDOWN_WORDS: Final = (
    b"terminationGracePeriodSeconds",
    b"lifecycle",
    b"preStop",
    b"stopSignal",
    *(word for words in _MESH_WORDS.values() for word in words),
)
_CHANGES_SHUTDOWN: Final = tuple((word,) for word in SHUTDOWN_WORDS)
#: Parts of the names of ports that a mesh's injector adds to pods.
INJECTED_PORTS: Final = ("envoy", *_MESH_WORDS)
_POD_VALUES: Final = tuple(
    (words,)
    for words in (
        (b"terminationGracePeriodSeconds", b"lifecycle"),
        (b"terminationGracePeriodSeconds", b"lifecycleHooks"),
        (b"podAnnotations",),
    )
)
PLATFORMS: Final = (
    PlatformEntry(
        "kubernetes",
        "Kubernetes",
        "shutdownlint.platforms.kubernetes.platform",
        "read in Kubernetes' sources; the kubelet's order is part of the runs with real Envoys",
        kinds=(
            _core("Service", strict=True),
            _core("Namespace", strict=True),
            KindEntry(
                "",
                "ConfigMap",
                f"{_RESOURCES}:ConfigMap",
                words=(
                    (b"istio", b"mesh"),
                    *_FORWARDS,
                    (b"deployment", b"spec"),
                ),
                strict=True,
            ),
            _core("Ingress", "networking.k8s.io"),
            _core("IngressClass", "networking.k8s.io"),
            KindEntry("", "Node", f"{_RESOURCES}:Node", words=((b"kubeletVersion",),)),
            # What the values of charts say of pods.
            *(
                KindEntry(group, kind, words=words)
                for group, kind in (
                    ("", ""),
                    ("argoproj.io", "Application"),
                    ("helm.toolkit.fluxcd.io", "HelmRelease"),
                )
                for words in _POD_VALUES
            ),
            # Where they put the manifests of a folder.
            KindEntry("argoproj.io", "Application", words=((b"destination", b"path"),)),
            KindEntry(
                "kustomize.toolkit.fluxcd.io", "Kustomization", words=((b"targetNamespace",),)
            ),
            _core("Gateway", "gateway.networking.k8s.io"),
            _core("PodDisruptionBudget", "policy"),
            _core("HorizontalPodAutoscaler", "autoscaling", "Scaler"),
            _core("ScaledObject", "keda.sh", "Scaler"),
        ),
        describing_groups=(
            "kuttl.dev",
            "templates.gatekeeper.sh",
            "mutations.gatekeeper.sh",
            "admissionregistration.k8s.io",
        ),
        pod_kinds=(("", "Pod"),),
        batch_kinds=(
            "Job",
            "CronJob",
            "ScaledJob",
            "BroadcastJob",
            "AdvancedCronJob",
            "AnalysisTemplate",
        ),
        metrics="shutdownlint.platforms.kubernetes.metrics",
    ),
    PlatformEntry(
        "contour",
        "Contour",
        "shutdownlint.platforms.contour.platform",
        "read in the sources",
        words=(b"contour",),
    ),
    PlatformEntry(
        "envoy_gateway",
        "Envoy Gateway",
        "shutdownlint.platforms.envoy_gateway.platform",
        "read in the sources at tags v1.2 to v1.9",
        words=(b"gateway.envoyproxy.io", b"envoy-gateway"),
        kinds=(
            KindEntry(
                "gateway.envoyproxy.io",
                "EnvoyProxy",
                "shutdownlint.platforms.envoy_gateway.platform:EnvoyProxy",
            ),
        ),
    ),
    PlatformEntry(
        "programs",
        "Programs",
        "shutdownlint.platforms.programs.platform",
        "63 starts of real programs and five edges with random settings, as the first process; 209 "
        "start scripts in five shells; the others as their source says",
        # An LLMInferenceService need not name its containers.
        words=(b"containers", b"serving.kserve.io"),
        metrics="shutdownlint.platforms.programs.metrics",
    ),
    PlatformEntry(
        "istio",
        "Istio",
        "shutdownlint.platforms.istio.platform",
        "real Envoys 1.36.4 and 1.40.0 on every change; ProxyConfig tried with Istio's own "
        "libraries",
        words=(b"istio", b"meshConfig", b"drain_listeners", b"quitquitquit"),
        mesh=True,
        mesh_group=b"istio.io",
        mesh_signs=(
            MeshSign(b"Namespace", (_label(rb"istio-injection", rb"enabled"),), Reach.BELOW),
            MeshSign(b"Namespace", (_label(rb"istio\.io/rev", rb"[A-Za-z0-9]"),), Reach.BELOW),
            MeshSign(b"ConfigMap", (rb"\bname\"?: *[\"']?istio[\"',}\s]", rb"\bmesh\"?:")),
            MeshSign(b"IstioOperator"),
            MeshSign(b"Istio"),
        ),
        mesh_switched_on=(_label(b"enableNamespacesByDefault", b"true"),),
        mesh_switched_off=(
            _label(b"autoInject", b"disabled"),
            _label(b"profile", b"(?:ambient|remote|empty)"),
        ),
        kinds=(
            KindEntry(
                "networking.istio.io",
                "ProxyConfig",
                "shutdownlint.platforms.istio.resources:ProxyConfigResource",
                strict=True,
            ),
            KindEntry("install.istio.io", "IstioOperator"),
            KindEntry("sailoperator.io", "Istio"),
            KindEntry("operator.istio.io", "Istio"),
            KindEntry(
                "helm.toolkit.fluxcd.io",
                "HelmRelease",
                words=((b"meshConfig",), (b"ENABLE_NATIVE_SIDECARS",)),
            ),
            KindEntry(
                "argoproj.io",
                "Application",
                words=((b"meshConfig",), (b"ENABLE_NATIVE_SIDECARS",)),
            ),
            KindEntry("", "", words=((b"meshConfig",),)),
            KindEntry(
                "networking.istio.io",
                "VirtualService",
                "shutdownlint.platforms.virtual_services:VirtualService",
                words=((b"hosts",), (b"imeout",), (b"retries",)),
            ),
            *(
                KindEntry(
                    group,
                    kind,
                    "shutdownlint.platforms.istio.resources:MeshPolicy",
                    words=((b"elector",),),
                )
                for group, kinds in (
                    (
                        "security.istio.io",
                        ("AuthorizationPolicy", "PeerAuthentication", "RequestAuthentication"),
                    ),
                    ("networking.istio.io", ("Sidecar", "EnvoyFilter")),
                    ("telemetry.istio.io", ("Telemetry",)),
                )
                for kind in kinds
            ),
            # istiod's own pods.
            KindEntry("apps", "Deployment", words=_ISTIOD),
            KindEntry("", "Pod", words=_ISTIOD),
        ),
        proxy_annotations="istio.io/",
        proxy_label=("sidecar.istio.io/inject", "true"),
        metrics="shutdownlint.platforms.istio.metrics",
    ),
    PlatformEntry(
        "linkerd",
        "Linkerd",
        "shutdownlint.platforms.linkerd.platform",
        "read in the sources",
        words=(b"linkerd",),
        mesh=True,
        mesh_group=b"linkerd.io",
        mesh_signs=(
            MeshSign(
                b"Namespace",
                (_label(rb"linkerd\.io/inject", rb"(?:enabled|ingress)"),),
                Reach.BELOW,
            ),
        ),
        kinds=(
            KindEntry("", "ConfigMap", f"{_RESOURCES}:ConfigMap", words=((b"linkerd-config",),)),
            KindEntry(
                "helm.toolkit.fluxcd.io", "HelmRelease", words=((b"linkerd-control-plane",),)
            ),
            KindEntry("argoproj.io", "Application", words=((b"linkerd-control-plane",),)),
        ),
        metrics="shutdownlint.platforms.linkerd.metrics",
    ),
    PlatformEntry(
        "consul",
        "Consul",
        "shutdownlint.platforms.consul.platform",
        "read in the sources",
        words=(b"consul.hashicorp.com/", b"consul-dataplane"),
        mesh=True,
    ),
    PlatformEntry(
        "kuma",
        "Kuma",
        "shutdownlint.platforms.kuma.platform",
        "read in the sources",
        words=(b"kuma.io/", b"kuma-sidecar"),
        mesh=True,
        mesh_group=b"kuma.io",
        mesh_signs=(
            MeshSign(
                b"Namespace",
                (_label(rb"kuma\.io/sidecar-injection", rb"(?:enabled|true)"),),
                Reach.BELOW,
            ),
        ),
    ),
    PlatformEntry(
        "dapr",
        "Dapr",
        "shutdownlint.platforms.dapr.platform",
        "read in the sources",
        words=(b"dapr.io/", b"daprd"),
    ),
    PlatformEntry(
        "loadbalancers",
        "Load balancers",
        "shutdownlint.platforms.loadbalancers.platform",
        "read in the controllers' sources and the vendors' guides",
        words=(
            b"alb.ingress",
            b"aws-load-balancer",
            b"gateway.k8s.aws",
            b"cloud.google.com/neg",
            b"networking.gke.io",
            b"application-gateway",
            b"appgw.ingress",
            b"LoadBalancer",
            b"NodePort",
            b"gateway.networking.k8s.io",
            b"ingressClassName: alb",
        ),
        kinds=(
            KindEntry(
                "cloud.google.com",
                "BackendConfig",
                f"{_RESOURCES}:BackendConfig",
            ),
            KindEntry(
                "networking.gke.io",
                "GCPBackendPolicy",
                "shutdownlint.platforms.loadbalancers.resources:GCPBackendPolicy",
            ),
            KindEntry(
                "gateway.k8s.aws",
                "TargetGroupConfiguration",
                "shutdownlint.platforms.loadbalancers.resources:TargetGroupConfiguration",
            ),
        ),
    ),
    PlatformEntry(
        "routes",
        "Routes",
        "shutdownlint.platforms.routes.platform",
        "read in the controllers' sources and API definitions",
        words=(b"timeout", b"Timeout", b"retries", b"retry:"),
        kinds=tuple(
            KindEntry(
                group,
                kind,
                f"shutdownlint.platforms.routes.resources:{model}",
                words=((b"imeout",), (b"retries",), (b"retry",)),
            )
            for group, kind, model in (
                ("gateway.networking.k8s.io", "HTTPRoute", "HTTPRoute"),
                ("projectcontour.io", "HTTPProxy", "HTTPProxy"),
                ("consul.hashicorp.com", "ServiceRouter", "ServiceRouter"),
                ("getambassador.io", "Mapping", "Mapping"),
            )
        ),
    ),
    PlatformEntry(
        "nodes",
        "Nodes",
        "shutdownlint.platforms.nodes.platform",
        "read in the vendors' guides and in Karpenter's sources",
        words=(b"containers",),
        kinds=(
            KindEntry(
                "karpenter.sh", "NodePool", "shutdownlint.platforms.nodes.resources:NodePool"
            ),
            KindEntry(
                "karpenter.k8s.aws",
                "EC2NodeClass",
                "shutdownlint.platforms.nodes.resources:EC2NodeClass",
            ),
            KindEntry(
                "kubelet.config.k8s.io",
                "KubeletConfiguration",
                "shutdownlint.platforms.nodes.resources:KubeletConfiguration",
            ),
            KindEntry(
                "machineconfiguration.openshift.io",
                "KubeletConfig",
                "shutdownlint.platforms.nodes.resources:KubeletConfig",
            ),
        ),
    ),
    PlatformEntry(
        "kyverno",
        "Kyverno",
        "shutdownlint.platforms.kyverno.platform",
        "read in the sources",
        words=(b"kyverno.io",),
        kinds=(
            KindEntry(
                "kyverno.io",
                "ClusterPolicy",
                "shutdownlint.platforms.kyverno.resources:KyvernoPolicy",
                words=_CHANGES_SHUTDOWN,
            ),
            KindEntry("kyverno.io", "PolicyException"),
            KindEntry(
                "kyverno.io",
                "Policy",
                "shutdownlint.platforms.kyverno.resources:KyvernoPolicy",
                words=_CHANGES_SHUTDOWN,
            ),
        ),
        describing_groups=(
            "kyverno.io",
            "policies.kyverno.io",
            "cli.kyverno.io",
            "chainsaw.kyverno.io",
        ),
    ),
    PlatformEntry(
        "admission",
        "Admission control",
        "shutdownlint.platforms.admission.platform",
        "read in Kubernetes' and Gatekeeper's documentation",
        words=(
            b"MutatingWebhookConfiguration",
            b"MutatingAdmissionPolicy",
            b"MutatingPolicy",
            b"mutations.gatekeeper.sh",
        ),
        kinds=(
            KindEntry(
                "admissionregistration.k8s.io",
                "MutatingWebhookConfiguration",
                words=((b"pods",), (b"'*'",), (b'"*"',), (b"*/*",)),
            ),
            KindEntry(
                "admissionregistration.k8s.io", "MutatingAdmissionPolicy", words=_CHANGES_SHUTDOWN
            ),
            KindEntry("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
            KindEntry("policies.kyverno.io", "MutatingPolicy", words=_CHANGES_SHUTDOWN),
            KindEntry("mutations.gatekeeper.sh", "AssignMetadata", words=_CHANGES_SHUTDOWN),
            KindEntry("mutations.gatekeeper.sh", "Assign", words=_CHANGES_SHUTDOWN),
            KindEntry("mutations.gatekeeper.sh", "ModifySet", words=_CHANGES_SHUTDOWN),
        ),
    ),
    PlatformEntry(
        "kserve",
        "KServe",
        "shutdownlint.platforms.kserve.platform",
        "read in the sources",
        words=(b"serving.kserve.io",),
        kinds=tuple(
            KindEntry("serving.kserve.io", kind, f"shutdownlint.platforms.kserve.resources:{kind}")
            for kind in ("InferenceService", "LLMInferenceService")
        ),
    ),
    PlatformEntry(
        "nginx_gateway",
        "NGINX Gateway Fabric",
        "shutdownlint.platforms.nginx_gateway.platform",
        "read in the sources",
        words=(b"gateway.nginx.org",),
        kinds=(
            KindEntry(
                "gateway.nginx.org",
                "NginxProxy",
                "shutdownlint.platforms.nginx_gateway.platform:NginxProxy",
            ),
        ),
    ),
    PlatformEntry(
        "knative",
        "Knative",
        "shutdownlint.platforms.knative.platform",
        "read in the sources",
        words=(b"serving.knative.dev",),
        kinds=(
            *(
                KindEntry(
                    "serving.knative.dev",
                    kind,
                    "shutdownlint.platforms.knative.resources:KnativeService",
                )
                for kind in ("Service", "Configuration")
            ),
        ),
        pod_kinds=(("serving.knative.dev", "Revision"),),
    ),
)


def kind_table(programs: KnownPrograms | None = None) -> KindTable:
    """Everything that reading needs to know about the kinds of all platforms.

    ConfigMaps are read too if they have what one of the programs reads.
    """
    known = programs if programs is not None else bundled()
    return KindTable(
        entries=tuple(
            replace(kind, words=kind.words + known.config_map_words)
            if kind.kind == "ConfigMap" and entry.name == "kubernetes"
            else kind
            for entry in PLATFORMS
            for kind in entry.kinds
        ),
        describing_groups=frozenset(g for entry in PLATFORMS for g in entry.describing_groups),
        pod_kinds=frozenset(kind for entry in PLATFORMS for kind in entry.pod_kinds),
        batch_kinds=frozenset(kind for entry in PLATFORMS for kind in entry.batch_kinds),
        mesh_words=tuple(
            MeshWord(e.name, e.mesh_group, e.mesh_signs, e.mesh_switched_on, e.mesh_switched_off)
            for e in PLATFORMS
            if e.mesh_group
        ),
    )


@cache
def mesh_names() -> tuple[str, ...]:
    """Return the platforms that users can name with ``--mesh``."""
    return tuple(entry.name for entry in PLATFORMS if entry.mesh)


def proxy_labels(annotations: Iterable[str]) -> dict[str, str]:
    """Return the labels that give a pod the proxies that these annotations ask for."""
    keys = [*annotations]
    return dict(
        entry.proxy_label
        for entry in PLATFORMS
        if entry.proxy_annotations and any(entry.proxy_annotations in key for key in keys)
    )


def mesh_choices() -> str:
    """List the values of ``--mesh`` for people."""
    return f"{', '.join(mesh_names())} or {NO_MESH}"


def mesh_remedy() -> str:
    """Describe how a user settles which mesh the pods of a namespace are in."""
    return f"set --mesh {mesh_choices()}"


def platform_title(name: str) -> str:
    """Return a platform's name as people write it."""
    return next(entry.title for entry in PLATFORMS if entry.name == name)


class PlatformWords:
    """Chooses the platforms of a run by the words of its documents, in the registry's order."""

    def __init__(self, named: Iterable[str] = ()) -> None:
        wanted = set(named)
        self._chosen = {
            entry.name for entry in PLATFORMS if not entry.words or entry.name in wanted
        }

    def notice(self, data: bytes) -> None:
        """Choose the platforms that have a word in this document."""
        for entry in PLATFORMS:
            if entry.name not in self._chosen and any(word in data for word in entry.words):
                self._chosen.add(entry.name)

    @property
    def entries(self) -> tuple[PlatformEntry, ...]:
        """The chosen platforms."""
        return tuple(entry for entry in PLATFORMS if entry.name in self._chosen)


def load_platform(entry: PlatformEntry) -> Platform:
    """Return a platform, with its module imported."""
    platform: Platform = import_module(entry.module).Plugin()
    return platform


def load_platforms(names: Iterable[str]) -> tuple[Platform, ...]:
    """Return the platforms of these names."""
    wanted = set(names)
    return tuple(load_platform(entry) for entry in PLATFORMS if entry.name in wanted)


def all_platforms() -> tuple[Platform, ...]:
    """Every platform that there is, loaded."""
    return tuple(load_platform(entry) for entry in PLATFORMS)
