"""Kubernetes as a platform: pod templates, Services, the user's facts about apps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.resources import PodDisruptionBudget, Scaler, Service
from shutdownlint.platforms.context import scope_of
from shutdownlint.platforms.kubernetes import facts, fields, problems
from shutdownlint.platforms.kubernetes.availability import availability_problems
from shutdownlint.platforms.kubernetes.budgets import BudgetIndex
from shutdownlint.platforms.kubernetes.disruptions import (
    budget_problems,
    disruption_problems,
    selection_problems,
)
from shutdownlint.platforms.kubernetes.rejected import (
    field_rejected,
    read_version,
    read_written,
    removed_version,
    restart_policy_problems,
)
from shutdownlint.platforms.kubernetes.requests import assume_sender, note_requests
from shutdownlint.platforms.kubernetes.stated import (
    note_measured_requests,
    read_propagation,
    read_stated,
)
from shutdownlint.platforms.kubernetes.structure import draft_pod, service_problems
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.pods.behaviour import hook_signals, set_behaviour
from shutdownlint.platforms.pods.containers import (
    ContainerFacts,
    first_process,
    note_edit_targets,
    read_probe_grace,
    read_start,
    read_stop_signal,
)
from shutdownlint.platforms.pods.controllers import read_replicas, read_rollout
from shutdownlint.platforms.pods.fleet import read_fleet
from shutdownlint.platforms.pods.hooks import HookKind, HookSettings
from shutdownlint.platforms.pods.images import is_pause
from shutdownlint.platforms.pods.pod_facts import PodFacts, StatedFacts
from shutdownlint.platforms.pods.services import (
    leads_to_pod,
    serving_containers,
    serving_services,
)
from shutdownlint.platforms.pods.streams import note_streams
from shutdownlint.platforms.traffic import ServiceFacts
from shutdownlint.shell.forwarding import SignalForwarding
from shutdownlint.shutdown.durations import ZERO, DurationRange
from shutdownlint.shutdown.pod_plan import Assumption, Role, Sender
from shutdownlint.shutdown.process import Hook
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import timedelta

    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.observation import Observation
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.platforms.versions import Version
    from shutdownlint.platforms.workload_index import WorkloadIndex

#: The app's behaviour that is taken where nothing shows another.
GRACEFUL: Final = "graceful"


class Plugin(Platform):
    """Kubernetes."""

    name = "kubernetes"
    fields = fields.FIELDS
    problems = problems.PROBLEMS
    supported_versions = facts.SUPPORTED_VERSIONS.value
    version_changes = facts.VERSION_CHANGES

    def draft(self, workload: Workload, context: AnalysisContext) -> PodDraft:
        """Return the first draft of a workload's pods."""
        return draft_pod(workload, context)

    def context_problems(self, context: AnalysisContext) -> Iterator[Problem]:
        """Values of objects that the API server does not take, and budgets."""
        yield from (field_rejected(ref, error) for ref, error in context.index.rejected)
        for resource in (Service, PodDisruptionBudget, Scaler):
            for loaded in context.index.all_of(resource):
                written = context.index.read(loaded, read_written)
                yield from removed_version(written, context.version_of("kubernetes"))
                yield from written.problems
        yield from budget_problems(context)

    def selection_problems(
        self, index: WorkloadIndex, context: AnalysisContext
    ) -> Iterator[Problem]:
        """Services and budgets that select nothing, and ports that no selected pod has."""
        return selection_problems(index, context)

    def extra_workloads(self, context: AnalysisContext) -> Iterable[Workload]:
        """Return the pods that values of charts describe."""
        if not context.index.raw:
            return ()
        from shutdownlint.platforms.kubernetes.chart_values import (  # noqa: PLC0415 - seldom
            values_workloads,
        )

        return values_workloads(context)

    def replicas(self, workload: Workload, context: AnalysisContext) -> Setting[int] | None:
        """Return the number of pods of a workload."""
        return read_replicas(workload, context)

    def observations(self, pod: PlannedPod) -> Iterator[Observation]:
        """Events and endpoints."""
        from shutdownlint.platforms.kubernetes.watching import (  # noqa: PLC0415 - for verify only
            kubernetes_observations,
        )

        return kubernetes_observations(pod)

    def contribute(self, draft: PodDraft) -> None:
        """Who serves and what the app does, as far as the manifest and the user say it."""
        workload, context = draft.workload, draft.context
        version = context.version_of("kubernetes", workload.namespace)
        if version is not None:
            draft.versions["kubernetes"] = version
            draft.grace_counts_hook = version not in facts.GRACE_AFTER_HOOK_IN.value
        if not workload.created and not workload.derived:
            draft.problems += removed_version(read_version(workload.object_ref), version)
        draft.problems += restart_policy_problems(workload, version)
        services = [
            service
            for service in context.services_for(workload)
            if leads_to_pod(service.model, workload)
            and not context.index.read(service, read_written).is_rejected
        ]
        draft.problems += service_problems(services)
        draft.problems += availability_problems(workload, context, serves=bool(services))
        labels = workload.template.metadata.labels
        file = workload.ref.document.file
        budgets = context.state(BudgetIndex).selecting(scope_of(workload), labels, file)
        draft.problems += disruption_problems(workload, context, services, budgets)
        stated = StatedFacts(read_stated(draft))
        draft.note(stated)
        draft.p99 = stated.settings.get("p99")
        draft.longest_job = stated.settings.get("longest_job")
        note_streams(draft, services)
        note_measured_requests(draft)
        note_requests(draft, services)
        if draft.replicas is not None and draft.replicas.value == 0:
            draft.gets_requests = False
            text = "replicas is 0: it has no pods that requests are sent to"
            draft.assumptions.append(Assumption(text, "write the number that it is scaled to"))
        if draft.gets_requests:
            self._add_service(draft, services)
            assume_sender(draft, services)
        serving, shown = serving_containers(list(draft.app_containers), services)
        for container in draft.containers:
            if container.owner is None:
                serves = container.name in serving and not container.native_sidecar
                container.serves, container.serves_assumed = serves, serves and not shown
                _plan_app(container, draft)
        _note_pod_facts(draft, budgets)

    def _add_service(self, draft: PodDraft, services: list[LoadedResource[Service]]) -> None:
        found = list(serving_services(draft.workload, services, draft.context))
        window = read_propagation(draft, found[0].name if found else None)
        for number, each in enumerate(found):
            written = each.service.model.spec.ports
            is_udp = bool(written) and all(port.protocol == "UDP" for port in written)
            ports = [
                port.targetPort if port.targetPort is not None else port.port for port in written
            ]
            known = tuple(port for port in ports if isinstance(port, (int, str)))
            if not number:
                draft.note(ServiceFacts(each.name, window, known))
            draft.senders.append(Sender(each.name, window, each.containers, is_udp=is_udp))
        if not found and window.origin.kind is OriginKind.MEASURED:
            draft.senders.append(Sender(Setting("sender", "something", window.origin), window))


