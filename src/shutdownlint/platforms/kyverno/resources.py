"""Kyverno policies, and their rules about the grace period."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msgspec import field

from shutdownlint.manifests.decoding import ApiModel, Str
from shutdownlint.manifests.resources import Resource


class KyvernoSpec(ApiModel, frozen=True):
    """A Kyverno policy's rules, as written."""

    validationFailureAction: Str | None = None  # noqa: N815
    rules: Any = None


class KyvernoPolicy(Resource, frozen=True, dict=True):
    """kyverno.io ClusterPolicy, or a namespace's Policy."""

    @cached_property
    def patterns(self) -> dict[int, dict[str, Any]]:
        """The rules whose pattern is about the grace period, by their number."""
        rules = self.spec.rules if isinstance(self.spec.rules, list) else []
        found = {}
        for number, rule in enumerate(rules):
            validate = rule.get("validate") if isinstance(rule, dict) else None
            pattern = validate.get("pattern") if isinstance(validate, dict) else None
            if isinstance(pattern, dict) and "terminationGracePeriodSeconds" in str(pattern):
                found[number] = rule
        return found

    @cached_property
    def mutations(self) -> dict[int, dict[str, Any]]:
        """The rules that change objects, by their number."""
        rules = self.spec.rules if isinstance(self.spec.rules, list) else []
        return {
            number: rule
            for number, rule in enumerate(rules)
            if isinstance(rule, dict) and rule.get("mutate")
        }

    spec: KyvernoSpec = field(default_factory=KyvernoSpec)
