"""From a workload to the plan of its pods: every platform has its say here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.frameworks.detect import Shown, framework_of
from shutdownlint.platforms.istio import facts as istio
from shutdownlint.platforms.istio.effective_config import PodProxy, proxy_of
from shutdownlint.platforms.istio.gateways import deployed_balancer
from shutdownlint.platforms.istio.injection import is_bare_proxy, is_gateway
from shutdownlint.platforms.kubernetes.controllers import disruptions_allowed, replicas, rollout
from shutdownlint.platforms.kubernetes.facts import SLEEP_SINCE
from shutdownlint.platforms.kubernetes.nodes import maybe_spot, node_pool_grace, spot_notice
from shutdownlint.platforms.kubernetes.pods import (
    GRACE,
    drain_setting,
    grace_period,
    pre_stop,
    probe_grace,
    start,
    stop_signal,
)
from shutdownlint.platforms.kubernetes.services import leads_to, reached
from shutdownlint.platforms.kyverno import grace_cap
from shutdownlint.platforms.loadbalancers.detect import (
    attribute_defects,
    gateway_balancer,
    load_balancer,
)
from shutdownlint.platforms.problem import ConfigProblem
from shutdownlint.shutdown import (
    Assumption,
    Behaviour,
    ContainerPlan,
    Hook,
    HookKind,
    LoadBalancer,
    Origin,
    OriginKind,
    Plan,
    ProxyPlan,
    Setting,
    SignalPath,
    Span,
)
from shutdownlint.shutdown.durations import ZERO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.manifests.decoding import FieldError
    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.resources import Container, PodSpec, Service
    from shutdownlint.manifests.workloads import LoadedResource, ObjectId, Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.istio.mesh_config import Mesh

P99_ANNOTATION: Final = "shutdownlint.dev/p99"
GRACEFUL: Final = Assumption(
    "the app is taken to be graceful: at its stop signal it stops accepting and finishes what "
    "it has",
    "say otherwise with 'app' in the configuration",
)


class Pod(Struct, eq=False):
    """One workload's pods: the plan of their shutdown, and what is wrong in how it is written."""

    id: ObjectId
    ref: NodeRef
    workload: Workload
    plan: Plan | None
    defects: list[ConfigProblem] = field(default_factory=list)
    #: Why there is no plan, where there is none.
    unplanned: str | None = None
    #: Whether the cluster runs a hook's sleep action.
    sleeps: bool = True


def plan_pod(workload: Workload, world: AnalysisContext, mesh: Mesh) -> Pod:
    """Everything that is known of how this workload's pods stop."""
    pod = Pod(workload.id, workload.ref, workload, None)
    pod.sleeps = _sleeps(world)
    if workload.partial is not None:
        pod.unplanned = workload.partial
        return pod
    if workload.hidden:
        pod.unplanned = "pods whose shutdown settings are placeholders"
        return pod
    pod.defects += [_rejected(workload.ref, problem) for problem in workload.rejected]
    rolling = workload.object_ref / "spec"
    pod.defects += [_rejected(rolling, problem, "spec.") for problem in workload.rolling_rejected]
    if workload.id.kind == "Deployment" and workload.rolling.podReplacementPolicy is not None:
        location = (rolling / "podReplacementPolicy").key
        pod.defects.append(ConfigProblem("pod-replacement-policy", location))
    for duplicate in workload.duplicates:
        words = {"key": str(duplicate.key_path[-1])}
        pod.defects.append(ConfigProblem("duplicate-key", duplicate, words))
    pod.defects += [*_misplaced_fields(workload), *_nobodys_fields(workload)]
    if workload.knative:
        pod.unplanned = "Knative workloads (Knative sets their shutdown itself)"
        return pod
    spec = workload.template.spec
    services = [s for s in world.services_for(workload) if _reaches(s.model, workload)]
    pod.defects += _service_defects(services)
    p99, p99_defects = _p99(workload, world)
    proxy = proxy_of(workload, mesh)
    pod.defects += p99_defects + proxy.defects
    gateway = proxy.plan is not None and proxy.plan.gateway
    if not gateway and (is_bare_proxy(workload) or is_gateway(workload)):
        pod.unplanned = "pods that are only a proxy of which not enough is known"
        return pod
    frameworks = _frameworks(workload, world)
    pod.defects += [defect for shown in frameworks.values() for defect in shown.defects]
    containers = _containers(workload, world, services, frameworks)
    count = replicas(workload, world)
    certain, possible = node_pool_grace(spec, workload.spec, world)
    pod.plan = Plan(
        grace=grace_period(
            spec,
            workload.spec,
            unreadable=_grace_rejected(workload),
            usual=workload.usual_grace,
        ),
        containers=containers,
        proxy=proxy.plan,
        p99=p99,
        behind_service=_service(workload, services),
        runs_to_completion=workload.runs_to_completion,
        host_network=spec.hostNetwork is True,
        os_name=str(spec.os.get("name", "")) if isinstance(spec.os, dict) else "",
        balancer=_balancer(workload, services, proxy.plan, world),
        spot_notice=spot_notice(spec, workload.spec),
        maybe_spot=maybe_spot(spec, workload.spec),
        node_grace=certain,
        maybe_node_grace=possible,
        grace_cap=grace_cap(workload, world),
        replicas=count,
        rollout=rollout(workload, count),
        disruptions_allowed=disruptions_allowed(workload, count, world),
        assumptions=tuple(_assumed(workload, containers, proxy)),
    )
    return pod


