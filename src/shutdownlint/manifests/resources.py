"""Typed models of what bears on shutdown, as the Kubernetes API types it.

A value of the wrong type is dropped and told (``Rejected``); the rest of the object is still
read. ``Unknown`` stands where a placeholder of some templating tool hides the value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

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

    model_config = ConfigDict(extra="ignore", frozen=True, arbitrary_types_allowed=True)


class Metadata(Model):
    """What names, labels and annotates an object or a pod."""

    name: Str | None = None
    generateName: Str | None = None  # noqa: N815 - the API's own names, here and below
    namespace: Str | None = None
    labels: StrMap = Field(default_factory=dict)
    annotations: StrMap = Field(default_factory=dict)


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
    envFrom: Any = None  # noqa: N815
    ports: ListOf[Port] = Field(default_factory=list)
    lifecycle: Lifecycle | None = None
    restartPolicy: Str | None = None  # noqa: N815
    livenessProbe: Probe | None = None  # noqa: N815
    startupProbe: Probe | None = None  # noqa: N815
    readinessProbe: Probe | None = None  # noqa: N815


class PodSpec(Model):
    """What a pod template says of its pods' shutdown."""

    terminationGracePeriodSeconds: Int | None = None  # noqa: N815
    containers: ListOf[Container] = Field(default_factory=list)
    initContainers: ListOf[Container] = Field(default_factory=list)  # noqa: N815
    restartPolicy: Str | None = None  # noqa: N815
    nodeSelector: StrMap = Field(default_factory=dict)  # noqa: N815
    affinity: Any = None
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
    publishNotReadyAddresses: Bool | None = None  # noqa: N815
    type: Str | None = None


class Service(Model):
    """A Service: which pods it sends requests to."""

    metadata: Metadata = Field(default_factory=Metadata)
    spec: ServiceSpec = Field(default_factory=ServiceSpec)

    @property
    def headless(self) -> bool:
        """Whether it is names in DNS only: clients cache them, and no delay is known to suffice."""
        return self.spec.clusterIP in ("None", "none")


class Namespace(Model):
    """A Namespace: its labels decide what is injected."""

    metadata: Metadata = Field(default_factory=Metadata)


class ConfigMap(Model):
    """A ConfigMap, read for Istio's mesh configuration only."""

    metadata: Metadata = Field(default_factory=Metadata)
    data: StrMap = Field(default_factory=dict)


class LabelSelector(Model):
    """Istio's selector: labels only."""

    matchLabels: StrMap = Field(default_factory=dict)  # noqa: N815


class ProxyConfigSpec(Model):
    """networking.istio.io ProxyConfig: environment variables are all it can say of shutdown."""

    selector: LabelSelector | None = None
    environmentVariables: StrMap = Field(default_factory=dict)  # noqa: N815


class ProxyConfigResource(Model):
    """A ProxyConfig object."""

    metadata: Metadata = Field(default_factory=Metadata)
    spec: ProxyConfigSpec = Field(default_factory=ProxyConfigSpec)


class KustomizePatch(Model):
    """A patch entry of a kustomization."""

    path: Str | None = None


class Kustomization(Model):
    """A kustomization, read for the files that it names as patches."""

    patches: Any = None
    patchesStrategicMerge: Any = None  # noqa: N815
    patchesJson6902: Any = None  # noqa: N815


@dataclass(frozen=True, slots=True)
class Rejected:
    """A value that the API server would not take: its route within the object, and why."""

    route: tuple[str | int, ...]
    reason: str
    #: The value is a placeholder: nothing is wrong with it, but nothing is known either.
    hidden: bool = False


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
