"""Kyverno policies among the files that change pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint.manifests.decoding import mappings
from shutdownlint.platforms.kyverno.resources import KyvernoPolicy
from shutdownlint.platforms.mutations import Mutation, shutdown_words, strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.manifests.object_index import LoadedResource, ObjectIndex


def read_mutations(index: ObjectIndex) -> list[Mutation]:
    """What the policies may change of pods' shutdown."""
    found = [mutation for loaded in index.all_of(KyvernoPolicy) for mutation in _read(loaded)]
    return list(dict.fromkeys(found))


def _read(loaded: LoadedResource[KyvernoPolicy]) -> Iterator[Mutation]:
    metadata = loaded.model.metadata
    for rule in loaded.model.mutations:
        changes = shutdown_words(rule["mutate"])
        if not changes:
            continue
        filters = list(_filters(rule.get("match")))
        kinds = {kind.rpartition("/")[2] for each in filters for kind in strings(each.get("kinds"))}
        written = [strings(each.get("namespaces")) for each in filters]
        # A filter without namespaces is about all of them.
        namespaces = tuple(n for each in written for n in each) if all(written) else ()
        if metadata.namespace is not None:
            namespaces = (metadata.namespace,)
        title = f"policy {metadata.name}"
        yield Mutation(title, frozenset(kinds), namespaces, changes)


def _filters(match: Any) -> Iterator[dict[str, Any]]:
    """The resource filters of a rule; those of ``all`` are taken one by one."""
    if not isinstance(match, dict):
        return
    several = [each for name in ("any", "all") for each in mappings(match.get(name))]
    for each in several or [match]:
        resources = each.get("resources")
        if isinstance(resources, dict):
            yield resources