def _note_pod_facts(
    draft: PodDraft, budgets: Sequence[LoadedResource[PodDisruptionBudget]]
) -> None:
    workload, spec = draft.workload, draft.workload.template.spec
    os_name = str(spec.os.get("name", "")) if isinstance(spec.os, dict) else ""
    rollout = read_rollout(workload, draft.replicas)
    fleet = read_fleet(workload, draft.context, budgets, draft.replicas)
    draft.note(PodFacts(rollout, spec.hostNetwork is True, os_name, fleet))


def _how_to_sleep(newest: Version | None, image: str) -> str:
    """Return how a new hook sleeps; ``newest`` is the newest Kubernetes that the cluster may be."""
    minimum = facts.SLEEP_SINCE.value
    since = f"{minimum.major}.{minimum.minor}"
    bare = "distroless" in image and "debug" not in image
    if newest is None:
        before = "before, a distroless image has no sleep" if bare else "before: exec sleep"
        return f"Kubernetes {since} and later; {before}"
    if newest >= minimum:
        return ""
    if bare:
        return (
            f"before Kubernetes {since} only with another image, or a static sleep in it: a "
            "distroless image has none"
        )
    return f"exec sleep: before Kubernetes {since} there is no sleep action"


def _plan_app(container: ContainerDraft, draft: PodDraft) -> None:
    """Plan the behaviour of an app's container, by the user's statements, else by assumptions."""
    spec, ref = container.spec, container.ref
    assert spec is not None
    assert ref is not None
    version = draft.versions.get("kubernetes")
    hook: HookSettings = container.facts[HookSettings]
    newest = draft.newest_kubernetes if version is None else version
    sleep_action = newest is None or newest >= facts.SLEEP_SINCE.value
    is_dropped = version is not None and version < facts.SLEEP_SINCE.value
    if hook.handler.value.kind is HookKind.SLEEP and is_dropped:
        name = f"{hook.duration.name}: dropped by Kubernetes {version}, taken as"
        dropped = Setting(name, DurationRange.exact(ZERO), hook.duration.origin)
        container.hook = Hook(dropped)
    pod_spec = draft.workload.template.spec
    if hook.handler.value.signals:
        signals = hook_signals(hook.handler.value.signals, pod_spec)
        container.hook = Hook(hook.duration, signals=signals)
    config = draft.context.image_config(spec)
    forwarding, script = read_start(spec, pod_spec, ref, config)
    drain, behaviour = _read_behaviour(container, draft, forwarding)
    written = ContainerFacts(
        handler=hook.handler,
        forwarding=forwarding,
        drain=drain,
        behaviour=behaviour,
        start_script=script,
        command=first_process(spec, pod_spec, ref, config),
        image=spec.image or "",
        stop_signal=read_stop_signal(spec, ref),
        liveness_grace=read_probe_grace(spec, ref, "livenessProbe"),
        startup_grace=read_probe_grace(spec, ref, "startupProbe"),
    )
    container.note(written)
    container.role = Role.HELPER if container.native_sidecar else Role.APP
    container.settled = behaviour.origin.kind is OriginKind.MEASURED
    if is_pause(spec):
        container.settled, container.role = True, Role.HELPER
        behaviour = Setting(
            "behaviour", "abrupt", Origin(OriginKind.DEFAULT, "pause ends", ref / "image")
        )
    set_behaviour(container, behaviour)
    how = _how_to_sleep(newest, spec.image or "")
    note_edit_targets(container, written, sleep_action=sleep_action, how=how)


