"""The problems in the Istio configuration of a pod or a mesh."""

from __future__ import annotations

from shutdownlint.platforms.problem import Problem


class IstioProblem(Problem, frozen=True, kw_only=True):
    """A problem that Istio knows."""

    platform = "istio"


class KeyProblem(IstioProblem, frozen=True, kw_only=True):
    """A key that Istio refuses or ignores.

    ``config`` names the configuration, ``instead`` the name that is meant, where that is known.
    """

    key: str
    reason: str
    config: str = ""
    instead: str = ""


class ProxyConfigRejected(KeyProblem, frozen=True, kw_only=True):
    """An annotation for which the webhook rejects the pod."""


class MeshConfigRejected(KeyProblem, frozen=True, kw_only=True):
    """A mesh configuration that istiod ignores whole."""


class ProxyConfigKeyIgnored(KeyProblem, frozen=True, kw_only=True):
    """A key that no field has."""


class ProxyEnvMisspelled(KeyProblem, frozen=True, kw_only=True):
    """A variable that Istio does not read, with a name close to one that it does."""


class ProxyConfigRemoved(KeyProblem, frozen=True, kw_only=True):
    """A field of older releases."""


class ProxyConfigDoubtful(KeyProblem, frozen=True, kw_only=True):
    """A value that the validation is read to refuse, though that was not run."""


class ProxyConfigWithoutProxy(IstioProblem, frozen=True, kw_only=True):
    """Drain settings on a pod that gets no sidecar."""

    key: str
    reason: str


class ProxyEnvUnparseable(IstioProblem, frozen=True, kw_only=True):
    """A variable that the agent cannot parse; ``default`` counts instead."""

    key: str
    value: str
    default: str


class GatewayEnvInAnnotation(IstioProblem, frozen=True, kw_only=True):
    """A variable in the annotation of a gateway that no webhook injects."""

    key: str
    value: str


class MetadataReplaced(IstioProblem, frozen=True, kw_only=True):
    """Variables of the mesh that an old release drops for those of the annotation."""

    key: str


class MeshOverridden(IstioProblem, frozen=True, kw_only=True):
    """A setting that ends the proxy earlier than the mesh's, which it replaces."""

    key: str
    value: str
    mesh: str


class DrainEnv(IstioProblem, frozen=True, kw_only=True):
    """A variable that says when the proxy ends; ``origin`` is what it is written in."""

    key: str
    origin: str


class NativeAnnotation(IstioProblem, frozen=True, kw_only=True):
    """The annotation that decides whether the sidecar is native."""

    key: str
    value: str


class NativeAnnotationValue(IstioProblem, frozen=True, kw_only=True):
    """The same annotation with another value than 'true' or 'false'."""

    key: str
    value: str


class StaleDrainEnv(IstioProblem, frozen=True, kw_only=True):
    """A variable that current agents ignore.

    ``moved`` is its value as the field that replaced it takes it, where that can be written.
    """

    key: str
    value: str
    moved: str = ""


class DrainEnvOnApp(IstioProblem, frozen=True, kw_only=True):
    """A variable of the agent on another container."""

    key: str
    value: str


class ProxyConfigObjectField(IstioProblem, frozen=True, kw_only=True):
    """A setting that a ProxyConfig object has no field for."""

    key: str
    config: str


class LifecycleDropsHold(IstioProblem, frozen=True, kw_only=True):
    """A mesh-wide lifecycle that makes holdApplicationUntilProxyStarts ineffective."""


PROBLEMS = (
    ProxyConfigRejected,
    MeshConfigRejected,
    ProxyConfigKeyIgnored,
    ProxyEnvMisspelled,
    ProxyConfigRemoved,
    ProxyConfigDoubtful,
    ProxyConfigWithoutProxy,
    ProxyEnvUnparseable,
    GatewayEnvInAnnotation,
    MetadataReplaced,
    MeshOverridden,
    DrainEnv,
    NativeAnnotation,
    NativeAnnotationValue,
    StaleDrainEnv,
    DrainEnvOnApp,
    ProxyConfigObjectField,
    LifecycleDropsHold,
)
