"""The user's configuration of the environment: versions, meshes, apps.

Every run imports this module, so it imports nothing that is slow to import.
"""

from __future__ import annotations

from enum import StrEnum
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from shutdownlint.shutdown.durations import position_of_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import timedelta

    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.platforms.versions import Version
    from shutdownlint.programs.images import ImageConfigs
    from shutdownlint.programs.known import KnownPrograms

#: The parts of the help that options of facts are in.
ENVIRONMENT: Final = "What is known"
REQUESTS: Final = "Requests"
#: The start of this tool's own annotations.
OWN_PREFIX: Final = "shutdownlint.dev/"
#: Written instead of a mesh's name: pods are in none.
NO_MESH = "none"


class FactType(StrEnum):
    """The types of facts. Durations are written with a unit, such as 10s."""

    DURATION = "duration"
    AMOUNT = "number"
    FLAG = "true or false"
    CHOICE = "one of several words"


class UserFact(Struct, frozen=True):
    """A fact that users may state of apps.

    The key of ``[[workloads]]`` is ``key`` with the text ``description``. The others are optional:
    ``option`` is the help of an option in the part ``panel`` of the help, ``everywhere`` the text
    of a key for all workloads with its ``example``, ``annotated`` allows an annotation of the
    workload, and ``field`` is the documentation of a field of rules. ``values`` are those of a
    choice. The strongest statement counts: the annotation, the option, the configuration (the first
    entry that matches), a measurement.
    """

    name: str
    type: FactType
    description: str
    key: str = ""
    option: str = ""
    panel: str = ENVIRONMENT
    everywhere: str = ""
    example: str = ""
    annotated: bool = False
    field: str = ""
    values: tuple[str, ...] = ()

    @property
    def config_key(self) -> str:
        """The name of its key, as Python writes it."""
        return self.key or self.name

    @property
    def annotation(self) -> str:
        """The annotation of a workload or its pods that states it."""
        return f"{OWN_PREFIX}{self.written}"

    @property
    def written(self) -> str:
        """The name as users write it in options and annotations."""
        return self.name.replace("_", "-")

    @property
    def rule_field(self) -> str:
        """The name of its field of rules."""
        first, *words = self.name.split("_")
        return first + "".join(map(str.capitalize, words))


#: Each is a field of ``AppFacts`` as well.
USER_FACTS: Final = (
    UserFact(
        "p99",
        FactType.DURATION,
        "How long a request takes at most: '10s'.",
        option="How long the slowest ordinary requests take (the 99th percentile), such as 10s. "
        "Default: not known, and rules that need it are not evaluated.",
        everywhere="How long a request takes at most, of all workloads: '10s'.",
        example="10s",
        annotated=True,
        field="how long its slowest ordinary requests take; absent unless given",
    ),
    UserFact(
        "longest_job",
        FactType.DURATION,
        "How long the longest job of a queue worker takes: '5m'.",
        option="How long the longest job of a queue worker takes, such as 5m: of all workloads "
        "that get no requests and do not end by themselves.",
        everywhere="How long the longest job takes of workloads that get no requests: '5m'.",
        example="5m",
        annotated=True,
        field="how long the longest job of a queue worker takes; absent unless given",
    ),
    UserFact(
        "drain",
        FactType.DURATION,
        "How long the app still accepts after its stop signal.",
    ),
    UserFact(
        "propagation",
        FactType.DURATION,
        "How long Services go on sending it new requests after termination starts.",
        option="How long Services go on sending new requests to a pod after its termination "
        "starts, such as 3s; a load balancer may go on for longer. Default: 5s, as an assumption.",
        everywhere="How long Services go on sending new requests to a pod after its termination "
        "starts: '5s'.",
        example="5s",
    ),
    UserFact(
        "rate",
        FactType.AMOUNT,
        "How many requests a second it gets, in all its pods.",
        option="How many requests a second each workload gets; with it the lost requests are "
        "counted.",
        panel=REQUESTS,
    ),
    UserFact(
        "rollouts",
        FactType.AMOUNT,
        "How many rollouts it has in a week.",
        option="How many rollouts a week each workload has, to count what is lost in a week.",
        panel=REQUESTS,
    ),
    UserFact(
        "behaviour",
        FactType.CHOICE,
        "What the app does at its stop signal.",
        key="app",
        values=("graceful", "abrupt", "ignoring", "lingering"),
    ),
    UserFact(
        "waits_for_calls",
        FactType.FLAG,
        "Whether the app finishes its own calls to others before it ends.",
    ),
)


