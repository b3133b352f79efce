"""KServe's objects, as far as they say how pods stop."""

from __future__ import annotations

from typing import Any

from msgspec import field

from shutdownlint.manifests.resources import Resource


class InferenceService(Resource, frozen=True):
    """A model server, with a pod spec for each component."""

    spec: Any = field(default_factory=dict)


class LLMInferenceService(Resource, frozen=True):
    """Pods that serve a language model, and the scheduler that sends requests to them."""

    spec: Any = field(default_factory=dict)
