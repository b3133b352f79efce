"""Admission control as a platform: policies and webhooks that change pods.

What a policy writes down is applied; what it computes, and what webhooks do, is named. Sources:
Kubernetes' API reference (admissionregistration.k8s.io), Gatekeeper's documentation of mutation,
Kyverno's of MutatingPolicy.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from shutdownlint.manifests.decoding import mappings, value_at
from shutdownlint.platforms.admission.patches import apply_configurations, assign
from shutdownlint.platforms.mutations import KYVERNO_WEBHOOK, Mutation, strings
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.registry import mesh_names
from shutdownlint.platforms.shutdown_words import find_shutdown_words
from shutdownlint.yaml_source.errors import BudgetExceededError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.object_index import ObjectIndex, RawObject
    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.mutations import Patch

_WEBHOOK: Final = "MutatingWebhookConfiguration"
_POLICY: Final = "MutatingAdmissionPolicy"
_BINDING: Final = "MutatingAdmissionPolicyBinding"
_GATEKEEPER: Final = ("Assign", "AssignMetadata", "ModifySet")
#: The webhook configurations that apply policies; the API server applies its own policies before.
_APPLIED_BY: Final = {
    _POLICY: "",
    "MutatingPolicy": KYVERNO_WEBHOOK,
    **dict.fromkeys(_GATEKEEPER, "gatekeeper-mutating-webhook-configuration"),
}
#: The fields that a policy may use to select objects without depending on more.
_PLAIN_MATCH: Final = frozenset(("scope", "kinds", "namespaces", "source"))
_PLAIN_CONSTRAINTS: Final = frozenset(("resourceRules", "matchPolicy"))
_RESOURCE_KINDS: Final = {
    "pods": "Pod",
    "deployments": "Deployment",
    "statefulsets": "StatefulSet",
    "daemonsets": "DaemonSet",
    "replicasets": "ReplicaSet",
    "jobs": "Job",
    "cronjobs": "CronJob",
    "rollouts": "Rollout",
    "*": "*",
    "*/*": "*",
}


class Plugin(Platform):
    """Policies and webhooks."""

    name = "admission"

    def mutations(self, context: AnalysisContext) -> list[Mutation]:
        """Return the policies and webhooks that change pods."""
        return context.read_once(read_mutations)


def read_mutations(index: ObjectIndex) -> list[Mutation]:
    """Return the policies and webhooks among the files that may change pods."""
    found: list[Mutation] = []
    bound = _bound_policies(index)
    for obj in index.raw:
        if obj.entry.kind == _WEBHOOK or obj.entry.kind in _APPLIED_BY:
            mutations = index.read(obj, _read)
            if obj.entry.kind == _POLICY:
                mutations = [m if m.title in bound else replace(m, patch=None) for m in mutations]
            found += mutations
    return found


def _read(obj: RawObject) -> list[Mutation]:
    try:
        return list(_mutations(obj))
    except Exception:
        return [Mutation(f"{obj.entry.kind} that cannot be read", obj.ref.document.file)]


def _mutations(obj: RawObject) -> Iterator[Mutation]:
    kind = obj.entry.kind
    data = obj.ref.document.tree.to_python(obj.ref.key_path)
    if not isinstance(data, dict):
        return
    name = str(value_at(data, "metadata", "name") or "")
    title, file = f"{kind} {name}", obj.ref.document.file
    if kind == _WEBHOOK:
        # What the injectors of meshes do, their platforms know.
        if not any(mesh in name for mesh in mesh_names()) and _rules_about_pods(data):
            yield Mutation(title, file)
        return
    changes = find_shutdown_words(data.get("spec"))
    if not changes:
        return
    webhook = _APPLIED_BY[kind]
    if kind in _GATEKEEPER:
        applied = value_at(data, "spec", "applyTo")
        kinds = {found for each in mappings(applied) for found in strings(each.get("kinds"))}
        if kind == "AssignMetadata":
            matched = mappings(value_at(data, "spec", "match", "kinds"))
            kinds = {found for each in matched for found in strings(each.get("kinds"))}
        namespaces = tuple(strings(value_at(data, "spec", "match", "namespaces")))
        patch = _gatekeeper_patch(obj, data)
        yield Mutation(title, file, webhook, frozenset(kinds), namespaces, changes, patch)
        return
    constraints = value_at(data, "spec", "matchConstraints")
    rules = constraints.get("resourceRules") if isinstance(constraints, dict) else None
    plain = isinstance(constraints, dict) and set(constraints) <= _PLAIN_CONSTRAINTS
    plain = plain and not any(value_at(data, "spec", key) for key in _CONDITIONS)
    if not any(_is_on_creation(rule) for rule in mappings(rules)):
        return
    plain = plain and len(mappings(rules)) == 1 and _is_plain_rule(mappings(rules)[0])
    patch = partial(apply_configurations, obj.ref) if plain else None
    yield Mutation(title, file, webhook, frozenset(_kinds_of(rules)), (), changes, patch)


_CONDITIONS: Final = (
    "matchConditions",
    "variables",
    "paramKind",
    "targetMatchConstraints",
    "evaluation",
    "autogen",
)
_PLAIN_RULE: Final = frozenset(("apiGroups", "apiVersions", "operations", "resources", "scope"))
#: The API groups of the resources that are read.
_GROUPS: Final = {"pods": "", "jobs": "batch", "cronjobs": "batch", "*": "", "*/*": ""}


def _is_on_creation(rule: dict[str, Any]) -> bool:
    operations = rule.get("operations")
    return operations is None or bool({"CREATE", "*"} & set(strings(operations)))


def _is_plain_rule(rule: dict[str, Any]) -> bool:
    """Whether the resource alone decides which objects a rule is for."""
    groups, resources = set(strings(rule.get("apiGroups"))), list(strings(rule.get("resources")))
    grouped = all({"*", _GROUPS.get(each, "apps")} & groups for each in resources)
    scope = rule.get("scope") in (None, "*", "Namespaced")
    return set(rule) <= _PLAIN_RULE and grouped and scope and len(resources) == 1


def _gatekeeper_patch(obj: RawObject, data: dict[str, Any]) -> Patch | None:
    """Return what a mutator writes; None if that, or its objects, cannot be known from the file."""
    match = value_at(data, "spec", "match")
    match = {} if match is None else match
    if obj.entry.kind == "ModifySet" or not isinstance(match, dict):
        return None
    if not set(match) <= _PLAIN_MATCH or not isinstance(data.get("spec"), dict):
        return None
    scope = match.get("scope") in (None, "*", "Namespaced")
    source = match.get("source") in (None, "All", "Original")
    if not scope or not source or ("kinds" in match and not _matches_pods(match["kinds"])):
        return None
    return partial(assign, obj.ref, only_missing=obj.entry.kind == "AssignMetadata")


def _matches_pods(kinds: Any) -> bool:
    return any(
        {"", "*"} & set(strings(each.get("apiGroups")))
        and {"Pod", "*"} & set(strings(each.get("kinds")))
        for each in mappings(kinds)
    )


def _bound_policies(index: ObjectIndex) -> set[str]:
    """Return the titles of the policies that bindings among the files put into force everywhere."""
    bound: dict[str, bool] = {}
    for obj in index.raw:
        if obj.entry.kind == _BINDING:
            spec = index.read(obj, _read_spec)
            if isinstance(spec, dict):
                bound.setdefault(f"{_POLICY} {spec.get('policyName')}", set(spec) <= {"policyName"})
    return {title for title, everywhere in bound.items() if everywhere}


def _read_spec(obj: RawObject) -> Any:
    try:
        return value_at(obj.ref.document.tree.to_python(obj.ref.key_path), "spec")
    except BudgetExceededError:
        return None


def _rules_about_pods(data: dict[str, Any]) -> bool:
    return any(
        {"Pod", "*"} & set(_kinds_of(webhook.get("rules")))
        for webhook in mappings(data.get("webhooks"))
    )


def _kinds_of(rules: Any) -> Iterator[str]:
    """Yield the kinds that rules of the admission API name, as far as they have pods."""
    for rule in mappings(rules):
        for resource in strings(rule.get("resources")):
            yield _RESOURCE_KINDS.get(resource, resource)
