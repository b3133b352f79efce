"""Alternatives: other cases that fit what the input shows, so that no answer hides them."""

from __future__ import annotations

import glob
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.platforms.user_facts import AppFacts, MeshFact

if TYPE_CHECKING:
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.platforms.user_facts import UserFacts
    from shutdownlint.platforms.versions import Version


class Alternative(Struct, frozen=True):
    """A case besides the likely one: ``when`` it is, how to settle it, and what it means."""

    when: str
    how_to_say: str
    facts: UserFacts


def in_mesh(
    facts: UserFacts, mesh: str, namespace: str | None, version: Version | None = None
) -> UserFacts:
    """Return the facts of a user who puts a namespace into a mesh (or into ``NO_MESH``)."""
    pattern = glob.escape(namespace or "default")
    return replace(facts, meshes=(MeshFact(mesh, version, pattern), *facts.meshes))


def with_versions(facts: UserFacts, **versions: Version) -> UserFacts:
    """Return the facts of a user who names these versions."""
    meshes = tuple(
        replace(fact, version=versions.get(fact.mesh, fact.version)) for fact in facts.meshes
    )
    return replace(facts, versions={**facts.versions, **versions}, meshes=meshes)


def with_behaviour(
    facts: UserFacts, workload: ObjectId, container: str, behaviour: str
) -> UserFacts:
    """Return the facts of a user who says what a container's app does at its stop signal."""
    names = (workload.kind, workload.namespace or "default", workload.name)
    match = "/".join(map(glob.escape, names))
    app = AppFacts(match, behaviour=behaviour, container=container)
    return replace(facts, apps=(app, *facts.apps))
