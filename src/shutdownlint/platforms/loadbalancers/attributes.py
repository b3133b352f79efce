"""Target group attributes of AWS' controller, and what it cannot read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.manifests.decoding import has_placeholder
from shutdownlint.manifests.resources import Ingress, Service
from shutdownlint.numbers import read_whole
from shutdownlint.platforms.annotation_values import read_pair
from shutdownlint.platforms.loadbalancers import facts
from shutdownlint.platforms.loadbalancers.problems import TargetGroupAttributes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.problem import Problem


def attribute_problems(context: AnalysisContext) -> Iterator[Problem]:
    """Target group attributes that AWS' controller cannot read."""
    low, high = facts.DEREGISTRATION_RANGE.value
    kinds: tuple[tuple[type[Service] | type[Ingress], str], ...] = (
        (Service, facts.NLB_ATTRIBUTES),
        (Service, facts.ALB_ATTRIBUTES),
        (Ingress, facts.ALB_ATTRIBUTES),
    )
    for model, annotation in kinds:
        for loaded in context.index.all_of(model):
            text = loaded.model.metadata.annotations.get(annotation)
            # Placeholders of any kind, and commas that are meant: left to others.
            if not text or has_placeholder(text) or "$" in text or "\\" in text:
                continue
            location = loaded.ref / "metadata" / "annotations" / annotation
            for part in text.split(","):
                reason = _why_unreadable(part, low, high)
                if reason:
                    yield TargetGroupAttributes(location=location, key=annotation, reason=reason)


def _why_unreadable(part: str, low: int, high: int) -> str:
    pair = read_pair(part)
    if pair is None:
        return f"'{part.strip()}' is not key=value" if part.strip() else ""
    key, value = pair
    if key != facts.DEREGISTRATION_KEY:
        return ""
    number = read_whole(value)
    if number is not None and low <= number <= high:
        return ""
    return f"{key} must be a whole number of seconds from {low} to {high}, not '{value}'"
