"""The pods that KServe makes, as if they were written.

Sources: kserve deployment_reconciler.go:283 (30 s where no grace period is written),
config/llmisvcconfig (presets), llmisvc/config_merge.go:766-788 (what the presets compute).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from shutdownlint.manifests.decoding import Placeholder, decode, value_at
from shutdownlint.manifests.object_id import ObjectId
from shutdownlint.manifests.resources import (
    Container,
    Lifecycle,
    LifecycleHandler,
    Metadata,
    PodSpec,
    PodTemplate,
    SleepAction,
)
from shutdownlint.manifests.skips import SkipReason
from shutdownlint.manifests.workloads import Workload
from shutdownlint.platforms.kserve import facts
from shutdownlint.platforms.pods.hooks import MAX_SECONDS
from shutdownlint.platforms.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.platforms.kserve.resources import InferenceService, LLMInferenceService
    from shutdownlint.yaml_source.location import KeyPath

_KNATIVE_MODE: Final = SkipReason(
    "kserve-knative", "InferenceServices in Knative's mode (Knative sets their shutdown itself)"
)
#: vLLM's flag that the presets add.
DRAIN_FLAG: Final = "--shutdown-timeout"
_MODE_UNKNOWN: Final = SkipReason(
    "kserve-mode",
    "InferenceServices whose pods Knative may make",
    f"name the mode with the annotation {facts.DEPLOYMENT_MODE}",
)


def of_inference_service(loaded: LoadedResource[InferenceService]) -> Iterator[Workload]:
    """Yield the pods of each component, where a Deployment and not Knative makes them."""
    mode = loaded.model.metadata.annotations.get(facts.DEPLOYMENT_MODE)
    for component in facts.COMPONENTS:
        data = value_at(loaded.model.spec, component)
        if not isinstance(data, dict):
            continue
        spec, _ = decode(PodSpec, data)
        if not spec.containers and isinstance(data.get("model"), dict):
            model, _ = decode(Container, data["model"])
            spec = replace(spec, containers=[replace(model, name=facts.MODEL_CONTAINER)])
        workload = _workload(loaded, component, ("spec", component), spec, data)
        # Knative takes neither of these from an InferenceService.
        by_hand = spec.terminationGracePeriodSeconds is not None or any(
            container.lifecycle is not None for container in spec.containers
        )
        reason = _MODE_UNKNOWN if mode is None else _KNATIVE_MODE
        standard = mode in facts.STANDARD_MODES.value or (mode is None and by_hand)
        yield workload if standard else replace(workload, incomplete=reason)


def of_llm_service(loaded: LoadedResource[LLMInferenceService]) -> Iterator[Workload]:
    """Yield the pods that serve the model, and those of the prefill."""
    for suffix, path in (("", ("spec", "template")), ("-prefill", ("spec", "prefill", "template"))):
        above = value_at(loaded.model.spec, *path[1:-1])
        if isinstance(above, dict) and (not suffix or above):
            spec, _ = decode(PodSpec, above.get("template"))
            yield replace(
                _workload(loaded, suffix.removeprefix("-"), path, _with_presets(spec), {}),
                default_grace=(facts.PRESET_GRACE.value, "the default of KServe's presets"),
            )


def scheduler_grace(loaded: LoadedResource[LLMInferenceService]) -> int | None:
    """Return the grace period of the object's own scheduler, in seconds; None without one."""
    scheduler = value_at(loaded.model.spec, "router", "scheduler")
    if not isinstance(scheduler, dict) or _has_other_presets(loaded):
        return None
    pool = scheduler.get("pool")
    if isinstance(pool, dict) and pool.get("ref"):
        return None  # the scheduler of another object
    spec, _ = decode(PodSpec, scheduler.get("template"))
    return _seconds(spec)


def pods_grace(loaded: LoadedResource[LLMInferenceService]) -> int | None:
    """Return the longest grace period of the serving pods, in seconds; None if one is not known."""
    found = []
    for path in (("template",), ("prefill", "template")):
        if len(path) == 1 or isinstance(value_at(loaded.model.spec, *path[:-1]), dict):
            spec, _ = decode(PodSpec, value_at(loaded.model.spec, *path))
            found.append(_seconds(spec))
    return None if None in found else max(each for each in found if each is not None)


def _has_other_presets(loaded: LoadedResource[LLMInferenceService]) -> bool:
    """Whether it names configurations of its own, which may set anything."""
    return bool(value_at(loaded.model.spec, "baseRefs"))


def _seconds(spec: PodSpec) -> int | None:
    grace = spec.terminationGracePeriodSeconds
    if isinstance(grace, Placeholder):
        return None
    return facts.PRESET_GRACE.value if grace is None else max(0, min(grace, MAX_SECONDS))


def _drain_seconds(spec: PodSpec) -> int | None:
    """Return the ``--shutdown-timeout`` that the preset computes, in seconds."""
    grace = _seconds(spec)
    if grace is None:
        return None
    return max(0, grace - facts.PRESET_SLEEP.value - min(facts.PRESET_RESERVE.value, grace))


def _with_presets(spec: PodSpec) -> PodSpec:
    """Return the pod spec with what KServe's presets add to the container that serves."""
    named = [c for c in spec.containers if c.name == facts.MAIN_CONTAINER]
    main = named[0] if named else Container(name=facts.MAIN_CONTAINER)
    lifecycle = main.lifecycle or Lifecycle()
    if lifecycle.preStop is None:
        hook = LifecycleHandler(sleep=SleepAction(seconds=facts.PRESET_SLEEP.value))
        main = replace(main, lifecycle=replace(lifecycle, preStop=hook))
    image, _, tag = (main.image or "").rpartition(":")
    version = Version.find(tag) if image.endswith(facts.VLLM_IMAGE) else None
    if not main.command:
        drain = (
            None
            if version is not None and version < facts.DRAINS_SINCE.value
            else _drain_seconds(spec)
        )
        written = any(word.startswith("--shutdown") for word in main.args)
        added = [] if written or drain is None else [f"{DRAIN_FLAG}={drain}"]
        main = replace(main, command=["vllm", "serve"], args=[*main.args, *added])
    others = [c for c in spec.containers if c.name != facts.MAIN_CONTAINER]
    return replace(spec, containers=[main, *others])


def _workload(
    loaded: LoadedResource[Any], suffix: str, path: KeyPath, spec: PodSpec, own: dict[str, Any]
) -> Workload:
    model, ref = loaded.model, loaded.ref
    metadata, _ = decode(Metadata, own)
    name = "-".join(part for part in (model.metadata.name or "", suffix) if part)
    return Workload(
        id=ObjectId(type(model).__name__, name, model.metadata.namespace),
        group=facts.GROUP,
        ref=ref,
        object_ref=ref,
        owner=model.metadata,
        template=PodTemplate(
            metadata=Metadata(
                namespace=model.metadata.namespace,
                labels={**model.metadata.labels, **metadata.labels},
                annotations={**model.metadata.annotations, **metadata.annotations},
            ),
            spec=spec,
        ),
        annotations_at=ref / "metadata" / "annotations",
        spec_at=ref.below(*path),
    )
