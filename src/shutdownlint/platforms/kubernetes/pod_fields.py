"""The fields of pods that every rule can use."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from shutdownlint.platforms.fields import (
    CaseView,
    Field,
    FieldType,
    plain_field,
    recommended_value,
    setting_field,
)
from shutdownlint.platforms.pods import facts as pod_defaults
from shutdownlint.platforms.pods.pod_facts import PodFacts, StatedFacts
from shutdownlint.platforms.traffic import LoadBalancerFacts, ServiceFacts
from shutdownlint.platforms.user_facts import USER_FACTS, FactType, UserFact
from shutdownlint.shutdown.pod_plan import GRACE_FIELD, PodPlan
from shutdownlint.shutdown.provenance import Setting, with_value

if TYPE_CHECKING:
    from shutdownlint.shutdown.durations import DurationRange
    from shutdownlint.shutdown.pod_plan import Assumption, ContainerPlan

_SECOND: Final = timedelta(seconds=1)
_D, _B, _I, _S = FieldType.DURATION, FieldType.BOOL, FieldType.INT, FieldType.STRING
_FIELD_TYPES: Final = {FactType.DURATION: _D, FactType.FLAG: _B, FactType.CHOICE: _S}


def _grace(view: CaseView) -> Setting[DurationRange]:
    return view.plan.grace


def _service(view: CaseView) -> Setting[str] | None:
    found: ServiceFacts | None = view.facts(ServiceFacts)
    return found.service if found is not None else None


def _service_propagation(view: CaseView) -> Setting[timedelta] | None:
    found: ServiceFacts | None = view.facts(ServiceFacts)
    return found.propagation if found is not None else None


def load_balancer(view: CaseView) -> LoadBalancerFacts | None:
    found: LoadBalancerFacts | None = view.facts(LoadBalancerFacts)
    return found


def pod_facts(view: CaseView) -> PodFacts:
    found: PodFacts = view.facts(PodFacts) or PodFacts(None)
    return found


def _recommended_grace(view: CaseView) -> timedelta:
    return recommended_value(view, GRACE_FIELD, None, view.plan.grace.value.low)


def serving_containers(view: CaseView) -> list[ContainerPlan]:
    return [c for c in view.plan.regular if c.serves]


def _strategy(view: CaseView) -> Setting[str] | None:
    rollout = pod_facts(view).rollout
    return with_value(rollout, rollout.value.strategy) if rollout is not None else None


def proxy_assumptions(view: CaseView) -> tuple[Assumption, ...]:
    """Return the assumptions about the pod's proxies."""
    return tuple(a for proxy in view.plan.proxies for a in proxy.assumptions)


def _rollout_waits(view: CaseView) -> timedelta | None:
    rollout = pod_facts(view).rollout
    shutdown = view.analysis.longest_shutdown
    return rollout.value.waiting_time(shutdown) if rollout is not None else None


def _least_serving(view: CaseView) -> int | None:
    fleet = pod_facts(view).fleet
    replacement = fleet.replacement if fleet is not None else None
    return replacement.least_serving if replacement is not None else None


def _scaled_down_together(view: CaseView) -> int | None:
    fleet = pod_facts(view).fleet
    if fleet is None or fleet.scale_in is None:
        return None
    return fleet.scale_in.most_within(max(view.analysis.longest_shutdown, _SECOND))


def _stated_field(fact: UserFact) -> Field:
    """Return the field of a fact that the user states; the plan has it if it changes the model."""

    def get(view: CaseView) -> Setting[Any] | None:
        if fact.name in PodPlan.__struct_fields__:
            planned: Setting[Any] | None = getattr(view.plan, fact.name)
            return planned
        stated: StatedFacts | None = view.facts(StatedFacts)
        return stated.settings.get(fact.name) if stated is not None else None

    return setting_field(fact.rule_field, _FIELD_TYPES[fact.type], fact.field, get)