def _balancer(
    workload: Workload,
    services: list[LoadedResource[Service]],
    proxy: ProxyPlan | None,
    world: AnalysisContext,
) -> LoadBalancer | None:
    """What sends the pod requests from outside the cluster."""
    if workload.runs_to_completion:
        return None
    if workload.group == istio.GATEWAY_GROUP:
        return deployed_balancer(workload, waypoint=proxy is not None and proxy.waypoint)
    outside = load_balancer(workload, services, world)
    if outside is None and proxy is not None and proxy.gateway:
        return gateway_balancer(services)
    return outside


def _misplaced_fields(workload: Workload) -> Iterator[ConfigProblem]:
    """Fields that the API server does not take where they stand, or reads otherwise."""
    spec, ref = workload.template.spec, workload.spec
    grace = spec.terminationGracePeriodSeconds
    if isinstance(grace, int) and grace < 0:
        yield ConfigProblem("grace-negative", ref / GRACE, {"key": GRACE, "value": str(grace)})
    for index, container in enumerate(spec.initContainers):
        restart = container.restartPolicy or ""
        if container.lifecycle is not None and restart != "Always" and not has_placeholder(restart):
            location = (ref / "initContainers" / index / "lifecycle").key
            yield ConfigProblem("init-lifecycle", location, {"key": container.name}, container.name)
    for part, containers in (
        ("containers", spec.containers),
        ("initContainers", spec.initContainers),
    ):
        for index, container in enumerate(containers):
            here = ref / part / index
            for probe in ("livenessProbe", "startupProbe", "readinessProbe"):
                own = probe_grace(container, here, probe)
                if own is None or own.origin.location is None:
                    continue
                words = {"key": probe, "value": str(int(own.value.total_seconds()))}
                if probe == "readinessProbe":
                    yield ConfigProblem(
                        "readiness-grace", own.origin.location, words, container.name
                    )
                elif own.value <= ZERO:
                    yield ConfigProblem(
                        "probe-grace-value", own.origin.location, words, container.name
                    )


def _nobodys_fields(workload: Workload) -> Iterator[ConfigProblem]:
    """Fields that people write one level off, where the API has no such field and drops them."""
    spec, ref = workload.template.spec, workload.spec
    for index, container in enumerate(spec.containers):
        if container.terminationGracePeriodSeconds is not None:
            location = (ref / "containers" / index / GRACE).key
            yield ConfigProblem("grace-misplaced", location, {"key": GRACE}, container.name)
        if container.preStop is not None:
            location = (ref / "containers" / index / "preStop").key
            yield ConfigProblem("prestop-misplaced", location, {"key": "preStop"}, container.name)
    if workload.rolling.terminationGracePeriodSeconds is not None:
        location = (workload.object_ref / "spec" / GRACE).key
        yield ConfigProblem("grace-misplaced", location, {"key": GRACE})


def _grace_rejected(workload: Workload) -> bool:
    return any(rejected.key_path == ("spec", GRACE) for rejected in workload.rejected)


