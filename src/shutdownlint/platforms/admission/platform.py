"""Admission control as a platform: what policies and webhooks set is not applied, but named.

Sources: Kubernetes' API reference (admissionregistration.k8s.io), Gatekeeper's documentation of
mutation, Kyverno's of MutatingPolicy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint.manifests.decoding import mappings, value_at
from shutdownlint.platforms.mutations import Mutation, shutdown_words, strings
from shutdownlint.platforms.platform import Platform
from shutdownlint.platforms.registry import mesh_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.object_index import ObjectIndex, RawObject
    from shutdownlint.platforms.pod_draft import PodDraft

_WEBHOOK = "MutatingWebhookConfiguration"
_GATEKEEPER = ("Assign", "ModifySet")
_KINDS = (_WEBHOOK, "MutatingAdmissionPolicy", "MutatingPolicy", *_GATEKEEPER)
_RESOURCE_KINDS = {
    "pods": "Pod",
    "deployments": "Deployment",
    "statefulsets": "StatefulSet",
    "daemonsets": "DaemonSet",
    "*": "*",
    "*/*": "*",
}


class Plugin(Platform):
    """Policies and webhooks."""

    name = "admission"

    def contribute(self, draft: PodDraft) -> None:
        """Name what may change the pods."""
        for mutation in draft.context.read_once(read_mutations):
            if mutation.may_change(draft.workload):
                draft.assumptions.append(mutation.assumption())


def read_mutations(index: ObjectIndex) -> list[Mutation]:
    """The policies and webhooks among the files that may change pods."""
    found = [mutation for obj in index.raw for mutation in _read(obj)]
    return list(dict.fromkeys(found))


def _read(obj: RawObject) -> Iterator[Mutation]:
    kind = obj.entry.kind
    if kind not in _KINDS:
        return
    data = obj.ref.document.tree.to_python(obj.ref.key_path)
    if not isinstance(data, dict):
        return
    name = str(value_at(data, "metadata", "name") or "")
    title = f"{kind} {name}"
    if kind == _WEBHOOK:
        # What the injectors of meshes do, their platforms know.
        if not any(mesh in name for mesh in mesh_names()) and _rules_about_pods(data):
            yield Mutation(title)
        return
    changes = shutdown_words(data.get("spec"))
    if not changes:
        return
    if kind in _GATEKEEPER:
        applied = value_at(data, "spec", "applyTo")
        kinds = [found for each in mappings(applied) for found in strings(each.get("kinds"))]
        namespaces = tuple(strings(value_at(data, "spec", "match", "namespaces")))
        yield Mutation(title, frozenset(kinds), namespaces, changes)
        return
    rules = value_at(data, "spec", "matchConstraints", "resourceRules")
    yield Mutation(title, frozenset(_kinds_of(rules)), (), changes)


def _rules_about_pods(data: dict[str, Any]) -> bool:
    return any(
        {"Pod", "*"} & set(_kinds_of(webhook.get("rules")))
        for webhook in mappings(data.get("webhooks"))
    )


def _kinds_of(rules: Any) -> Iterator[str]:
    """The kinds that rules of the admission API name, as far as they have pods."""
    for rule in mappings(rules):
        for resource in strings(rule.get("resources")):
            yield _RESOURCE_KINDS.get(resource, resource)
