"""What the user said. Imported by every run, so it imports nothing that is slow to import."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.manifests.workloads import ObjectId
    from shutdownlint.platforms.versions import Version
    from shutdownlint.shutdown import Behaviour


class AppFacts(Struct, frozen=True):
    """What the user says of the apps whose workload matches ``Kind/namespace/name``."""

    match: str
    p99: timedelta | None = None
    drain: timedelta | None = None
    behaviour: Behaviour | None = None
    told: str = "the configuration"

    def matches(self, workload: ObjectId) -> bool:
        """Whether this is said of that workload; a pattern may leave out kind and namespace."""
        parts = self.match.split("/")
        names = (workload.kind, workload.namespace or "default", workload.name)
        return all(
            fnmatchcase(name, pattern)
            for name, pattern in zip(reversed(names), reversed(parts), strict=False)
        )


class UserFacts(Struct, frozen=True):
    """What the user said: versions, and facts about apps, the strongest first."""

    kubernetes: Version | None = None
    istio: Version | None = None
    apps: Sequence[AppFacts] = ()
    #: What the configuration says is to be ignored.
    ignores: Sequence[Suppression] = ()
