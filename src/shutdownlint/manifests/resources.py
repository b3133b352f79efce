"""Typed models of what bears on shutdown, as the Kubernetes API types it.

A value of the wrong type is dropped and told (``Rejected``); the rest of the object is still
read. ``Unknown`` stands where a placeholder of some templating tool hides the value.
"""

from __future__ import annotations

import re
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, get_args

from msgspec import Struct
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from shutdownlint.yamltext.tree import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLACEHOLDER: Final = re.compile(
    r"\$\{|\$\(|\{\{|\{%|#\{|^<[^<>]+>$|^@.+@$|^\$\w+$|^\{[A-Z_]+\}|^__\w+__$"
)


class Unknown(str):
    """The text of a placeholder where another type belongs: a value, but not known here."""

    __slots__ = ()


def looks_templated(text: str) -> bool:
    """Whether some tool will replace this text before Kubernetes sees it."""
    return _PLACEHOLDER.search(text) is not None


def _integer(value: Any) -> Any:
    if isinstance(value, str) and looks_templated(value):
        return Unknown(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("must be a whole number")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError("must be a whole number")
    return int(value)


def _string(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("must be a string; unquoted it reads as a boolean")
    if isinstance(value, int | float):
        raise ValueError("must be a string; unquoted it reads as a number")
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def _boolean(value: Any) -> Any:
    if isinstance(value, str) and looks_templated(value):
        return Unknown(value)
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _no_nulls(value: Any) -> Any:
    return [] if value is None else value


def _map(value: Any) -> Any:
    if value is None:
        return {}
    return (
        {k: "" if v is None else v for k, v in value.items()} if isinstance(value, dict) else value
    )


Int = Annotated[Any, BeforeValidator(_integer)]
Str = Annotated[str, BeforeValidator(_string)]
Bool = Annotated[Any, BeforeValidator(_boolean)]
StrMap = Annotated[dict[str, Str], BeforeValidator(_map)]
Strings = Annotated[list[Str], BeforeValidator(_no_nulls)]

_Item = TypeVar("_Item")
ListOf = Annotated[list[_Item], BeforeValidator(_no_nulls)]


class Model(BaseModel):
    """A part of an object: unknown fields are left alone, names are the API's own."""

    # Built when first used: most runs read a few kinds only.
    model_config = ConfigDict(
        extra="ignore", frozen=True, arbitrary_types_allowed=True, defer_build=True
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, data: Any) -> Any:
        """The API server takes a null for a field that is not there."""
        if isinstance(data, dict) and None in data.values():
            return {key: value for key, value in data.items() if value is not None}
        return data


class Metadata(Model):
    """What names, labels and annotates an object or a pod."""

    name: Str | None = None
    generateName: Str | None = None  # noqa: N815 - the API's own names, here and below
    namespace: Str | None = None
    labels: StrMap = Field(default_factory=dict)
    annotations: StrMap = Field(default_factory=dict)


class Resource(Model):
    """An object of the API, with its name and labels."""

    metadata: Metadata = Field(default_factory=Metadata)


class ExecAction(Model):
    """A command run in the container, without a shell."""

    command: Strings = Field(default_factory=list)


class SleepAction(Model):
    """A pause made by the kubelet."""

    seconds: Int | None = None


class HTTPGetAction(Model):
    """A request made by the kubelet."""

    path: Str | None = None
    host: Str | None = None
    port: Any = None


class TCPSocketAction(Model):
    """Accepted by the API for hooks, never carried out."""


class LifecycleHandler(Model):
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


class Lifecycle(Model):
    """A container's hooks and stop signal."""

    preStop: LifecycleHandler | None = None  # noqa: N815
    stopSignal: Str | None = None  # noqa: N815


class Probe(Model):
    """Only what a probe says of termination."""

    terminationGracePeriodSeconds: Int | None = None  # noqa: N815


class EnvVar(Model):
    """An environment variable; without ``value`` it comes from elsewhere."""

    name: Str = ""
    value: Str | None = None
    valueFrom: Any = None  # noqa: N815


class VolumeMount(Model):
    """Where a volume is seen in a container."""

    name: Str = ""
    mountPath: Str | None = None  # noqa: N815
    subPath: Str | None = None  # noqa: N815


class Port(Model):
    """A port that the container is said to listen on."""

    name: Str | None = None
    containerPort: Int | None = None  # noqa: N815


class Container(Model):
    """A container of a pod, or an init container."""

    name: Str = ""
    image: Str | None = None
    command: Strings = Field(default_factory=list)
    args: Strings = Field(default_factory=list)
    env: ListOf[EnvVar] = Field(default_factory=list)
    env_from: Any = Field(default=None, alias="envFrom")
    volumeMounts: ListOf[VolumeMount] = Field(default_factory=list)  # noqa: N815
    ports: ListOf[Port] = Field(default_factory=list)
    lifecycle: Lifecycle | None = None
    restartPolicy: Str | None = None  # noqa: N815
    livenessProbe: Probe | None = None  # noqa: N815
    startupProbe: Probe | None = None  # noqa: N815
    readinessProbe: Probe | None = None  # noqa: N815
    #: No fields of a container, but people write them here.
    terminationGracePeriodSeconds: Any = None  # noqa: N815
    preStop: Any = None  # noqa: N815


class PodSpec(Model):
    """What a pod template says of its pods' shutdown."""

    terminationGracePeriodSeconds: Int | None = None  # noqa: N815
    containers: ListOf[Container] = Field(default_factory=list)
    initContainers: ListOf[Container] = Field(default_factory=list)  # noqa: N815
    restartPolicy: Str | None = None  # noqa: N815
    nodeSelector: StrMap = Field(default_factory=dict)  # noqa: N815
    affinity: Any = None
    tolerations: Any = None
    volumes: Any = None
    os: Any = None
    readinessGates: Any = None  # noqa: N815
    hostNetwork: Bool | None = None  # noqa: N815
    hostPID: Bool | None = None  # noqa: N815
    shareProcessNamespace: Bool | None = None  # noqa: N815


class PodTemplate(Model):
    """A pod, or the template of one."""

    metadata: Metadata = Field(default_factory=Metadata)
    spec: PodSpec = Field(default_factory=PodSpec)


class ServicePort(Model):
    """A port of a Service."""

    port: Int | None = None
    targetPort: Any = None  # noqa: N815


class ServiceSpec(Model):
    """What a Service says of the pods behind it."""

    selector: StrMap = Field(default_factory=dict)
    ports: ListOf[ServicePort] = Field(default_factory=list)
    clusterIP: Str | None = None  # noqa: N815
    externalTrafficPolicy: Str | None = None  # noqa: N815
    publishNotReadyAddresses: Bool | None = None  # noqa: N815
    type: Str | None = None


class Service(Resource):
    """A Service: which pods it sends requests to."""

    spec: ServiceSpec = Field(default_factory=ServiceSpec)

    @property
    def headless(self) -> bool:
        """Whether it is names in DNS only: clients cache them, and no delay is known to suffice."""
        return self.spec.clusterIP in ("None", "none")


class WorkloadSpec(Model):
    """What a workload says of how its pods are replaced."""

    replicas: Int | None = None
    minReadySeconds: Int | None = None  # noqa: N815
    strategy: Any = None
    updateStrategy: Any = None  # noqa: N815
    podReplacementPolicy: Any = None  # noqa: N815
    #: No field of a workload, but people write it here.
    terminationGracePeriodSeconds: Any = None  # noqa: N815


class Namespace(Resource):
    """A Namespace: its labels decide what is injected."""


class ConfigMap(Resource):
    """A ConfigMap: Istio's mesh configuration, or files and variables of an app."""

    data: StrMap = Field(default_factory=dict)


class LabelSelector(Model):
    """A selector by labels; ``matchExpressions`` (Kubernetes' own only) as written."""

    matchLabels: StrMap = Field(default_factory=dict)  # noqa: N815
    matchExpressions: Any = None  # noqa: N815


class ProxyConfigSpec(Model):
    """networking.istio.io ProxyConfig: environment variables are all it can say of shutdown."""

    selector: LabelSelector | None = None
    environmentVariables: StrMap = Field(default_factory=dict)  # noqa: N815


class ProxyConfigResource(Resource):
    """A ProxyConfig object."""

    spec: ProxyConfigSpec = Field(default_factory=ProxyConfigSpec)


class Ingress(Resource):
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


class TargetReference(Model):
    """The object that a policy is about."""

    kind: Str | None = None
    name: Str | None = None


class ConnectionDraining(Model):
    """How long Google's load balancers let connections finish."""

    drainingTimeoutSec: Int | None = None  # noqa: N815


class BackendConfigSpec(Model):
    """What GKE's Ingress is told of a Service."""

    connectionDraining: ConnectionDraining | None = None  # noqa: N815


class BackendConfig(Resource):
    """cloud.google.com BackendConfig."""

    spec: BackendConfigSpec = Field(default_factory=BackendConfigSpec)


class GCPBackendPolicySpec(Model):
    """What GKE's Gateway is told of a Service."""

    default: BackendConfigSpec | None = None
    targetRef: TargetReference | None = None  # noqa: N815


class GCPBackendPolicy(Resource):
    """networking.gke.io GCPBackendPolicy."""

    spec: GCPBackendPolicySpec = Field(default_factory=GCPBackendPolicySpec)


class TargetGroupAttribute(Model):
    """One attribute of a target group."""

    key: Str = ""
    value: Str | None = None


class TargetGroupProps(Model):
    """What AWS's controller gives a target group."""

    targetType: Str | None = None  # noqa: N815
    targetGroupAttributes: ListOf[TargetGroupAttribute] = Field(  # noqa: N815
        default_factory=list
    )


class TargetGroupConfigurationSpec(Model):
    """What AWS's Gateway is told of a Service."""

    targetReference: TargetReference | None = None  # noqa: N815
    defaultConfiguration: TargetGroupProps | None = None  # noqa: N815


class TargetGroupConfiguration(Resource):
    """gateway.k8s.aws TargetGroupConfiguration."""

    spec: TargetGroupConfigurationSpec = Field(default_factory=TargetGroupConfigurationSpec)


class PodDisruptionBudgetSpec(Model):
    """How many pods an eviction must leave. Numbers or percentages, as written."""

    minAvailable: Any = None  # noqa: N815
    maxUnavailable: Any = None  # noqa: N815
    selector: LabelSelector | None = None


class PodDisruptionBudget(Resource):
    """A PodDisruptionBudget."""

    spec: PodDisruptionBudgetSpec = Field(default_factory=PodDisruptionBudgetSpec)


class ScalerSpec(Model):
    """What an autoscaler scales."""

    scaleTargetRef: TargetReference | None = None  # noqa: N815


class Scaler(Resource):
    """A HorizontalPodAutoscaler or a KEDA ScaledObject: replicas are not what is written."""

    spec: ScalerSpec = Field(default_factory=ScalerSpec)


class NodeClaimSpec(Model):
    """What Karpenter's nodes are made with; the duration is as written."""

    terminationGracePeriod: Str | None = None  # noqa: N815
    taints: Any = None


class NodeClaimTemplate(Model):
    """A NodePool's template."""

    metadata: Metadata = Field(default_factory=Metadata)
    spec: NodeClaimSpec = Field(default_factory=NodeClaimSpec)


class NodePoolSpec(Model):
    """What a NodePool says of its nodes' end."""

    template: NodeClaimTemplate = Field(default_factory=NodeClaimTemplate)


class NodePool(Resource):
    """karpenter.sh NodePool."""

    spec: NodePoolSpec = Field(default_factory=NodePoolSpec)


class KyvernoSpec(Model):
    """A Kyverno policy's rules, as written."""

    validationFailureAction: Str | None = None  # noqa: N815
    rules: Any = None


class KyvernoPolicy(Resource):
    """kyverno.io ClusterPolicy, or a namespace's Policy."""

    @cached_property
    def patterns(self) -> dict[int, dict[str, Any]]:
        """The rules whose pattern is about the grace period, by their number."""
        rules = self.spec.rules if isinstance(self.spec.rules, list) else []
        found = {}
        for number, rule in enumerate(rules):
            validate = rule.get("validate") if isinstance(rule, dict) else None
            pattern = validate.get("pattern") if isinstance(validate, dict) else None
            if isinstance(pattern, dict) and "terminationGracePeriodSeconds" in str(pattern):
                found[number] = rule
        return found

    spec: KyvernoSpec = Field(default_factory=KyvernoSpec)


class GatewayParameters(Model):
    """The object that shapes what a Gateway deploys."""

    kind: Str | None = None
    name: Str | None = None


class GatewayInfrastructure(Model):
    """What a Gateway's own pods get."""

    labels: StrMap = Field(default_factory=dict)
    annotations: StrMap = Field(default_factory=dict)
    parametersRef: GatewayParameters | None = None  # noqa: N815


class GatewaySpec(Model):
    """Whose Gateway it is."""

    gatewayClassName: Str | None = None  # noqa: N815
    addresses: Any = None
    infrastructure: GatewayInfrastructure | None = None


class Gateway(Resource):
    """gateway.networking.k8s.io Gateway: Istio deploys a pod for it."""

    spec: GatewaySpec = Field(default_factory=GatewaySpec)


class Kustomization(Model):
    """A kustomization, read for the files that it names as patches."""

    patches: Any = None
    patchesStrategicMerge: Any = None  # noqa: N815
    patchesJson6902: Any = None  # noqa: N815


class Rejected(Struct, frozen=True):
    """A value that the API server would not take: its route within the object, and why."""

    route: tuple[str | int, ...]
    reason: str
    #: The value is a placeholder: nothing is wrong with it, but nothing is known either.
    hidden: bool = False


@cache
def shape_of(model: type[Model]) -> Shape:
    """The keys that a model reads; a value of another type than expected is taken whole."""
    found = Shape()
    for name, field in model.model_fields.items():
        below = next(_models(field.annotation), None)
        found[field.alias or name] = shape_of(below) if below is not None else None
    return found


def _models(annotation: Any) -> Iterator[type[Model]]:
    """The models in a field's type: itself, of a list, or optional."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


_AnyModel = TypeVar("_AnyModel", bound=Model)
_MOST_REPAIRS: Final = 64


def read_model(model: type[_AnyModel], data: Any) -> tuple[_AnyModel, list[Rejected]]:
    """The typed object, and what of ``data`` had the wrong type and was left out."""
    rejected: list[Rejected] = []
    if not isinstance(data, dict):
        return model(), rejected
    for _ in range(_MOST_REPAIRS):
        try:
            return model.model_validate(data), rejected
        except ValidationError as error:
            for problem in error.errors(include_url=False, include_context=False):
                route = _within(data, problem["loc"])
                if not route:
                    continue
                hidden = _templated(data, route)
                _remove(data, route, mapping=problem["type"] in ("model_type", "dict_type"))
                if all(route != known.route for known in rejected):
                    rejected.append(Rejected(route, _reason(problem["msg"]), hidden))
    return model(), rejected


def _within(data: Any, loc: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The part of a validation error's location that is a route in the data."""
    route: list[str | int] = []
    for step in loc:
        if isinstance(data, list):
            if not isinstance(step, int) or step >= len(data):
                break
            data = data[step]
        elif isinstance(data, dict) and step in data:
            data = data[step]
        else:
            break
        route.append(step)
    return tuple(route)


def _templated(data: Any, route: tuple[str | int, ...]) -> bool:
    for step in route:
        data = data[step]
    return isinstance(data, str) and looks_templated(data)


def _remove(data: Any, route: tuple[str | int, ...], *, mapping: bool) -> None:
    """Take a value out; an item of a list makes room for an empty one, so that places stay."""
    for step in route[:-1]:
        data = data[step]
    last = route[-1]
    if isinstance(data, list) and isinstance(last, int):
        data[last] = {} if mapping else ""
    elif isinstance(data, dict):
        data.pop(last, None)


def _reason(message: str) -> str:
    text = message.removeprefix("Value error, ")
    for ours, theirs in (
        ("must be a mapping", "Input should be a valid dictionary"),
        ("must be a list", "Input should be a valid list"),
    ):
        if text.startswith(theirs):
            return ours
    return text
