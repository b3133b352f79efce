"""The plan: the settings of one pod that bear on its shutdown."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.shutdown.durations import ENDLESS, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.shutdown.provenance import Setting
    from shutdownlint.shutdown.rollout import Rollout


class Behaviour(StrEnum):
    """What an app does at its stop signal."""

    #: Stops accepting (after its drain), finishes what it has, exits.
    GRACEFUL = "graceful"
    #: Exits at once.
    ABRUPT = "abrupt"
    #: Goes on until it is killed.
    IGNORING = "ignoring"


class ProxyMode(StrEnum):
    """How the mesh proxy is put into the pod."""

    CLASSIC = "classic"
    NATIVE = "native"
    #: The pod is the proxy: no app stands behind it.
    GATEWAY = "gateway"


class Confidence(StrEnum):
    """How sure a finding is, given what the input does not show."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Assumption(Struct, frozen=True):
    """Something taken to be so because the input does not show it, and how to tell us.

    ``leaves`` is the confidence of what rests on it; ``versions``: it is one about versions.
    """

    text: str
    remedy: str = ""
    leaves: Confidence = Confidence.MEDIUM
    versions: bool = False

    def __str__(self) -> str:
        return f"{self.text} ({self.remedy})" if self.remedy else self.text


class SignalPath(StrEnum):
    """Whether the stop signal gets from the container's first process to the app."""

    REACHES = "reaches"
    #: The image's shell decides.
    DEPENDS = "depends"
    NEVER = "never"
    UNKNOWN = "unknown"


class HookKind(StrEnum):
    """What a preStop hook does."""

    NONE = "none"
    EXEC = "exec"
    HTTP_GET = "httpGet"
    TCP_SOCKET = "tcpSocket"
    SLEEP = "sleep"
    #: ``preStop`` without a handler.
    EMPTY = "empty"
    SEVERAL = "several"


class Hook(Struct, frozen=True):
    """A preStop hook. ``fails`` says why it cannot work, empty where it can.

    ``seconds`` is what a sleep action asks for, as written; ``host`` is where an httpGet goes,
    empty for the pod itself.
    """

    kind: HookKind = HookKind.NONE
    handlers: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    fails: str = ""
    seconds: timedelta | None = None
    host: str = ""

    def __str__(self) -> str:
        return " ".join(self.command) if self.command else self.kind.value


NO_HOOK: Final = Hook()


class FrameworkPlan(Struct, frozen=True):
    """A framework of which no limit is written: what it does then, by its defaults.

    They can be changed out of sight, so nothing of it enters the timeline. ``usual`` is its limit
    (None: there is none, or it is not known), ``endless`` says that it waits without one, ``delay``
    how long it goes on before its shutdown begins.
    """

    name: Setting[str]
    usual: Setting[timedelta] | None = None
    endless: bool = False
    delay: Setting[timedelta] | None = None


class ContainerPlan(Struct, frozen=True):
    """A container of the pod that is not the mesh proxy.

    ``drain`` is how long it still accepts requests after its stop signal; ``finish_within`` is how
    long its framework then lets it finish them before it cuts them itself; ``start_script`` is
    what a shell runs as its first process, empty where no shell does; ``command`` is all that
    starts it, arguments included, where that is written. ``liveness_grace`` and
    ``startup_grace`` replace the grace period when that probe has the container killed.
    """

    name: str
    pre_stop: Setting[Span]
    drain: Setting[timedelta]
    behaviour: Setting[Behaviour]
    serves: bool = True
    serves_assumed: bool = False
    native_sidecar: bool = False
    hook: Setting[Hook] | None = None
    signal_path: Setting[SignalPath] | None = None
    start_script: str = ""
    command: tuple[str, ...] = ()
    image: str = ""
    finish_within: Setting[timedelta] | None = None
    framework: FrameworkPlan | None = None
    stop_signal: Setting[str] | None = None
    liveness_grace: Setting[timedelta] | None = None
    startup_grace: Setting[timedelta] | None = None


class ProxyPlan(Struct, frozen=True):
    """The mesh proxy's settings; the names are Istio's.

    ``drain_hook``: its own preStop hook starts the drain and leaves the listener open (native).
    ``stats_matched``: the statistic that exit-on-zero reads is asked for in proxyStatsMatcher.
    ``early_idle_drain``: its Envoy (1.40 and later) closes idle connections before
    ``drain_duration`` is over. ``never_sees_zero``: exit-on-zero waits for a statistic that this
    release does not have. ``told_to_quit``: a command of the pod asks it to end (/quitquitquit).
    ``waypoint``: it serves a namespace of an ambient mesh. ``image`` and ``version`` are empty
    where they are not known.
    """

    name: str
    mode: Setting[ProxyMode]
    pre_stop: Setting[Span]
    exit_on_zero: Setting[bool]
    minimum_drain: Setting[timedelta]
    termination_drain: Setting[timedelta]
    drain_duration: Setting[timedelta]
    drain_hook: bool = False
    hook: Setting[Hook] | None = None
    stats_matched: bool = False
    early_idle_drain: bool = False
    never_sees_zero: bool = False
    told_to_quit: bool = False
    waypoint: bool = False
    image: str = ""
    version: str = ""
    assumptions: tuple[Assumption, ...] = ()

    @property
    def stops_with_pod(self) -> bool:
        """Whether it gets its stop signal with the pod, and not only after the app."""
        return self.mode.value is not ProxyMode.NATIVE

    @property
    def gateway(self) -> bool:
        """Whether requests end here, as far as this pod is concerned."""
        return self.mode.value is ProxyMode.GATEWAY


