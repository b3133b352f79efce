"""The problems in the way a pod's shutdown is written, besides its timing."""

from __future__ import annotations

from datetime import timedelta  # noqa: TC003 - the types of fields are read

from shutdownlint.platforms.problem import Problem


class KubernetesProblem(Problem, frozen=True, kw_only=True):
    """A problem that Kubernetes itself knows."""

    platform = "kubernetes"


class FieldRejected(KubernetesProblem, frozen=True, kw_only=True):
    """A value that the API server does not take."""

    key: str
    reason: str


class DuplicateKey(KubernetesProblem, frozen=True, kw_only=True):
    """A key that one mapping has twice."""

    key: str


class AnnotationUnreadable(KubernetesProblem, frozen=True, kw_only=True):
    """An annotation of this tool that cannot be read."""

    key: str
    reason: str


class OwnAnnotationUnknown(KubernetesProblem, frozen=True, kw_only=True):
    """An annotation that this tool does not have; ``instead`` is the one that is meant."""

    key: str
    instead: str
    reason: str


class KeyMisspelled(KubernetesProblem, frozen=True, kw_only=True):
    """A key that is nearly one that the shutdown depends on."""

    key: str
    instead: str


class FieldUnknown(KubernetesProblem, frozen=True, kw_only=True):
    """A field that the API does not have at this place.

    ``instead`` is a similar name, if there is one, and ``hint`` asks whether it is meant.
    """

    key: str
    place: str
    instead: str
    hint: str


class InitLifecycle(KubernetesProblem, frozen=True, kw_only=True):
    """``lifecycle`` on an init container that is not a sidecar."""

    key: str


class InitRestartPolicy(KubernetesProblem, frozen=True, kw_only=True):
    """A restart policy of an init container that does not make it a native sidecar.

    ``effect`` is what becomes of it.
    """

    key: str
    value: str
    effect: str


class ReadinessGrace(KubernetesProblem, frozen=True, kw_only=True):
    """A grace period on a readiness probe."""

    key: str
    value: str


class ProbeGraceValue(KubernetesProblem, frozen=True, kw_only=True):
    """A probe's grace period that is zero or less."""

    key: str
    value: str


class GraceNegative(KubernetesProblem, frozen=True, kw_only=True):
    """A negative grace period."""

    key: str
    value: str


class GraceMisplaced(KubernetesProblem, frozen=True, kw_only=True):
    """A grace period where the API has no such field."""

    key: str


class PreStopMisplaced(KubernetesProblem, frozen=True, kw_only=True):
    """A preStop hook outside ``lifecycle``."""

    key: str


class SelectorMismatch(KubernetesProblem, frozen=True, kw_only=True):
    """A selector that its own template does not match."""


class ProgressDeadlineRejected(KubernetesProblem, frozen=True, kw_only=True):
    """A progress deadline that is not above minReadySeconds, both in seconds."""

    deadline: int
    ready: int


class RollingUpdateStuck(KubernetesProblem, frozen=True, kw_only=True):
    """A rolling update that may neither add nor remove a pod."""


class RollingUpdateTakesAll(KubernetesProblem, frozen=True, kw_only=True):
    """A rolling update that may remove all pods at once."""

    value: str
    replicas: int


class ReplicasBesideAutoscaler(KubernetesProblem, frozen=True, kw_only=True):
    """A number of replicas that an autoscaler decides."""

    replicas: int
    autoscaler: str


class ProbePortMissing(KubernetesProblem, frozen=True, kw_only=True):
    """A readiness probe of a port by a name that the container does not have."""

    port: str


class ScaleDownDelay(KubernetesProblem, frozen=True, kw_only=True):
    """A Rollout whose old pods go before everything that sends to them has heard of it."""

    key: str
    value: int
    window: timedelta
    recommended: timedelta


class ScaleDownDelayRejected(KubernetesProblem, frozen=True, kw_only=True):
    """A scale-down delay of a canary that does not route traffic."""

    key: str


