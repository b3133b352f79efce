"""KServe as a platform: the pods of InferenceServices and LLMInferenceServices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint.platforms.kserve import facts
from shutdownlint.platforms.kserve.problems import (
    PROBLEMS,
    SchedulerEndsFirst,
)
from shutdownlint.platforms.kserve.resources import InferenceService, LLMInferenceService
from shutdownlint.platforms.kserve.workloads import (
    DRAIN_FLAG,
    of_inference_service,
    of_llm_service,
    pods_grace,
    scheduler_grace,
)
from shutdownlint.platforms.platform import Platform
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.pod_plan import Assumption, Effect
from shutdownlint.shutdown.process import Phase, Process, WhenFinished
from shutdownlint.shutdown.provenance import OriginKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.pod_draft import PodDraft
    from shutdownlint.platforms.problem import Problem


class Plugin(Platform):
    """KServe."""

    name = "kserve"
    problems = PROBLEMS

    def extra_workloads(self, context: AnalysisContext) -> Iterator[Workload]:
        """Yield the pods that it makes."""
        for service in context.index.all_of(InferenceService):
            yield from of_inference_service(service)
        for llm_service in context.index.all_of(LLMInferenceService):
            yield from of_llm_service(llm_service)

    def context_problems(self, context: AnalysisContext) -> Iterator[Problem]:
        """Schedulers that end before the pods that they send requests to."""
        for loaded in context.index.all_of(LLMInferenceService):
            scheduler, pods = scheduler_grace(loaded), pods_grace(loaded)
            if scheduler is not None and pods is not None and scheduler < pods:
                location = loaded.ref / "spec" / "router" / "scheduler"
                yield SchedulerEndsFirst(
                    location=location.key, grace=seconds(scheduler), pods=seconds(pods)
                )

    def contribute(self, draft: PodDraft) -> None:
        """Apply the presets of an LLMInferenceService."""
        workload = draft.workload
        if workload.group != facts.GROUP or workload.incomplete is not None:
            return
        if workload.id.kind != LLMInferenceService.__name__:
            return
        text = (
            "the presets of KServe 0.19 or later are assumed where nothing is written: a preStop "
            f"sleep of {facts.PRESET_SLEEP.value}s, and vLLM; configurations that baseRefs names "
            "are not applied"
        )
        remedy = "with 0.18 there is no hook, and the default of the grace period is 30s"
        draft.assumptions.append(Assumption(text, remedy))
        main = draft.containers[0]
        arguments = workload.template.spec.containers[0].args
        if arguments and arguments[-1].startswith(f"{DRAIN_FLAG}="):
            # The preset computes the limit from the grace period, so it never needs a longer one.
            main.knobs = [k for k in main.knobs if k.effect is not Effect.FINISH_LIMIT]
            if arguments[-1] != f"{DRAIN_FLAG}=0":
                main.usual_request = None  # the preset's limit is taken as their length
            main.process = Process(tuple(_with_preset_limit(p) for p in main.process.phases))


def _with_preset_limit(phase: Phase) -> Phase:
    """Return the same phase, with a limit that is the preset's and not written."""
    ending = phase.ending
    if not isinstance(ending, WhenFinished) or ending.limit is None:
        return phase
    origin = replace(ending.limit.origin, kind=OriginKind.DEFAULT, label="KServe's preset")
    return replace(phase, ending=WhenFinished(replace(ending.limit, origin=origin)))