class LoadBalancer(Struct, frozen=True):
    """What sends the pod requests from outside the cluster.

    ``window`` is how long it may go on with that after the pod's deletion, by its vendor's guides;
    ``deregistration`` how long it lets connections finish once it has taken the pod out, where
    that is written; ``containers`` are those it leads to, empty where no port shows that.
    ``direct``: it holds the pods' own addresses, or finds out about their end by
    its own health checks; one that sends to nodes learns through kube-proxy. ``ungated``: new pods
    do not wait until it has them.
    """

    name: Setting[str]
    window: timedelta
    deregistration: Setting[timedelta] | None = None
    containers: frozenset[str] = frozenset()
    direct: bool = True
    ungated: bool = False


class Plan(Struct, frozen=True):
    """One pod.

    ``p99`` is how long its slowest ordinary requests take, where that is known;
    ``behind_service`` names a Service that sends it requests; ``spot_notice`` is what the pod gets
    at most when the node it asks for is taken away, ``maybe_spot`` the same of nodes that it only
    puts up with. ``node_grace`` is what its NodePool grants at most, ``maybe_node_grace`` the same
    of one that may take it; ``grace_cap`` what a policy among the files allows;
    ``disruptions_allowed`` how many pods its PodDisruptionBudget lets go at a time.
    """

    grace: Setting[Span]
    containers: tuple[ContainerPlan, ...]
    proxy: ProxyPlan | None = None
    p99: Setting[timedelta] | None = None
    behind_service: Setting[str] | None = None
    balancer: LoadBalancer | None = None
    rollout: Setting[Rollout] | None = None
    replicas: Setting[int] | None = None
    disruptions_allowed: Setting[int] | None = None
    grace_cap: Setting[timedelta] | None = None
    node_grace: Setting[timedelta] | None = None
    maybe_spot: Setting[timedelta] | None = None
    maybe_node_grace: Setting[timedelta] | None = None
    runs_to_completion: bool = False
    host_network: bool = False
    os_name: str = ""
    spot_notice: Setting[timedelta] | None = None
    assumptions: tuple[Assumption, ...] = ()
    #: The number of the container that requests are asked of, where that has been settled.
    asked: int | None = None

    @property
    def serving(self) -> ContainerPlan | None:
        """The container that requests are asked of: the first that serves; none in a gateway."""
        candidates = [self.asked] if self.asked is not None else self.serving_numbers
        return self.containers[candidates[0]] if candidates else None

    @property
    def serving_numbers(self) -> list[int]:
        """The numbers of the containers that requests may be asked of."""
        if self.proxy is not None and self.proxy.gateway:
            return []
        regular = [n for n, c in enumerate(self.containers) if not c.native_sidecar]
        return [n for n in regular if self.containers[n].serves] or regular[:1]

    @property
    def uncertain(self) -> bool:
        """Whether a duration that matters is only bounded."""
        return not all(setting.value.known for setting in self._spans())

    def pinned(self) -> Iterator[Plan]:
        """The plan with every bounded duration set to one of its ends.

        All low first, then all at each further end, then each one alone at its high end: what
        holds for all of these holds for every value in between, since each duration moves every
        event one way only (but for the whole seconds that ``Span.ends`` minds). All of that once
        for each container that requests may be asked of.
        """
        numbers = self.serving_numbers
        if self.asked is None and len(numbers) > 1:
            for number in numbers:
                yield from replace(self, asked=number).pinned()
            return
        yield self._with({})
        uncertain = [s for s in self._spans() if not s.value.known]
        if not uncertain:
            return
        # Past the grace period nothing changes: a hook is abandoned there.
        grace = self.grace.value.high
        limit = ENDLESS if grace is None else grace + timedelta(seconds=2)
        ends = {id(s): s.value.ends(limit) for s in uncertain}
        for together in list(zip(*ends.values(), strict=True))[1:]:
            yield self._with(dict(zip(ends, together, strict=True)))
        if len(uncertain) > 1:
            for key, values in ends.items():
                yield self._with({key: values[-1]})

    def _spans(self) -> list[Setting[Span]]:
        spans = [self.grace, *(c.pre_stop for c in self.containers)]
        return [*spans, self.proxy.pre_stop] if self.proxy else spans

    def _with(self, chosen: dict[int, timedelta]) -> Plan:
        def pin(setting: Setting[Span]) -> Setting[Span]:
            if setting.value.known:
                return setting
            value = Span.exactly(chosen.get(id(setting), setting.value.low))
            name = f"{setting.name}: {setting.shown}, taken as"
            return replace(setting, name=name, value=value)

        return replace(
            self,
            grace=pin(self.grace),
            containers=tuple(replace(c, pre_stop=pin(c.pre_stop)) for c in self.containers),
            proxy=replace(self.proxy, pre_stop=pin(self.proxy.pre_stop)) if self.proxy else None,
        )