class ServicePublishesNotReady(KubernetesProblem, frozen=True, kw_only=True):
    """A Service that keeps terminating pods."""

    key: str


class BudgetMissing(KubernetesProblem, frozen=True, kw_only=True):
    """Pods that serve, and that no budget selects."""

    name: str


class BudgetRejected(KubernetesProblem, frozen=True, kw_only=True):
    """A budget that the API server does not take: both of its numbers are set."""

    budget: str


class SingleReplica(KubernetesProblem, frozen=True, kw_only=True):
    """The only pod of a Service."""

    name: str
    service: str


class BudgetBesideAutoscaler(KubernetesProblem, frozen=True, kw_only=True):
    """A budget that asks for all pods that the autoscaler may leave.

    ``asked`` is what it says, ``enough`` the smallest minimum that lets a pod go.
    """

    budget: str
    asked: str
    least: int
    enough: int


class BudgetKeepsUnhealthyPods(KubernetesProblem, frozen=True, kw_only=True):
    """A budget that protects pods which are not ready as well."""

    budget: str


class ReadinessMissing(KubernetesProblem, frozen=True, kw_only=True):
    """A container that a Service sends requests to, without a readiness probe."""

    name: str


class ReadinessLikeLiveness(KubernetesProblem, frozen=True, kw_only=True):
    """A readiness probe that asks what the liveness probe asks, as often."""

    name: str


class SpreadMissing(KubernetesProblem, frozen=True, kw_only=True):
    """Several pods that may all be on one node."""

    replicas: int


class AutoscalerMinimumOne(KubernetesProblem, frozen=True, kw_only=True):
    """An autoscaler that may leave one pod."""

    scaler: str


class UpdateOnDelete(KubernetesProblem, frozen=True, kw_only=True):
    """Pods that somebody has to delete for an update."""

    what: str


class RolloutPaused(KubernetesProblem, frozen=True, kw_only=True):
    """A Deployment whose changes are not rolled out."""


class RolloutPartitioned(KubernetesProblem, frozen=True, kw_only=True):
    """A StatefulSet of which some pods are not updated."""

    partition: int


class ServiceSelectsNothing(KubernetesProblem, frozen=True, kw_only=True):
    """A Service whose selector fits none of the workloads among the files."""

    name: str


class ServicePortMissing(KubernetesProblem, frozen=True, kw_only=True):
    """A target port by a name that no selected pod has."""

    port: str
    name: str


class BudgetSelectsNothing(KubernetesProblem, frozen=True, kw_only=True):
    """A budget whose selector fits none of the workloads among the files."""

    name: str


class QueueConsumerDefaultGrace(KubernetesProblem, frozen=True, kw_only=True):
    """Pods that KEDA scales by a queue, and whose grace period is the default."""

    trigger: str
    scaler: str


PROBLEMS = (
    FieldRejected,
    DuplicateKey,
    AnnotationUnreadable,
    OwnAnnotationUnknown,
    KeyMisspelled,
    FieldUnknown,
    InitLifecycle,
    InitRestartPolicy,
    ReadinessGrace,
    ProbeGraceValue,
    GraceNegative,
    GraceMisplaced,
    PreStopMisplaced,
    SelectorMismatch,
    ProgressDeadlineRejected,
    RollingUpdateStuck,
    RollingUpdateTakesAll,
    ReplicasBesideAutoscaler,
    ProbePortMissing,
    QueueConsumerDefaultGrace,
    BudgetMissing,
    BudgetRejected,
    SingleReplica,
    BudgetBesideAutoscaler,
    BudgetKeepsUnhealthyPods,
    ReadinessMissing,
    ReadinessLikeLiveness,
    SpreadMissing,
    AutoscalerMinimumOne,
    UpdateOnDelete,
    RolloutPaused,
    RolloutPartitioned,
    ServiceSelectsNothing,
    ServicePortMissing,
    BudgetSelectsNothing,
    ScaleDownDelay,
    ScaleDownDelayRejected,
    ServicePublishesNotReady,
)
