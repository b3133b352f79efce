"""The plan of a pod: everything that bears on its shutdown, as settings and processes."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.shutdown.durations import UNBOUNDED, ZERO, DurationRange
from shutdownlint.shutdown.provenance import OriginKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.shutdown.process import Hook, Process, Wrapper
    from shutdownlint.shutdown.provenance import Setting

#: The end of the name of a setting of which only the bounds are known, and one of them is taken.
TAKEN_AS: Final = ", taken as"
#: The rule field of the grace period.
GRACE_FIELD: Final = "grace"
#: The same for the time that a load balancer lets connections finish.
DEREGISTRATION_FIELD: Final = "deregistrationDelay"


class Confidence(StrEnum):
    """The confidence in a finding, given what the input does not show."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Assumption(Struct, frozen=True):
    """Something that the input does not show, what is taken instead, and the option to set.

    ``confidence`` is that of a finding which rests on it. ``about_versions`` names the systems
    whose versions decide it. ``program`` is the image whose program it is about, ``webhook`` what
    changes the pods and is not applied.
    """

    text: str
    remedy: str = ""
    confidence: Confidence = Confidence.MEDIUM
    about_versions: tuple[str, ...] = ()
    program: str = ""
    webhook: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.remedy})" if self.remedy else self.text


class Role(StrEnum):
    """The role of a container for the requests of a pod."""

    APP = "app"
    #: In front of the app, behind it, or both.
    PROXY = "proxy"
    #: The pod is the proxy: requests end here, as far as this pod is concerned.
    EDGE = "edge"
    #: The app's calls go through it (a database proxy), or it only runs beside the app.
    HELPER = "helper"
    #: A member of another pod of the same group, which requests need as well.
    MEMBER = "member"


class Effect(StrEnum):
    """The effect of raising a knob."""

    GRACE_PERIOD = "grace-period"
    #: The container gets its stop signal later.
    DELAYS_SIGNAL = "delays-signal"
    #: It accepts new connections for longer.
    KEEPS_ACCEPTING = "keeps-accepting"
    #: It stays at least that long before it may leave when idle.
    MINIMUM_LIFE = "minimum-life"
    #: It lives exactly that long after its signal.
    LIFE = "life"
    #: It has that long to finish what it accepted.
    FINISH_LIMIT = "finish-limit"


class Knob(Struct, frozen=True):
    """A number that a user can change: ``field`` is its name for rules and fixes.

    ``shared`` is where a default of many pods could be set, and what that is called. ``how`` says
    how a change is written where that depends on the cluster.
    """

    field: str
    effect: Effect
    setting: Setting[DurationRange] | Setting[timedelta]
    shared: Setting[str] | None = None
    how: str = ""

    @property
    def value(self) -> timedelta:
        """The duration that is set; of a range its low end."""
        value = self.setting.value
        return value.low if isinstance(value, DurationRange) else value


class Switch(Struct, frozen=True):
    """A setting that lets a process wait for its requests instead of a fixed time.

    ``process`` and ``knobs`` are what it does with the setting on.
    """

    field: str
    setting: Setting[bool]
    process: Process
    knobs: tuple[Knob, ...]


class ContainerPlan(Struct, frozen=True):
    """A container: its hook, its process, and when it is stopped.

    ``serves``: requests to the pod may be meant for it (``serves_assumed``: nothing shows which
    container serves). ``native_sidecar``: it is stopped after the app's containers and after the
    native sidecars that come later. ``pod`` names another pod of the same group, which has its
    own ``grace``. ``assumptions`` are those that everything about this container rests on.
    ``switch`` is preferred to a longer fixed time where there is one. ``waits_for_calls``: the app
    finishes its own calls before it ends; None: not known. ``forwards_to`` names the containers of
    the pod that its requests go on to, and ``forward_status`` is what it answers without them.
    ``usual_request`` is how long requests to its program usually take, where that is known of it.
    ``program_assumed``: nothing is known of its program, which is assumed to finish what it has.
    ``how_to_wait`` is the setting with which its program would finish what it has, in words.
    """

    name: str
    hook: Hook
    process: Process
    role: Role = Role.APP
    serves: bool = False
    serves_assumed: bool = False
    native_sidecar: bool = False
    wrappers: tuple[Wrapper, ...] = ()
    knobs: tuple[Knob, ...] = ()
    pod: str = ""
    grace: Setting[DurationRange] | None = None
    assumptions: tuple[Assumption, ...] = ()
    switch: Switch | None = None
    waits_for_calls: bool | None = None
    forwards_to: tuple[str, ...] = ()
    forward_status: int = 503
    usual_request: Setting[timedelta] | None = None
    program_assumed: bool = False
    how_to_wait: str = ""

    def knob(self, effect: Effect) -> Knob | None:
        """Its first knob of that effect."""
        return next((knob for knob in self.knobs if knob.effect is effect), None)