def _assumed(
    workload: Workload, containers: tuple[ContainerPlan, ...], proxy: PodProxy
) -> Iterator[Assumption]:
    if workload.rejected:
        yield Assumption("the API server rejects this object: what it rejects is left out here")
    if proxy.refused:
        yield Assumption("Istio's webhook rejects this pod: it is taken here without its proxy")
    if proxy.hidden:
        yield Assumption("the sidecar's settings are placeholders: the pod is taken without it")
    if proxy.bypassed:
        yield Assumption("no inbound traffic passes the sidecar: the pod is taken without it")
    if _behaviour_assumed(containers):
        yield GRACEFUL


def context_defects(world: AnalysisContext) -> list[ConfigProblem]:
    """What is wrong in the typed objects that are no workloads."""
    found = [_rejected(ref, problem) for ref, problem in world.objects.rejected]
    return [*found, *attribute_defects(world)]


def _rejected(ref: NodeRef, problem: FieldError, above: str = "") -> ConfigProblem:
    location = ref
    for step in problem.key_path:
        location = location / step
    words = {"key": above + _path(problem.key_path), "reason": problem.reason}
    return ConfigProblem("field-rejected", location, words)


def _path(key_path: tuple[str | int, ...]) -> str:
    """A route as people write it: ``spec.containers[0].env``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in key_path)
    return "".join(steps).removeprefix(".")


def _behaviour_assumed(containers: tuple[ContainerPlan, ...]) -> bool:
    return any(c.behaviour.origin.kind is OriginKind.DEFAULT for c in containers)


def _service(workload: Workload, services: list[LoadedResource[Service]]) -> Setting[str] | None:
    """The Service that sends the pods requests: one of the same file, if there is."""
    if workload.runs_to_completion:
        return None
    here = workload.ref.document.file
    near_first = sorted(services, key=lambda service: service.ref.document.file != here)
    for located in near_first:
        service = located.model
        if not service.headless:
            location = located.ref / "metadata" / "name"
            name = service.metadata.name or ""
            return Setting("Service", name, Origin(OriginKind.INHERITED, "Service", location))
    return None


def _frameworks(workload: Workload, world: AnalysisContext) -> dict[str, Shown]:
    """What is known of the frameworks in the pod's regular containers, by container."""
    return {
        container.name: framework_of(
            container, workload.spec / "containers" / index, workload, world
        )
        for index, container in enumerate(workload.template.spec.containers)
        if container.name != istio.PROXY_CONTAINER
    }


def _containers(
    workload: Workload,
    world: AnalysisContext,
    services: list[LoadedResource[Service]],
    frameworks: dict[str, Shown],
) -> tuple[ContainerPlan, ...]:
    spec = workload.template.spec
    regular = [
        (c, workload.spec / "containers" / index)
        for index, c in enumerate(spec.containers)
        if c.name != istio.PROXY_CONTAINER
    ]
    sidecars = [
        (c, workload.spec / "initContainers" / index)
        for index, c in enumerate(spec.initContainers)
        if c.restartPolicy == "Always" and c.name != istio.PROXY_CONTAINER
    ]
    serving, shown = _serving([c for c, _ in regular], services)
    plans = [
        _container(
            c,
            ref,
            workload,
            world,
            frameworks.get(c.name, Shown()),
            serves=c.name in serving,
            shown=shown,
        )
        for c, ref in regular
    ]
    plans += [
        _container(c, ref, workload, world, Shown(), serves=False, sidecar=True)
        for c, ref in sidecars
    ]
    return tuple(plans)


def _service_defects(services: list[LoadedResource[Service]]) -> Iterator[ConfigProblem]:
    """What a Service says that undoes every delay: pods stay in it while they terminate."""
    for located in services:
        service = located.model
        if service.spec.publishNotReadyAddresses is True and not service.headless:
            location = (located.ref / "spec" / "publishNotReadyAddresses").key
            words = {"key": service.metadata.name or ""}
            yield ConfigProblem("service-publishes-not-ready", location, words)


