"""Reads a pod template: grace period, containers with their hooks, and what is wrong in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.manifests.decoding import Placeholder, has_placeholder
from shutdownlint.platforms.edit_target import EditTarget, ValueFormat
from shutdownlint.platforms.kubernetes import facts, problems
from shutdownlint.platforms.kubernetes.own_annotations import unknown_annotations
from shutdownlint.platforms.kubernetes.rejected import field_rejected, spec_problems
from shutdownlint.platforms.pod_draft import ContainerDraft, PodDraft
from shutdownlint.platforms.pods import facts as pod_defaults
from shutdownlint.platforms.pods.containers import GRACE_FIELD, read_probe_grace
from shutdownlint.platforms.pods.hooks import MAX_SECONDS, read_pre_stop
from shutdownlint.platforms.traffic import DEFAULT_PROPAGATION
from shutdownlint.shutdown.durations import ZERO, DurationRange, seconds
from shutdownlint.shutdown.pod_plan import Assumption
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shutdownlint.manifests.document import NodeRef
    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import Container, Service
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.problem import Problem
    from shutdownlint.shutdown.provenance import Setting as AnySetting

KUBERNETES_DEFAULT: Final = "the Kubernetes default"
_PROBES: Final = ("livenessProbe", "startupProbe", "readinessProbe")


def draft_pod(workload: Workload, context: AnalysisContext) -> PodDraft:
    """Return the first draft: containers in the order of the manifest, each with its hook."""
    draft = PodDraft(workload, context, read_grace_period(workload))
    draft.edit_targets["grace"] = EditTarget(workload.spec / GRACE_FIELD, ValueFormat.SECONDS)
    spec = workload.template.spec
    for index, container in enumerate(spec.containers):
        _add_container(draft, container, workload.spec / "containers" / index)
    for index, container in enumerate(spec.initContainers):
        if container.restartPolicy == "Always":
            ref = workload.spec / "initContainers" / index
            _add_container(draft, container, ref, native_sidecar=True)
    draft.problems += find_problems(workload)
    if workload.rejected:
        text = "the API server rejects this object: what it rejects is left out here"
        draft.assumptions.append(Assumption(text))
    return draft


def _add_container(
    draft: PodDraft, container: Container, ref: NodeRef, *, native_sidecar: bool = False
) -> None:
    hook = read_pre_stop(container, ref)
    added = ContainerDraft(
        container.name, hook.duration, container, ref, native_sidecar=native_sidecar
    )
    added.note(hook)
    draft.containers.append(added)


def read_grace_period(workload: Workload) -> AnySetting[DurationRange]:
    """Return the pod's grace period; a placeholder or a wrong type leaves it open."""
    here = workload.spec / GRACE_FIELD
    value = workload.template.spec.terminationGracePeriodSeconds
    rejected = any(error.key_path == ("spec", GRACE_FIELD) for error in workload.rejected)
    if value is None and not rejected and workload.default_grace is not None:
        number, label = workload.default_grace
        origin = Origin(OriginKind.DEFAULT, label, here)
        return Setting(GRACE_FIELD, DurationRange.exact(seconds(number)), origin)
    if value is None and not rejected:
        default = DurationRange.exact(pod_defaults.DEFAULT_GRACE.value)
        return Setting(GRACE_FIELD, default, Origin(OriginKind.DEFAULT, KUBERNETES_DEFAULT, here))
    origin = Origin(OriginKind.EXPLICIT, GRACE_FIELD, here)
    if value is None or isinstance(value, Placeholder):
        return Setting(GRACE_FIELD, DurationRange(ZERO, None), origin)
    if value < 0:
        name = f"{GRACE_FIELD} {value}, taken as"
        return Setting(name, DurationRange.exact(facts.NEGATIVE_GRACE.value), origin)
    return Setting(GRACE_FIELD, DurationRange.exact(seconds(min(value, MAX_SECONDS))), origin)


