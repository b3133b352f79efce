"""Kyverno policies among the files that change pods."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace
from yaml.nodes import MappingNode

from shutdownlint.manifests.decoding import mappings, value_at
from shutdownlint.platforms.kyverno.resources import KyvernoPolicy
from shutdownlint.platforms.kyverno.strategic_merge import read_patch
from shutdownlint.platforms.mutations import KYVERNO_WEBHOOK, Mutation, strings
from shutdownlint.platforms.shutdown_words import find_shutdown_words
from shutdownlint.yaml_source.errors import BudgetExceededError
from shutdownlint.yaml_source.tree import key_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.object_index import LoadedResource, ObjectIndex, RawObject

#: The other fields of a rule that depend only on the object's kind and place.
_PLAIN_RULE: Final = frozenset(("name", "match", "mutate", "skipBackgroundRequests"))
#: The fields of a policy that do not depend on more.
_PLAIN_SPEC: Final = frozenset(
    (
        "rules",
        "background",
        "failurePolicy",
        "validationFailureAction",
        "webhookTimeoutSeconds",
        "schemaValidation",
    )
)
#: Kyverno's default filters leave these namespaces out.
_UNSURE_IN: Final = frozenset(("kube-system", "kube-public", "kube-node-lease", "kyverno"))
_PLAIN_FILTER: Final = frozenset(("kinds", "namespaces", "operations"))


def read_mutations(index: ObjectIndex) -> list[Mutation]:
    """Return what the policies may change in the shutdown of pods."""
    excepted = set().union(*(index.read(obj, _excepted) for obj in index.raw))
    found = []
    for loaded in index.all_of(KyvernoPolicy):
        mutations = index.read(loaded, _read)
        if loaded.model.metadata.name in excepted:
            mutations = [replace(mutation, patch=None) for mutation in mutations]
        found += mutations
    return found


def _excepted(obj: RawObject) -> set[str]:
    """Return the policies that an exception is about."""
    if obj.entry.kind == "PolicyException":
        with suppress(BudgetExceededError):
            data = obj.ref.document.tree.to_python((*obj.ref.key_path, "spec"))
            return {str(e.get("policyName")) for e in mappings(value_at(data, "exceptions"))}
    return set()


def _read(loaded: LoadedResource[KyvernoPolicy]) -> list[Mutation]:
    return list(_mutations(loaded))


def _mutations(loaded: LoadedResource[KyvernoPolicy]) -> Iterator[Mutation]:
    metadata, tree = loaded.model.metadata, loaded.ref.document.tree
    spec = tree.entry((*loaded.ref.key_path, "spec"))
    body = spec.value if spec is not None else None
    keys = {key_text(key) for key, _ in body.value} if isinstance(body, MappingNode) else set()
    kind = tree.entry((*loaded.ref.key_path, "kind"))
    # A Policy is for its own namespace, which it may not write.
    floating = metadata.namespace is None and kind is not None and kind.value.value == "Policy"
    plain = keys <= _PLAIN_SPEC and not floating
    for number, rule in loaded.model.mutations.items():
        changes = find_shutdown_words(rule["mutate"])
        if not changes:
            continue
        filters = list(_filters(rule.get("match")))
        kinds = {kind.rpartition("/")[2] for each in filters for kind in strings(each.get("kinds"))}
        written = [strings(each.get("namespaces")) for each in filters]
        # A filter without namespaces is about all of them.
        namespaces = tuple(n for each in written for n in each) if all(written) else ()
        if metadata.namespace is not None:
            namespaces = (metadata.namespace,)
        mutate = loaded.ref / "spec" / "rules" / number / "mutate"
        yield Mutation(
            f"policy {metadata.name}",
            loaded.ref.document.file,
            KYVERNO_WEBHOOK,
            frozenset(kinds),
            namespaces,
            changes,
            partial(read_patch, mutate) if plain and _is_plain(rule) else None,
            _UNSURE_IN,
        )


def _is_plain(rule: dict[str, Any]) -> bool:
    """Whether the kind and the namespace alone decide which objects the rule changes."""
    match = rule.get("match")
    if not set(rule) <= _PLAIN_RULE or not isinstance(match, dict) or len(match) != 1:
        return False
    (name, several), filters = next(iter(match.items())), list(_filters(match))
    if name == "all" and len(filters) > 1:
        return False
    if name != "resources" and any(set(each) != {"resources"} for each in mappings(several)):
        return False
    # With several filters, kinds and namespaces belong together.
    same = {(str(each.get("kinds")), str(each.get("namespaces"))) for each in filters}
    return len(same) == 1 and all(
        set(each) <= _PLAIN_FILTER and _on_creation(each.get("operations")) for each in filters
    )


def _on_creation(operations: Any) -> bool:
    return operations is None or "CREATE" in strings(operations)


def _filters(match: Any) -> Iterator[dict[str, Any]]:
    """Yield the resource filters of a rule; those of ``all`` are taken one by one."""
    if not isinstance(match, dict):
        return
    several = [each for name in ("any", "all") for each in mappings(match.get(name))]
    for each in several or [match]:
        resources = each.get("resources")
        if isinstance(resources, dict):
            yield resources
