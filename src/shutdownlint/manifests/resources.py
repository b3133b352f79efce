"""Typed models of the Kubernetes fields that affect the shutdown.

The annotations are no texts here: every run needs the types, and evaluating texts takes longer.
"""

from functools import cached_property
from typing import Any

from msgspec import field

from shutdownlint.manifests.decoding import ApiModel, Bool, Int, Str, Strings, StrMap


class Metadata(ApiModel, frozen=True):
    """The name, labels and annotations of an object or a pod."""

    name: Str | None = None
    generateName: Str | None = None  # noqa: N815 - the API's own names, here and below
    namespace: Str | None = None
    labels: StrMap = field(default_factory=dict)
    annotations: StrMap = field(default_factory=dict)


class Resource(ApiModel, frozen=True):
    """An object of the API, with its name and labels."""

    metadata: Metadata = field(default_factory=Metadata)


class ExecAction(ApiModel, frozen=True):
    """A command run in the container, without a shell."""

    command: Strings = field(default_factory=list)


class SleepAction(ApiModel, frozen=True):
    """A pause made by the kubelet."""

    seconds: Int | None = None


class HTTPGetAction(ApiModel, frozen=True):
    """A request made by the kubelet."""

    path: Str | None = None
    host: Str | None = None
    port: Any = None


class TCPSocketAction(ApiModel, frozen=True):
    """Accepted by the API for hooks, never carried out."""


class LifecycleHandler(ApiModel, frozen=True):
    """One hook."""

    exec: ExecAction | None = None
    sleep: SleepAction | None = None
    httpGet: HTTPGetAction | None = None  # noqa: N815
    tcpSocket: TCPSocketAction | None = None  # noqa: N815

    @property
    def handlers(self) -> tuple[str, ...]:
        """The kinds of handler that are set, in the API's order."""
        names = ("exec", "httpGet", "tcpSocket", "sleep")
        return tuple(name for name in names if getattr(self, name) is not None)


class Lifecycle(ApiModel, frozen=True):
    """A container's hooks and stop signal."""

    preStop: LifecycleHandler | None = None  # noqa: N815
    stopSignal: Str | None = None  # noqa: N815


class Probe(ApiModel, frozen=True):
    """A probe's settings on termination, and the port that it asks."""

    terminationGracePeriodSeconds: Int | None = None  # noqa: N815
    httpGet: Any = None  # noqa: N815
    tcpSocket: Any = None  # noqa: N815
    exec: Any = None
    grpc: Any = None
    initialDelaySeconds: Int | None = None  # noqa: N815
    periodSeconds: Any = None  # noqa: N815
    failureThreshold: Any = None  # noqa: N815
    timeoutSeconds: Any = None  # noqa: N815

    @property
    def port(self) -> Any:
        """The port that it asks, a number or a name; None for other probes."""
        for action in (self.httpGet, self.tcpSocket):
            if isinstance(action, dict):
                return action.get("port")
        return None


class EnvVar(ApiModel, frozen=True):
    """An environment variable; without ``value`` it comes from elsewhere."""

    name: Str = ""
    value: Str | None = None
    valueFrom: Any = None  # noqa: N815


class VolumeMount(ApiModel, frozen=True):
    """The place of a volume in a container."""

    name: Str = ""
    mountPath: Str | None = None  # noqa: N815
    subPath: Str | None = None  # noqa: N815


class Port(ApiModel, frozen=True):
    """A port that the container declares."""

    name: Str | None = None
    containerPort: Int | None = None  # noqa: N815


class Container(ApiModel, frozen=True):
    """A container of a pod, or an init container."""

    name: Str = ""
    image: Str | None = None
    command: Strings = field(default_factory=list)
    args: Strings = field(default_factory=list)
    env: list[EnvVar] = field(default_factory=list)
    env_from: Any = field(default=None, name="envFrom")
    volumeMounts: list[VolumeMount] = field(default_factory=list)  # noqa: N815
    ports: list[Port] = field(default_factory=list)
    lifecycle: Lifecycle | None = None
    restartPolicy: Str | None = None  # noqa: N815
    livenessProbe: Probe | None = None  # noqa: N815
    startupProbe: Probe | None = None  # noqa: N815
    readinessProbe: Probe | None = None  # noqa: N815
    #: No fields of a container, but people write them here.
    terminationGracePeriodSeconds: Any = None  # noqa: N815
    preStop: Any = None  # noqa: N815


