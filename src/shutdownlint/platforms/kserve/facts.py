"""The way KServe completes its objects, with sources (kserve at aaac4e29, tags to 0.20.0)."""

from __future__ import annotations

from typing import Final

from shutdownlint.platforms.facts import SourcedValue
from shutdownlint.platforms.versions import Version

GROUP: Final = "serving.kserve.io"
#: The annotation with which an InferenceService says who runs its pods.
DEPLOYMENT_MODE: Final = "serving.kserve.io/deploymentMode"
#: Its values for a plain Deployment; with others Knative decides how pods stop.
STANDARD_MODES: Final = SourcedValue(
    ("RawDeployment", "Standard"), "kserve pkg/constants (deployment modes)"
)
#: The components of an InferenceService; each is a pod spec.
COMPONENTS: Final = ("predictor", "transformer", "explainer")
#: The container of a model whose runtime is an object of its own.
MODEL_CONTAINER: Final = "kserve-container"
#: The grace period, in seconds, that the presets of an LLMInferenceService set.
PRESET_GRACE: Final = SourcedValue(
    60, "kserve config/llmisvcconfig at tags 0.19 and 0.20 (30 s before 0.19)"
)
#: The preStop sleep of the presets, in seconds.
PRESET_SLEEP: Final = SourcedValue(
    15, "kserve config/llmisvcconfig/config-llm-template.yaml, config-llm-scheduler.yaml:31"
)
#: The seconds that the presets leave for vLLM's own end.
PRESET_RESERVE: Final = SourcedValue(5, "kserve pkg/.../llmisvc/config_merge.go:766-788")
#: The release of vLLM from which the presets pass the flag.
DRAINS_SINCE: Final = SourcedValue(
    Version.parse("0.18.0"), "kserve config/llmisvcconfig/config-llm-template.yaml:152"
)
#: The image whose tags are vLLM's releases.
VLLM_IMAGE: Final = "vllm/vllm-openai"
#: The container that serves the model.
MAIN_CONTAINER: Final = "main"