class AppFacts(Struct, frozen=True):
    """The user's statements about the apps whose workload matches ``Kind/namespace/name``.

    ``behaviour`` is ``graceful``, ``abrupt`` or ``ignoring``. ``waits_for_calls``: it finishes its
    own calls before it ends. ``source_label`` is how messages name its source.
    """

    match: str
    p99: timedelta | None = None
    drain: timedelta | None = None
    behaviour: str | None = None
    source_label: str = "the configuration"
    #: Of which container; None: of all of them.
    container: str | None = None
    #: The number of requests a second that the workload gets, and of rollouts a week.
    rate: float | None = None
    rollouts: float | None = None
    #: The time of the longest job of a worker.
    longest_job: timedelta | None = None
    waits_for_calls: bool | None = None
    #: The time that Services go on sending new requests after termination starts.
    propagation: timedelta | None = None
    #: Whether ``propagation`` is about pods that a Service of the files sends to, and no others.
    of_services: bool = False
    #: Whether ``p99`` is only a lower bound: the measurement ends there.
    p99_at_least: bool = False
    #: The share of the requests that takes at most each duration, ascending.
    shares: tuple[tuple[timedelta, float], ...] = ()

    def duration_of(self, share: float) -> timedelta | None:
        """Return the longest time of requests of that share; None if longer ones were measured."""
        place = position_of_share(self.shares, share)
        return self.shares[place][0] if place < len(self.shares) else None

    def matches(self, workload: ObjectId) -> bool:
        """Whether this is about that workload; a pattern may leave out kind and namespace."""
        parts = self.match.split("/")
        names = (workload.kind, workload.namespace or "default", workload.name)
        return all(
            fnmatchcase(name, pattern)
            for name, pattern in zip(reversed(names), reversed(parts), strict=False)
        )


def pattern_of(workload: ObjectId) -> str:
    """Return the whole pattern of one workload: ``Kind/namespace/name``."""
    return "/".join((workload.kind, workload.namespace or "default", workload.name))


class MeshFact(Struct, frozen=True):
    """The user's statement about the mesh of a namespace.

    ``mesh`` is a platform's name, or ``NO_MESH``. Without a ``namespace`` pattern it is about every
    namespace that the files do not show.
    """

    mesh: str
    version: Version | None = None
    namespace: str | None = None
    source_label: str = "--mesh"

    def covers(self, namespace: str | None) -> bool:
        """Whether it is about that namespace."""
        return self.namespace is None or fnmatchcase(namespace or "default", self.namespace)


class UserFacts(Struct, frozen=True):
    """Versions by platform, meshes and apps; of several statements the first one counts.

    ``suppressions`` are those of the configuration. ``namespace`` is that of manifests without one.
    """

    versions: Mapping[str, Version] = field(default_factory=dict)
    meshes: Sequence[MeshFact] = ()
    apps: Sequence[AppFacts] = ()
    suppressions: Sequence[Suppression] = ()
    namespace: str | None = None
    #: The label or annotation that names a workload's team.
    owner_label: str = ""
    #: The records of programs with the user's own; None: the bundled ones.
    programs: KnownPrograms | None = None
    #: The configurations of images; None: none is known.
    images: ImageConfigs | None = None

    def version_of(self, platform: str, namespace: str | None = None) -> Version | None:
        """Return the version that the user says a platform has, for pods of that namespace."""
        for fact in self.meshes:
            if fact.mesh == platform and fact.version is not None and fact.covers(namespace):
                return fact.version
        return self.versions.get(platform)

    def mesh_of(self, namespace: str | None) -> str | None:
        """Return the mesh that the user puts a namespace is in; None where that is not configured.

        A statement about the namespace counts before one about all of them. Two of the same rank
        that name different meshes only say versions.
        """
        covering = [fact for fact in self.meshes if fact.covers(namespace)]
        specific = [fact.mesh for fact in covering if fact.namespace is not None]
        if specific:
            return specific[0]
        general = {fact.mesh for fact in covering}
        return general.pop() if len(general) == 1 else None

    def apps_for(self, workload: ObjectId) -> Iterator[AppFacts]:
        """Return the user's statements about a workload's app, the strongest first."""
        return (facts for facts in self.apps if facts.matches(workload))

    def states_of(self, workload: ObjectId, name: str) -> bool:
        """Whether the user states this fact of that workload, and not only of all of them."""
        apps = (app for app in self.apps_for(workload) if app.match.strip("*/"))
        return any(getattr(app, name) is not None for app in apps)


def parse_mesh(text: str, names: Sequence[str], namespace: str | None = None) -> MeshFact:
    """Read ``linkerd``, ``linkerd=2.18`` or ``none``. Raises ``ValueError``."""
    name, equals, version = text.partition("=")
    if name == NO_MESH and not equals:
        return MeshFact(NO_MESH, None, namespace)
    if name not in names:
        known = ", ".join((*names, NO_MESH))
        raise ValueError(f"{name!r} is not a mesh that shutdownlint knows ({known})")
    from shutdownlint.platforms.versions import Version  # noqa: PLC0415 - seldom needed

    return MeshFact(name, Version.parse(version) if equals else None, namespace)