#: Fields that containers and proxies have as well.
POD_FIELDS: Final = (
    setting_field("grace", _D, "the pod's terminationGracePeriodSeconds", _grace),
    *(_stated_field(fact) for fact in USER_FACTS if fact.field),
    plain_field("kind", _S, "the workload's kind", lambda view: view.pod.id.kind),
    plain_field("name", _S, "the workload's name", lambda view: view.pod.id.name),
    plain_field(
        "namespace",
        _S,
        "the workload's namespace, empty where none is written",
        lambda view: view.pod.id.namespace or "",
    ),
    setting_field(
        "service", _S, "a Service among the files that sends it requests, or empty", _service, ""
    ),
    setting_field(
        "servicePropagation",
        _D,
        "how long that Service may go on sending new requests; absent without a Service",
        _service_propagation,
    ),
    plain_field(
        "runsToCompletion",
        _B,
        "whether its pods end by themselves (Jobs)",
        lambda view: view.plan.runs_to_completion,
    ),
    plain_field(
        "defaultGrace",
        _D,
        "the grace period that Kubernetes gives by default",
        lambda _view: pod_defaults.DEFAULT_GRACE.value,
    ),
    setting_field(
        "balancer",
        _S,
        "a load balancer outside the cluster that sends it requests, or empty",
        lambda view: balancer.name if (balancer := load_balancer(view)) else None,
        "",
    ),
    setting_field(
        "deregistration",
        _D,
        "how long it lets connections finish; absent unless written",
        lambda view: balancer.deregistration if (balancer := load_balancer(view)) else None,
    ),
    plain_field(
        "osName", _S, "the pod's spec.os.name, or empty", lambda view: pod_facts(view).os_name
    ),
    plain_field(
        "recommendedGrace",
        _D,
        "the grace period that everything fits in once all that is too short is raised",
        _recommended_grace,
    ),
    plain_field(
        "inFlight",
        _D,
        "the longest request in flight at deletion that is still served",
        lambda view: view.analysis.headroom.max_in_flight,
        proxy_assumptions,
    ),
    plain_field(
        "late",
        _D,
        "the longest request, arriving at the stop signal, that is still served",
        lambda view: view.analysis.headroom.max_late,
        proxy_assumptions,
    ),
    plain_field(
        "lateCause",
        _S,
        "the setting that decides late",
        lambda view: str(view.analysis.headroom.late_cause),
        proxy_assumptions,
    ),
)
WHOLE_POD_FIELDS: Final = (
    plain_field(
        "serves",
        _B,
        "whether requests are sent to one of its containers",
        lambda view: bool(serving_containers(view)) or view.plan.edge is not None,
    ),
    plain_field(
        "preStop",
        _D,
        "the longest preStop of its containers that serve",
        lambda view: max(
            (c.hook.duration.value.low for c in serving_containers(view)), default=None
        ),
    ),
    setting_field(
        "replicas",
        _I,
        "how many pods there are; absent where nodes or an autoscaler decide",
        lambda view: view.pod.replicas,
    ),
    plain_field(
        "budgets",
        FieldType.STRINGS,
        "the names of the disruption budgets among the files that select its pods",
        lambda view: list(fleet.budgets) if (fleet := pod_facts(view).fleet) else [],
    ),
    plain_field(
        "leastServing",
        _I,
        "the fewest pods that serve during a rollout; absent where their number is not known",
        _least_serving,
    ),
    setting_field(
        "scaleDownPeriod",
        _D,
        "the shortest period of the autoscaler's policies for scaling down; absent unless written",
        lambda view: fleet.scale_down_period if (fleet := pod_facts(view).fleet) else None,
    ),
    plain_field(
        "scaleDownTogether",
        _I,
        "how many pods an autoscaler stops within the time that one takes to end",
        _scaled_down_together,
    ),
    setting_field(
        "strategy", _S, "how they are replaced: RollingUpdate, Recreate; or empty", _strategy, ""
    ),
    plain_field(
        "rolloutWaits",
        _D,
        "how long a rollout waits for old pods and minReadySeconds at worst; absent where that is "
        "not known",
        _rollout_waits,
    ),
    plain_field(
        "shutdownTakes",
        _D,
        "the longest that one pod's shutdown takes",
        lambda view: view.analysis.longest_shutdown,
    ),
    plain_field(
        "noReadinessGate",
        _B,
        "whether it is known that new pods do not wait for their load balancer's target",
        lambda view: (balancer := load_balancer(view)) is not None and balancer.no_readiness_gate,
    ),
)