class Sender(Struct, frozen=True):
    """Something that sends the pod new requests after its termination starts, and for how long.

    ``containers`` are those that it leads to; empty: any that serve. ``surely`` is the part of
    ``window`` that holds under ordinary conditions; None: all of it. ``closes_after`` is when it
    closes the connections that it still has, counted from the deletion. ``is_udp``: it sends UDP
    only.
    """

    name: Setting[str]
    window: Setting[timedelta]
    containers: frozenset[str] = frozenset()
    surely: timedelta | None = None
    closes_after: Setting[timedelta] | None = None
    is_udp: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether the input shows it; else it is assumed."""
        return self.name.origin.kind is not OriginKind.ASSUMED

    @property
    def label(self) -> str:
        """The name in messages: a Service with its kind."""
        kind = "Service " if self.name.name == "Service" else ""
        return f"{kind}{self.name.value}"

    @property
    def likely_window(self) -> timedelta:
        """The time that it sends under ordinary conditions."""
        whole = self.window.value
        return whole if self.surely is None else min(whole, self.surely)

    def leads_to(self, container: str) -> bool:
        """Whether it sends to the container of that name."""
        return not self.containers or container in self.containers


class PodPlan(Struct, frozen=True):
    """The settings of one pod that bear on its shutdown.

    ``front`` names the containers that inbound requests pass before the app, outermost first;
    ``back`` those that the app's calls pass; ``needed`` those that the app's calls need while it
    answers a request. ``p99`` is how long the slowest ordinary requests take, where that is known,
    ``longest_job`` that of a worker.
    ``runs_to_completion``: the pod ends by itself, and it receives no requests.
    ``gets_requests``: something may send it requests; else only its own work counts.
    ``grace_counts_hook``: the grace period runs during preStop hooks. ``no_delay`` says why a
    longer delay would not help those who send to it, empty where it does. ``clients_reconnect``:
    those of a database, which expect to be cut.
    """

    grace: Setting[DurationRange]
    containers: tuple[ContainerPlan, ...]
    front: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    p99: Setting[timedelta] | None = None
    longest_job: Setting[timedelta] | None = None
    senders: tuple[Sender, ...] = ()
    runs_to_completion: bool = False
    gets_requests: bool = True
    grace_counts_hook: bool = True
    no_delay: str = ""
    clients_reconnect: bool = False
    assumptions: tuple[Assumption, ...] = ()
    #: The container that requests are meant for, where that has been settled.
    target: str | None = None

    def how_to_change(self, container: str | None, field: str) -> str:
        """Return how a change of a container's setting is written, as in ``Knob``; or nothing."""
        knobs = self.container(container).knobs if container is not None else ()
        return next((knob.how for knob in knobs if knob.field == field), "")

    def container(self, name: str) -> ContainerPlan:
        """Return the container of that name. Raises ``KeyError``."""
        for container in self.containers:
            if container.name == name:
                return container
        raise KeyError(name)

    def behind(self, name: str) -> tuple[str, ...]:
        """Return the containers that requests to that one go on to."""
        found = [name]
        for reached in found:
            found += [n for n in self.container(reached).forwards_to if n not in found]
        return tuple(found[1:])

    @property
    def propagation(self) -> timedelta:
        """The time that new requests are sent to the pod after its termination starts."""
        return max((sender.window.value for sender in self.senders), default=ZERO)

    @property
    def edge(self) -> ContainerPlan | None:
        """The proxy that the pod is, if it is one."""
        return next((c for c in self.containers if c.role is Role.EDGE), None)

    @property
    def proxies(self) -> tuple[ContainerPlan, ...]:
        """The containers in front of or behind the app, and edges."""
        return tuple(c for c in self.containers if c.role in (Role.PROXY, Role.EDGE))

    @property
    def regular(self) -> tuple[ContainerPlan, ...]:
        """The containers that are stopped with the pod and are not proxies."""
        apart = (Role.PROXY, Role.EDGE, Role.MEMBER)
        return tuple(c for c in self.containers if not c.native_sidecar and c.role not in apart)

    @property
    def targets(self) -> tuple[str, ...]:
        """The containers that a request to the pod may be meant for; none in an edge pod.

        Each is a case to simulate; of very many the first ones are taken.
        """
        if self.edge is not None:
            return ()
        regular = self.regular
        serving = tuple(c.name for c in regular if c.serves)
        return serving[: limits.MAX_TARGETS_OF_A_POD] or tuple(c.name for c in regular[:1])

    @property
    def has_unknown_durations(self) -> bool:
        """Whether a duration that matters is only bounded."""
        return not all(setting.value.known for setting in self._ranges())

    @property
    def asks_for_time(self) -> bool:
        """Whether somebody wants its apps to have time: a grace period or a hook is written."""
        hooks = any(container.hook.duration.value.low > ZERO for container in self.regular)
        return hooks or self.grace.origin.written

    def concretize(self) -> Iterator[PodPlan]:
        """Yield the plan with each target, and with every bounded duration set to one of its ends.

        All at the low end first, then all at each further end, then each one alone at its high
        end (of very many the first ones). What holds for all of these holds for every value in
        between, since each duration moves every event one way only
        (``DurationRange.corner_values`` adds whole seconds).
        """
        targets = self.targets
        if self.target is None and len(targets) > 1:
            for target in targets:
                yield from replace(self, target=target).concretize()
            return
        unknown = [setting for setting in self._ranges() if not setting.value.known]
        if not unknown:
            yield self
            return
        yield self._fixed({})
        # Beyond the grace period nothing changes: a hook is abandoned there.
        high = self.grace.value.high
        limit = UNBOUNDED if high is None else high + _AFTER_SIGNAL
        corners = {id(setting): setting.value.corner_values(limit) for setting in unknown}
        for values in list(zip(*corners.values(), strict=True))[1:]:
            yield self._fixed(dict(zip(corners, values, strict=True)))
        if len(unknown) > 1:
            for key, own in islice(corners.items(), limits.MAX_DURATIONS_TRIED_ALONE):
                yield self._fixed({key: own[-1]})

    def _ranges(self) -> list[Setting[DurationRange]]:
        graces = [self.grace, *(c.grace for c in self.containers if c.grace is not None)]
        # A hook that ends by a condition has no duration that could be tried.
        timed = (c.hook for c in self.containers if c.hook.ending is None)
        return [*graces, *(hook.duration for hook in timed)]

    def _fixed(self, chosen: dict[int, timedelta]) -> PodPlan:
        def fix(setting: Setting[DurationRange]) -> Setting[DurationRange]:
            if setting.value.known:
                return setting
            value = DurationRange.exact(chosen.get(id(setting), setting.value.low))
            name = f"{setting.name}: {setting.value_text}{TAKEN_AS}"
            return replace(setting, name=name, value=value)

        containers = tuple(
            replace(
                container,
                hook=replace(container.hook, duration=fix(container.hook.duration)),
                grace=None if container.grace is None else fix(container.grace),
            )
            for container in self.containers
        )
        return replace(self, grace=fix(self.grace), containers=containers)


#: A hook that outlasts the grace period is followed by this much at most.
_AFTER_SIGNAL: Final = timedelta(seconds=2)