class PodSpec(ApiModel, frozen=True):
    """The settings of a pod template for the shutdown of its pods."""

    terminationGracePeriodSeconds: Int | None = None  # noqa: N815
    containers: list[Container] = field(default_factory=list)
    initContainers: list[Container] = field(default_factory=list)  # noqa: N815
    restartPolicy: Str | None = None  # noqa: N815
    priorityClassName: Str | None = None  # noqa: N815
    nodeSelector: StrMap = field(default_factory=dict)  # noqa: N815
    affinity: Any = None
    topologySpreadConstraints: Any = None  # noqa: N815
    tolerations: Any = None
    volumes: Any = None
    os: Any = None
    readinessGates: Any = None  # noqa: N815
    hostNetwork: Bool | None = None  # noqa: N815
    hostPID: Bool | None = None  # noqa: N815
    shareProcessNamespace: Bool | None = None  # noqa: N815


class PodTemplate(ApiModel, frozen=True):
    """A pod, or the template of one."""

    metadata: Metadata = field(default_factory=Metadata)
    spec: PodSpec = field(default_factory=PodSpec)


class ServicePort(ApiModel, frozen=True):
    """A port of a Service."""

    name: Str | None = None
    port: Int | None = None
    targetPort: Any = None  # noqa: N815
    protocol: Str | None = None
    appProtocol: Str | None = None  # noqa: N815


class ServiceSpec(ApiModel, frozen=True):
    """The settings of a Service for the pods behind it."""

    selector: StrMap = field(default_factory=dict)
    ports: list[ServicePort] = field(default_factory=list)
    clusterIP: Str | None = None  # noqa: N815
    externalTrafficPolicy: Str | None = None  # noqa: N815
    internalTrafficPolicy: Str | None = None  # noqa: N815
    loadBalancerClass: Str | None = None  # noqa: N815
    publishNotReadyAddresses: Bool | None = None  # noqa: N815
    type: Str | None = None


class Service(Resource, frozen=True):
    """A Service: which pods it sends requests to."""

    spec: ServiceSpec = field(default_factory=ServiceSpec)

    @property
    def headless(self) -> bool:
        """Whether it is names in DNS only: clients cache them, and no delay is known to suffice."""
        return self.spec.clusterIP in ("None", "none")


class LabelSelector(ApiModel, frozen=True):
    """A selector by labels; ``matchExpressions`` (Kubernetes' own only) as written."""

    matchLabels: StrMap = field(default_factory=dict)  # noqa: N815
    matchExpressions: Any = None  # noqa: N815


class WorkloadSpec(ApiModel, frozen=True):
    """The settings of a workload for the replacement of its pods."""

    replicas: Int | None = None
    minReadySeconds: Int | None = None  # noqa: N815
    strategy: Any = None
    updateStrategy: Any = None  # noqa: N815
    progressDeadlineSeconds: Int | None = None  # noqa: N815
    paused: Bool | None = None
    podManagementPolicy: Any = None  # noqa: N815
    selector: Any = None
    #: No field of a workload, but people write it here.
    terminationGracePeriodSeconds: Any = None  # noqa: N815


class Namespace(Resource, frozen=True):
    """A Namespace: its labels decide what is injected."""


class ConfigMap(Resource, frozen=True):
    """A ConfigMap: the configuration of a mesh, or files and variables of an app."""

    data: StrMap = field(default_factory=dict)


class Node(Resource, frozen=True):
    """A Node of a dump: its kubelet's version is the cluster's."""

    status: Any = None

    @property
    def kubelet_version(self) -> str:
        """The version of its kubelet; empty where it is not shown."""
        info = self.status.get("nodeInfo") if isinstance(self.status, dict) else None
        version = info.get("kubeletVersion") if isinstance(info, dict) else None
        return version if isinstance(version, str) else ""


class IngressClass(Resource, frozen=True):
    """An IngressClass: which controller serves the Ingresses that name it."""

    spec: Any = None

    @property
    def controller(self) -> str:
        """Its controller; empty where it writes none."""
        controller = self.spec.get("controller") if isinstance(self.spec, dict) else None
        return controller if isinstance(controller, str) else ""