def _reaches(service: Service, workload: Workload) -> bool:
    """Whether a port of the Service leads to the pod: a name has to be declared, a number not."""
    ports = service.spec.ports
    return not ports or any(
        not isinstance(port.targetPort, str)
        or port.targetPort.isdigit()
        or any(leads_to(port, c) for c in workload.template.spec.containers)
        for port in ports
    )


def _serving(
    containers: list[Container], services: list[LoadedResource[Service]]
) -> tuple[set[str], bool]:
    """The containers that requests reach, and whether the manifests show it.

    A Service's targets, else those with ports, else any.
    """
    aimed = reached(containers, services)
    listening = aimed or {c.name for c in containers if c.ports}
    if listening:
        return listening, True
    return {c.name for c in containers}, len(containers) == 1


def _granted(time: Setting[Span], hook: Hook, world: AnalysisContext) -> Setting[Span]:
    """A hook's duration on this cluster: the sleep action is dropped where it is not known."""
    if hook.kind is not HookKind.SLEEP or _sleeps(world):
        return time
    name = f"{time.name}: dropped by Kubernetes {world.given.kubernetes}, taken as"
    return Setting(name, Span.exactly(ZERO), time.origin)


def _sleeps(world: AnalysisContext) -> bool:
    version = world.given.kubernetes
    return version is None or version >= SLEEP_SINCE.value


def _container(
    container: Container,
    ref: NodeRef,
    workload: Workload,
    world: AnalysisContext,
    framework: Shown,
    *,
    serves: bool,
    shown: bool = True,
    sidecar: bool = False,
) -> ContainerPlan:
    time, hook = pre_stop(container, ref)
    path, script = start(container, workload.template.spec, ref)
    name = ref / "name"
    drain, behaviour = ZERO, None
    told = "none is known"
    for said in world.user_facts_for(workload.id):
        if said.drain is not None and not drain:
            drain, told = said.drain, said.told
        behaviour = behaviour or said.behaviour
    kind = OriginKind.DEFAULT if behaviour is None else OriginKind.MEASURED
    origin = Origin(kind, "assumed" if behaviour is None else "the configuration", name)
    if behaviour is None and path.value is SignalPath.NEVER:
        behaviour, origin = Behaviour.IGNORING, path.origin
    if behaviour is None and framework.behaviour is not None:
        behaviour, origin = framework.behaviour.value, framework.behaviour.origin
    return ContainerPlan(
        name=container.name,
        pre_stop=_granted(time, hook.value, world),
        drain=drain_setting(drain, told, name),
        behaviour=Setting("app", behaviour or Behaviour.GRACEFUL, origin),
        serves_assumed=serves and not shown,
        serves=serves,
        native_sidecar=sidecar,
        hook=hook,
        signal_path=path,
        start_script=script,
        command=_first_process(container, workload.template.spec),
        image=container.image or "",
        finish_within=framework.finish_within,
        framework=framework.plan,
        stop_signal=stop_signal(container, ref),
        liveness_grace=probe_grace(container, ref, "livenessProbe"),
        startup_grace=probe_grace(container, ref, "startupProbe"),
    )


def _first_process(container: Container, spec: PodSpec) -> tuple[str, ...]:
    """The command line of the container's first process, where that is known."""
    shared = spec.shareProcessNamespace or spec.hostPID
    return (*container.command, *container.args) if container.command and not shared else ()


def _p99(
    workload: Workload, world: AnalysisContext
) -> tuple[Setting[timedelta] | None, list[ConfigProblem]]:
    places = (
        (workload.template.metadata, workload.ref),
        (workload.owner, workload.object_ref),
    )
    for metadata, ref in places:
        text = metadata.annotations.get(P99_ANNOTATION)
        if text is None or has_placeholder(text):
            continue
        location = ref / "metadata" / "annotations" / P99_ANNOTATION
        try:
            value = go_duration(text)
            if value < ZERO:
                raise ValueError("must not be negative")
        except ValueError as error:
            words = {"key": P99_ANNOTATION, "reason": str(error)}
            return None, [ConfigProblem("annotation-unreadable", location, words)]
        return Setting("p99", value, Origin(OriginKind.MEASURED, P99_ANNOTATION, location)), []
    for said in world.user_facts_for(workload.id):
        if said.p99 is not None:
            return Setting("p99", said.p99, Origin(OriginKind.MEASURED, said.told)), []
    return None, []