def find_problems(workload: Workload) -> Iterator[Problem]:
    """Everything that is wrong in how the workload is written."""
    for error in workload.rejected:
        yield field_rejected(workload.ref, error)
    if workload.object_ref != workload.ref:  # a Pod's own metadata is part of what is read above
        for error in workload.owner_rejected:
            yield field_rejected(workload.object_ref / "metadata", error, "metadata.")
    update = workload.object_ref / "spec"
    for error in workload.update_rejected:
        yield field_rejected(update, error, "spec.")
    if workload.id.kind == "Rollout":
        yield from _scale_down_delays(workload)
    for duplicate in workload.duplicates:
        yield problems.DuplicateKey(location=duplicate, key=str(duplicate.key_path[-1]))
    yield from _fields_of_wrong_values(workload)
    yield from _misplaced_fields(workload)
    if workload.incomplete is None and not workload.created and not workload.derived:
        known = {
            *(workload.ref.below(*error.key_path).key_path for error in workload.rejected),
            *(update.below(*error.key_path).key_path for error in workload.update_rejected),
            *(found.location.key_path for found in workload.misspelled),
        }
        if workload.object_ref != workload.ref:
            known.add((update / GRACE_FIELD).key_path)  # reported as misplaced
        yield from spec_problems(workload.object_ref, workload.group, workload.id.kind, known)
    for found in workload.misspelled:
        yield problems.KeyMisspelled(
            location=found.location,
            key=found.key,
            instead=found.instead,
            container=found.container,
        )
    yield from unknown_annotations(workload)


def _scale_down_delays(workload: Workload) -> Iterator[Problem]:
    """Yield problems if Argo Rollouts' own delay is too short for a switch of traffic."""
    strategy = workload.update.strategy
    key = "scaleDownDelaySeconds"
    for name in ("blueGreen", "canary"):
        own = strategy.get(name) if isinstance(strategy, dict) else None
        value = own.get(key) if isinstance(own, dict) else None
        if not isinstance(own, dict) or not isinstance(value, int) or isinstance(value, bool):
            continue
        location = workload.object_ref / "spec" / "strategy" / name / key
        if name == "canary" and not own.get("trafficRouting"):
            yield problems.ScaleDownDelayRejected(location=location.key, key=key)
        elif seconds(value) < DEFAULT_PROPAGATION.value:
            yield problems.ScaleDownDelay(
                location=location,
                key=key,
                value=value,
                window=DEFAULT_PROPAGATION.value,
                recommended=facts.SCALE_DOWN_DELAY.value,
            )


def _fields_of_wrong_values(workload: Workload) -> Iterator[Problem]:
    """Fields that the API server does not take where they are written, or reads otherwise."""
    spec, ref = workload.template.spec, workload.spec
    grace = spec.terminationGracePeriodSeconds
    if isinstance(grace, int) and grace < 0:
        yield problems.GraceNegative(location=ref / GRACE_FIELD, key=GRACE_FIELD, value=str(grace))
    for index, container in enumerate(spec.initContainers):
        restart = container.restartPolicy or ""
        sidecar = restart == "Always" or has_placeholder(restart)
        if container.lifecycle is not None and not sidecar:
            location = (ref / "initContainers" / index / "lifecycle").key
            yield problems.InitLifecycle(
                location=location, key=container.name, container=container.name
            )
    for part, containers in (
        ("containers", spec.containers),
        ("initContainers", spec.initContainers),
    ):
        for index, container in enumerate(containers):
            yield from _probe_problems(container, ref / part / index)


def _probe_problems(container: Container, ref: NodeRef) -> Iterator[Problem]:
    for probe in _PROBES:
        grace = read_probe_grace(container, ref, probe)
        if grace is None:
            continue
        kind = problems.ReadinessGrace if probe == "readinessProbe" else problems.ProbeGraceValue
        if kind is problems.ReadinessGrace or grace.value <= ZERO:
            yield kind(
                location=ref / probe / GRACE_FIELD,
                key=probe,
                value=str(int(grace.value.total_seconds())),
                container=container.name,
            )


def _misplaced_fields(workload: Workload) -> Iterator[Problem]:
    """Fields that people write one level off, where the API has no such field and drops them."""
    spec, ref = workload.template.spec, workload.spec
    for index, container in enumerate(spec.containers):
        here, name = ref / "containers" / index, container.name
        if container.terminationGracePeriodSeconds is not None:
            location = (here / GRACE_FIELD).key
            yield problems.GraceMisplaced(location=location, key=GRACE_FIELD, container=name)
        if container.preStop is not None:
            location = (here / "preStop").key
            yield problems.PreStopMisplaced(location=location, key="preStop", container=name)
    if workload.update.terminationGracePeriodSeconds is not None:
        location = (workload.object_ref / "spec" / GRACE_FIELD).key
        yield problems.GraceMisplaced(location=location, key=GRACE_FIELD)


def service_problems(services: Iterable[LoadedResource[Service]]) -> Iterator[Problem]:
    """Yield the Service settings that undo every delay: pods stay in it while they terminate."""
    for service in services:
        model = service.model
        if model.spec.publishNotReadyAddresses is True and not model.headless:
            location = (service.ref / "spec" / "publishNotReadyAddresses").key
            yield problems.ServicePublishesNotReady(
                location=location, key=model.metadata.name or ""
            )