def _read_behaviour(
    container: ContainerDraft, draft: PodDraft, forwarding: Setting[SignalForwarding]
) -> tuple[Setting[timedelta], Setting[str]]:
    """Return how long the app still accepts after its signal, and its behaviour then."""
    ref = container.ref
    assert ref is not None
    location = ref / "name"
    drain, drain_label, behaviour = ZERO, "none is known", None
    for app in draft.context.user_facts.apps_for(draft.workload.id):
        if app.container not in (None, container.name):
            continue
        if app.drain is not None and not drain:
            drain, drain_label = app.drain, app.source_label
        behaviour = behaviour or app.behaviour
        if container.waits_for_calls is None:
            container.waits_for_calls = app.waits_for_calls
    drain_kind = OriginKind.MEASURED if drain > ZERO else OriginKind.DEFAULT
    drain_setting = Setting("drain", drain, Origin(drain_kind, drain_label, location))
    if behaviour is not None:
        origin = Origin(OriginKind.MEASURED, "the configuration", location)
        return drain_setting, Setting("behaviour", behaviour, origin)
    if forwarding.value in (SignalForwarding.NO, SignalForwarding.NO_APP):
        return drain_setting, Setting("behaviour", "ignoring", forwarding.origin)
    assumed = Setting("behaviour", GRACEFUL, Origin(OriginKind.DEFAULT, "assumed", location))
    return drain_setting, assumed