class Ingress(Resource, frozen=True, dict=True):
    """An Ingress: whose load balancer it asks for, and which Services are behind it."""

    spec: Any = None

    @property
    def ingress_class(self) -> str:
        """Its class, however it is written; empty where it is the cluster's default."""
        spec = self.spec if isinstance(self.spec, dict) else {}
        named = spec.get("ingressClassName")
        annotated = self.metadata.annotations.get("kubernetes.io/ingress.class", "")
        return named if isinstance(named, str) else annotated

    @cached_property
    def services(self) -> set[str]:
        """The names of the Services behind it."""
        found: set[str] = set()
        _service_names(self.spec, found, 0)
        return found


def _service_names(data: Any, found: set[str], depth: int) -> None:
    """Backends at any depth: ``service: {name: …}``, and ``serviceName`` of older APIs."""
    if depth > 12:
        return
    if isinstance(data, list):
        for item in data:
            _service_names(item, found, depth + 1)
    elif isinstance(data, dict):
        service = data.get("service")
        name = service.get("name") if isinstance(service, dict) else data.get("serviceName")
        if isinstance(name, str):
            found.add(name)
        for value in data.values():
            _service_names(value, found, depth + 1)


class TargetReference(ApiModel, frozen=True):
    """The object that a policy is about."""

    kind: Str | None = None
    name: Str | None = None


class ConnectionDraining(ApiModel, frozen=True):
    """The time that Google's load balancers let connections finish."""

    drainingTimeoutSec: Int | None = None  # noqa: N815


class BackendConfigSpec(ApiModel, frozen=True):
    """The settings of a Service that GKE's Ingress reads."""

    connectionDraining: ConnectionDraining | None = None  # noqa: N815
    timeoutSec: Int | None = None  # noqa: N815


class BackendConfig(Resource, frozen=True):
    """cloud.google.com BackendConfig."""

    spec: BackendConfigSpec = field(default_factory=BackendConfigSpec)


class PodDisruptionBudgetSpec(ApiModel, frozen=True):
    """The number of pods that an eviction must leave. Numbers or percentages, as written."""

    minAvailable: Any = None  # noqa: N815
    maxUnavailable: Any = None  # noqa: N815
    unhealthyPodEvictionPolicy: Any = None  # noqa: N815
    selector: LabelSelector | None = None


class PodDisruptionBudget(Resource, frozen=True):
    """A PodDisruptionBudget."""

    spec: PodDisruptionBudgetSpec = field(default_factory=PodDisruptionBudgetSpec)


class ScalerSpec(ApiModel, frozen=True):
    """The target of an autoscaler, and its bounds; KEDA's have other names."""

    scaleTargetRef: TargetReference | None = None  # noqa: N815
    minReplicas: Int = None  # noqa: N815
    maxReplicas: Int = None  # noqa: N815
    minReplicaCount: Int = None  # noqa: N815
    maxReplicaCount: Int = None  # noqa: N815
    triggers: Any = None
    behavior: Any = None
    advanced: Any = None


class Scaler(Resource, frozen=True):
    """A HorizontalPodAutoscaler or a KEDA ScaledObject: it decides the replicas."""

    spec: ScalerSpec = field(default_factory=ScalerSpec)


class GatewayParameters(ApiModel, frozen=True):
    """The object that shapes what a Gateway deploys."""

    kind: Str | None = None
    name: Str | None = None


class GatewayInfrastructure(ApiModel, frozen=True):
    """The settings that a Gateway's own pods get."""

    labels: StrMap = field(default_factory=dict)
    annotations: StrMap = field(default_factory=dict)
    parametersRef: GatewayParameters | None = None  # noqa: N815


class GatewaySpec(ApiModel, frozen=True):
    """Whose Gateway it is."""

    gatewayClassName: Str | None = None  # noqa: N815
    addresses: Any = None
    infrastructure: GatewayInfrastructure | None = None


class Gateway(Resource, frozen=True):
    """gateway.networking.k8s.io Gateway: its controller may deploy a pod for it."""

    spec: GatewaySpec = field(default_factory=GatewaySpec)
