"""What a rule can ask of: the fields of each kind of subject, with their types and meaning.

A condition compares these by name. When a rule needs more, a field is added here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from shutdownlint.engine.expressions import Kind, Value
from shutdownlint.platforms.kubernetes import facts as kubernetes
from shutdownlint.shutdown import Assumption, HookKind, Setting, Shutdown, SignalPath, written
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.plan import NO_HOOK
from shutdownlint.shutdown.timeline import POLL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shutdownlint.platforms.problem import ConfigProblem
    from shutdownlint.shutdown import ContainerPlan, Plan, ProxyPlan, Reason
    from shutdownlint.yaml_source.location import SourceLocation


class SubjectKind(StrEnum):
    """What a rule is asked of."""

    POD = "pod"
    CONTAINER = "container"
    PROXY = "proxy"
    DEFECT = "defect"


class Field(Struct, frozen=True):
    """A name a rule may use. ``setting``: it has an origin, so ``nameFrom`` exists too."""

    kind: Kind
    meaning: str
    setting: bool = False


_D, _B, _I, _S = Kind.DURATION, Kind.BOOL, Kind.INT, Kind.STRING

_POD_FIELDS: Final[dict[str, Field]] = {
    "grace": Field(_D, "the pod's terminationGracePeriodSeconds", setting=True),
    "p99": Field(
        _D, "how long its slowest ordinary requests take; absent unless given", setting=True
    ),
    "kind": Field(_S, "the workload's kind"),
    "name": Field(_S, "the workload's name"),
    "namespace": Field(_S, "the workload's namespace, empty where none is written"),
    "service": Field(
        _S, "a Service among the files that sends it requests, or empty", setting=True
    ),
    "runsToCompletion": Field(_B, "whether its pods end by themselves (Jobs)"),
    "usualGrace": Field(_D, "the grace period that Kubernetes gives by default"),
    "autoscalerLimit": Field(_D, "what the cluster autoscaler grants at most"),
    "spotNotice": Field(
        _D, "what its spot nodes give at most; absent unless it asks for such", setting=True
    ),
    "balancer": Field(
        _S, "a load balancer outside the cluster that sends it requests, or empty", setting=True
    ),
    "balancerWindow": Field(
        _D, "how long that may go on sending, by its vendor's guides; absent without one"
    ),
    "balancerDirect": Field(
        _B, "whether it sends to the pods themselves, or finds out about their end by itself"
    ),
    "deregistration": Field(
        _D, "how long it lets connections finish; absent unless written", setting=True
    ),
    "osName": Field(_S, "the pod's spec.os.name, or empty"),
    "wantedGrace": Field(
        _D, "the grace period that everything fits in once all that is too short is raised"
    ),
    "inFlight": Field(_D, "the longest request in flight at deletion that is still served"),
    "late": Field(_D, "the longest request, arriving at the stop signal, that is still served"),
}
_PATH_FIELDS: Final[dict[str, Field]] = {
    "preStop": Field(_D, "how long the container's preStop hook takes", setting=True),
    "drain": Field(_D, "how long the app still accepts after its stop signal", setting=True),
    "needed": Field(_D, "preStop + drain + p99; absent where p99 is"),
    "short": Field(_D, "needed - grace; absent where p99 is"),
    "left": Field(_D, "grace - preStop"),
}

FIELDS: Final[dict[SubjectKind, dict[str, Field]]] = {
    SubjectKind.POD: {
        **_POD_FIELDS,
        "serves": Field(_B, "whether requests are sent to one of its containers"),
        "preStop": Field(_D, "the longest preStop of its containers that serve"),
        "replicas": Field(
            _I, "how many pods there are; absent where nodes or an autoscaler decide", setting=True
        ),
        "strategy": Field(
            _S, "how they are replaced: RollingUpdate, Recreate; else empty", setting=True
        ),
        "rolloutWaits": Field(
            _D,
            "how long a rollout waits for old pods and minReadySeconds at worst; absent where "
            "that is not known",
        ),
        "shutdownTakes": Field(_D, "the longest that one pod's shutdown takes"),
        "disruptionsAllowed": Field(
            _I,
            "how many pods a PodDisruptionBudget lets go at a time; absent where that is not "
            "certain",
            setting=True,
        ),
        "graceCap": Field(
            _D, "the longest grace period that a policy allows; absent without one", setting=True
        ),
        "nodeGrace": Field(
            _D, "what its NodePool grants its pods at most; absent without one", setting=True
        ),
        "maybeNodeGrace": Field(
            _D, "the same of a NodePool that may take it; absent without one", setting=True
        ),
        "maybeSpot": Field(
            _D, "what spot nodes give at most that it puts up with; absent otherwise", setting=True
        ),
        "ungated": Field(
            _B, "whether it is known that new pods do not wait for their load balancer's target"
        ),
    },
    SubjectKind.CONTAINER: {
        **_POD_FIELDS,
        **_PATH_FIELDS,
        "container": Field(_S, "the container's name"),
        "serves": Field(_B, "whether requests are sent to this container"),
        "nativeSidecar": Field(_B, "whether it is an init container with restartPolicy Always"),
        "hook": Field(
            _S,
            "its preStop handler: none, exec, httpGet, tcpSocket, sleep, empty, several",
            setting=True,
        ),
        "handlers": Field(Kind.STRINGS, "the handlers that its preStop hook names"),
        "hookCommand": Field(Kind.STRINGS, "the hook's command, word by word"),
        "hookSeconds": Field(_D, "what a sleep action asks for, as written; absent elsewhere"),
        "hookHost": Field(_S, "the host of an httpGet hook, empty for the pod itself"),
        "meshProxy": Field(_S, "the pod's mesh proxy: classic, native, or empty"),
        "hostNetwork": Field(_B, "whether the pod uses the node's network"),
        "finishWithin": Field(
            _D,
            "how long its framework lets its own shutdown take; absent unless written",
            setting=True,
        ),
        "framework": Field(
            _S, "a framework that the container shows without its limit, or empty", setting=True
        ),
        "usualFinish": Field(
            _D,
            "its default limit, which may be changed out of sight; absent without one",
            setting=True,
        ),
        "waitsForever": Field(_B, "whether it waits without a limit by default"),
        "frameworkDelay": Field(
            _D, "how long it goes on before its shutdown; absent unless written", setting=True
        ),
        "wantedPreStop": Field(_D, "how long preStop has to be for the requests that still arrive"),
        "behaviour": Field(
            _S, "what the app does at its stop signal: graceful, abrupt, ignoring", setting=True
        ),
        "startCommand": Field(Kind.STRINGS, "the container's command and arguments"),
        "image": Field(_S, "its image"),
        "longestPreStop": Field(
            _D, "the longest preStop of the containers that are shown to serve"
        ),
        "stopSignal": Field(_S, "lifecycle.stopSignal; absent unless written", setting=True),
        "livenessGrace": Field(
            _D, "the liveness probe's own grace period; absent unless written", setting=True
        ),
        "startupGrace": Field(
            _D, "the startup probe's own grace period; absent unless written", setting=True
        ),
        "hookFails": Field(_S, "why the hook's command cannot work, empty where it can"),
        "signalPath": Field(
            _S,
            "whether the stop signal gets past the shell that starts the app: reaches, depends, "
            "never, unknown",
            setting=True,
        ),
        "startScript": Field(_S, "the shell script that starts the app, or empty"),
    },
    SubjectKind.PROXY: {
        **_POD_FIELDS,
        **_PATH_FIELDS,
        "mode": Field(_S, "classic, native, or gateway (the pod is the proxy)", setting=True),
        "wantedTerminationDrain": Field(_D, "the terminationDrainDuration that serves them all"),
        "wantedMinimumDrain": Field(_D, "the MINIMUM_DRAIN_DURATION that serves them all"),
        "wantedDrainDuration": Field(_D, "the drainDuration that serves them all"),
        "waypoint": Field(_B, "whether it is the waypoint of an ambient mesh"),
        "exitOnZero": Field(_B, "EXIT_ON_ZERO_ACTIVE_CONNECTIONS", setting=True),
        "minimumDrain": Field(_D, "MINIMUM_DRAIN_DURATION", setting=True),
        "terminationDrain": Field(_D, "terminationDrainDuration", setting=True),
        "drainDuration": Field(_D, "drainDuration", setting=True),
        "proxyPreStop": Field(_D, "how long the proxy's own preStop hook takes", setting=True),
        "proxyEnds": Field(
            _D, "the soonest the proxy is gone, requests open or (exit-on-zero) none"
        ),
        "cutsAt": Field(_D, "when the proxy cuts a request that is in flight"),
        "firstCheck": Field(_D, "when exit-on-zero first looks: proxyPreStop + minimumDrain + 1s"),
        "listenerCloses": Field(_D, "when it stops accepting: proxyPreStop + drainDuration"),
        "acceptsUntil": Field(_D, "the sooner of proxyEnds and listenerCloses"),
        "acceptsBecause": Field(_S, "the setting that decides acceptsUntil"),
        "cutsBecause": Field(_S, "the setting that decides cutsAt"),
        "drainHookLost": Field(
            _B, "whether a native proxy's own hook, or a mesh-wide one, took the drain hook's place"
        ),
        "drainHook": Field(_B, "whether a native proxy's own hook starts the drain"),
        "proxyHook": Field(
            Kind.STRINGS, "the command of the proxy's own preStop hook", setting=True
        ),
        "statsMatched": Field(_B, "whether proxyStatsMatcher asks for downstream_cx_active"),
        "toldToQuit": Field(_B, "whether a command of the pod calls /quitquitquit"),
        "proxyImage": Field(_S, "the image written for istio-proxy, or empty"),
        "istioVersion": Field(_S, "Istio's version, empty where unknown"),
        "defaultGrace": Field(_B, "whether the grace period is the platform's default"),
    },
    SubjectKind.DEFECT: {
        "what": Field(_S, "which defect"),
        "key": Field(_S, "the key that is wrong"),
        "value": Field(_S, "its value"),
        "reason": Field(_S, "what is wrong with it"),
        "default": Field(_S, "the value that counts instead"),
        "config": Field(_S, "the configuration it stands in"),
        "instead": Field(_S, "the name that is meant, where that is known"),
        "kind": Field(_S, "the kind of the object it stands in"),
    },
}


_SERVES: Final = Assumption(
    "which container serves requests is not shown: each is taken to",
    "declare its ports, or a Service with a target port",
)
#: A container's fields that depend on what is known of the mesh.
_MESH_FIELDS: Final = ("meshProxy", "inFlight", "late")


def kinds(target: SubjectKind) -> dict[str, Kind]:
    """The names and types of a target's fields, ``…From`` included."""
    found: dict[str, Kind] = {}
    for name, described in FIELDS[target].items():
        found[name] = described.kind
        if described.setting:
            found[f"{name}From"] = Kind.STRING
    return found


class Values(dict[str, Value]):
    """A subject's field values at one corner; what is costly is worked out when first asked."""

    def __init__(
        self,
        known: Mapping[str, Value],
        shutdown: Shutdown | None = None,
        container: str | None = None,
    ) -> None:
        super().__init__(known)
        self.shutdown = shutdown
        self.container = container

    def holds(self, name: str) -> bool:
        """Whether the field is there."""
        return name in self or self._work_out(name)

    def _work_out(self, name: str) -> bool:
        if self.shutdown is None:
            return False
        if name in _WANTED:
            self[name] = _wanted(self.shutdown, _WANTED[name], self.container)
            return True
        if name not in ("inFlight", "late"):
            return False
        headroom = self.shutdown.headroom
        value = headroom.in_flight if name == "inFlight" else headroom.late
        if value is not None:
            self[name] = value
        return value is not None


#: Fields of the solution, and the settings they are about.
_WANTED: Final = {
    "wantedGrace": "grace",
    "wantedPreStop": "preStop",
    "wantedTerminationDrain": "terminationDrain",
    "wantedMinimumDrain": "minimumDrain",
    "wantedDrainDuration": "drainDuration",
}


def _wanted(shutdown: Shutdown, field_name: str, container: str | None) -> timedelta:
    """What the solution makes of a setting; its own value where that is enough."""
    plan = shutdown.plan
    found = shutdown.solution.wanted(field_name, container if field_name == "preStop" else None)
    if found is not None:
        return found
    if field_name == "preStop":
        own = next((c for c in plan.containers if c.name == container), None)
        return own.pre_stop.value.low if own is not None else ZERO
    if field_name == "grace" or plan.proxy is None:
        return plan.grace.value.low
    proxy = plan.proxy
    return {
        "terminationDrain": proxy.termination_drain.value,
        "minimumDrain": proxy.minimum_drain.value,
        "drainDuration": proxy.drain_duration.value,
    }[field_name]


class Subject(Struct):
    """Something a rule is asked of.

    ``cases`` holds the fields' values once for every end of what is only bounded; ``settings``
    are the fields that have an origin, ``slots`` the places where a fix may write some of them.
    ``assumptions`` lie under everything that is said of it,
    ``assumed_for`` under what a rule says that mentions that field.
    """

    target: SubjectKind
    location: SourceLocation
    cases: list[Values]
    settings: dict[str, Setting[Any]] = field(default_factory=dict)
    container: str | None = None
    assumptions: tuple[Assumption, ...] = ()
    assumed_for: dict[str, tuple[Assumption, ...]] = field(default_factory=dict)
    slots: Mapping[str, SourceLocation] = field(default_factory=dict)

    def assumed(self, mentioned: Iterable[str]) -> tuple[Assumption, ...]:
        """What a rule that mentions these fields rests on."""
        more = (a for name in sorted(mentioned) for a in self.assumed_for.get(name, ()))
        return tuple(dict.fromkeys((*self.assumptions, *more)))


Slots = Mapping[str | None, Mapping[str, "SourceLocation"]]


def subjects(
    plan: Plan, location: SourceLocation, names: Mapping[str, str], slots: Slots | None = None
) -> Iterator[Subject]:
    """Everything that can be asked of one pod.

    ``names`` are its kind, name and namespace, ``slots`` the places of settings by container.
    """
    for subject in _subjects(plan, location, names):
        subject.slots = (slots or {}).get(subject.container, {})
        yield subject


def _subjects(plan: Plan, location: SourceLocation, names: Mapping[str, str]) -> Iterator[Subject]:
    pinned = tuple(Shutdown(p) for p in plan.pinned())
    settings = _pod_settings(plan) | _whole_pod_settings(plan)
    yield Subject(
        SubjectKind.POD,
        location,
        [Values({**names, **_whole_pod_values(s, settings)}, s) for s in pinned],
        settings,
        assumed_for=dict.fromkeys(_MESH_FIELDS, plan.proxy.assumptions if plan.proxy else ()),
    )
    for index, container in enumerate(plan.containers):
        settings = _pod_settings(plan) | _container_settings(container)
        yield Subject(
            SubjectKind.CONTAINER,
            location,
            [
                Values({**names, **_container_values(s, index, settings)}, s, container.name)
                for s in pinned
            ],
            settings,
            container.name,
            assumed_for=_assumed_for(plan, container),
        )
    if plan.proxy is not None:
        app = None if plan.proxy.gateway else _slowest(plan)
        if app is None and not plan.proxy.gateway:
            return
        own = _container_settings(app) if app is not None else {}
        path = plan.containers.index(app) if app is not None else None
        settings = _pod_settings(plan) | own | _proxy_settings(plan.proxy)
        yield Subject(
            SubjectKind.PROXY,
            location,
            [Values({**names, **_proxy_values(s, path, settings)}, s) for s in pinned],
            settings,
            plan.proxy.name,
            plan.proxy.assumptions,
        )


def _assumed_for(plan: Plan, container: ContainerPlan) -> dict[str, tuple[Assumption, ...]]:
    """What lies under single fields of a container."""
    found = dict.fromkeys(_MESH_FIELDS, plan.proxy.assumptions if plan.proxy else ())
    if container.serves_assumed:
        found["serves"] = (_SERVES,)
    return found


def defect_subject(defect: ConfigProblem) -> Subject:
    """A defect, to be asked of."""
    values: dict[str, Value] = dict.fromkeys(FIELDS[SubjectKind.DEFECT], "")
    values.update(defect.words)  # "istioVersion" among them where it is known
    values["what"] = defect.what
    return Subject(
        SubjectKind.DEFECT,
        defect.location,
        [Values(values)],
        {},
        defect.container,
        defect.assumptions,
    )


def _slowest(plan: Plan) -> ContainerPlan | None:
    """The regular container that holds out longest before its stop signal."""
    regular = [c for c in plan.containers if not c.native_sidecar]
    return max(regular, key=lambda c: c.pre_stop.value.low, default=None)


def _there(named: Mapping[str, Setting[Any] | None]) -> dict[str, Setting[Any]]:
    """The settings that there are."""
    return {name: setting for name, setting in named.items() if setting is not None}


def _pod_settings(plan: Plan) -> dict[str, Setting[Any]]:
    balancer = plan.balancer
    return _there(
        {
            "grace": plan.grace,
            "p99": plan.p99,
            "service": plan.behind_service,
            "spotNotice": plan.spot_notice,
            "balancer": balancer.name if balancer else None,
            "deregistration": balancer.deregistration if balancer else None,
        }
    )


def _whole_pod_settings(plan: Plan) -> dict[str, Setting[Any]]:
    rollout = plan.rollout
    way = Setting(rollout.name, rollout.value.way, rollout.origin) if rollout is not None else None
    return _there(
        {
            "replicas": plan.replicas,
            "strategy": way,
            "disruptionsAllowed": plan.disruptions_allowed,
            "graceCap": plan.grace_cap,
            "nodeGrace": plan.node_grace,
            "maybeNodeGrace": plan.maybe_node_grace,
            "maybeSpot": plan.maybe_spot,
        }
    )


def _container_settings(container: ContainerPlan) -> dict[str, Setting[Any]]:
    framework = container.framework
    return _there(
        {
            "behaviour": container.behaviour,
            "framework": framework.name if framework else None,
            "usualFinish": framework.usual if framework else None,
            "frameworkDelay": framework.delay if framework else None,
            "preStop": container.pre_stop,
            "drain": container.drain,
            "hook": container.hook,
            "signalPath": container.signal_path,
            "stopSignal": container.stop_signal,
            "finishWithin": container.finish_within,
            "livenessGrace": container.liveness_grace,
            "startupGrace": container.startup_grace,
        }
    )


def _proxy_settings(proxy: ProxyPlan) -> dict[str, Setting[Any]]:
    return _there(
        {
            "mode": proxy.mode,
            "exitOnZero": proxy.exit_on_zero,
            "minimumDrain": proxy.minimum_drain,
            "terminationDrain": proxy.termination_drain,
            "drainDuration": proxy.drain_duration,
            "proxyPreStop": proxy.pre_stop,
            "proxyHook": proxy.hook,
        }
    )


def _pod_values(shutdown: Shutdown) -> dict[str, Value]:
    plan = shutdown.plan
    values: dict[str, Value] = {
        "usualGrace": kubernetes.DEFAULT_GRACE.value,
        "autoscalerLimit": kubernetes.AUTOSCALER_LIMIT.value,
        "grace": plan.grace.value.low,
        "service": plan.behind_service.value if plan.behind_service else "",
        "runsToCompletion": plan.runs_to_completion,
        "balancer": "",
        "balancerDirect": plan.balancer is not None and plan.balancer.direct,
        "osName": plan.os_name,
    }
    if plan.balancer is not None:
        values["balancer"] = plan.balancer.name.value
        values["balancerWindow"] = plan.balancer.window
        if plan.balancer.deregistration is not None:
            values["deregistration"] = plan.balancer.deregistration.value
    if plan.spot_notice is not None:
        values["spotNotice"] = plan.spot_notice.value
    if plan.p99 is not None:
        values["p99"] = plan.p99.value
    if plan.proxy is not None:
        values["istioVersion"] = plan.proxy.version  # which rules hold, also for containers
    return values


def _whole_pod_values(shutdown: Shutdown, settings: Mapping[str, Setting[Any]]) -> dict[str, Value]:
    plan = shutdown.plan
    serving = [c for c in plan.containers if c.serves]
    takes = shutdown.over
    values: dict[str, Value] = {
        **_pod_values(shutdown),
        **_origins(SubjectKind.POD, settings),
        "strategy": "",
        **{name: setting.value for name, setting in _whole_pod_settings(plan).items()},
        "serves": bool(serving) or (plan.proxy is not None and plan.proxy.gateway),
        "shutdownTakes": takes,
        "ungated": plan.balancer is not None and plan.balancer.ungated,
    }
    if serving:
        values["preStop"] = max(c.pre_stop.value.low for c in serving)
    waits = plan.rollout.value.takes(takes) if plan.rollout is not None else None
    if waits is not None:
        values["rolloutWaits"] = waits
    return values


def _path_values(plan: Plan, container: ContainerPlan) -> dict[str, Value]:
    hook, drain, grace = container.pre_stop.value.low, container.drain.value, plan.grace.value.low
    values: dict[str, Value] = {"preStop": hook, "drain": drain, "left": grace - hook}
    if plan.p99 is not None:
        needed = hook + drain + plan.p99.value
        values["needed"] = needed
        values["short"] = needed - grace
    return values


def _origins(target: SubjectKind, settings: Mapping[str, Setting[Any]]) -> dict[str, Value]:
    """Where each setting comes from; empty for one that is not there."""
    names = [name for name, described in FIELDS[target].items() if described.setting]
    return {
        f"{name}From": settings[name].origin.kind.value if name in settings else ""
        for name in names
    }


def _container_values(
    shutdown: Shutdown, index: int, settings: Mapping[str, Setting[Any]]
) -> dict[str, Value]:
    container = shutdown.plan.containers[index]
    hook = container.hook.value if container.hook is not None else NO_HOOK
    path = container.signal_path
    kind = hook.kind
    if container.hook is None and container.pre_stop.value.low > ZERO:
        kind = HookKind.SLEEP
    written_only = (
        "finishWithin",
        "usualFinish",
        "frameworkDelay",
        "stopSignal",
        "livenessGrace",
        "startupGrace",
    )
    absent: dict[str, Value] = {n: settings[n].value for n in written_only if n in settings}
    if hook.seconds is not None:
        absent["hookSeconds"] = hook.seconds
    return {
        **_pod_values(shutdown),
        **_path_values(shutdown.plan, container),
        **_origins(SubjectKind.CONTAINER, settings),
        **absent,
        "balancer": _balancer_of(shutdown.plan, container),
        "framework": container.framework.name.value if container.framework else "",
        "waitsForever": container.framework is not None and container.framework.endless,
        "behaviour": container.behaviour.value.value,
        "startCommand": list(container.command),
        "image": container.image,
        "longestPreStop": max(
            (
                c.pre_stop.value.low
                for c in shutdown.plan.containers
                if c.serves and not c.serves_assumed
            ),
            default=ZERO,
        ),
        "hookHost": hook.host,
        "hostNetwork": shutdown.plan.host_network,
        "meshProxy": shutdown.plan.proxy.mode.value.value if shutdown.plan.proxy else "",
        "container": container.name,
        "serves": container.serves,
        "nativeSidecar": container.native_sidecar,
        "hook": kind.value,
        "handlers": list(hook.handlers),
        "hookCommand": list(hook.command),
        "hookFails": hook.fails,
        "signalPath": (path.value if path is not None else SignalPath.UNKNOWN).value,
        "startScript": container.start_script,
    }


def _balancer_of(plan: Plan, container: ContainerPlan) -> str:
    """The load balancer that leads to this container."""
    balancer = plan.balancer
    if balancer is None or (balancer.containers and container.name not in balancer.containers):
        return ""
    return balancer.name.value


def _proxy_values(
    shutdown: Shutdown, index: int | None, settings: Mapping[str, Setting[Any]]
) -> dict[str, Value]:
    plan = shutdown.plan
    proxy = plan.proxy
    assert proxy is not None
    hook = proxy.pre_stop.value.low
    quiet, busy = shutdown.quiet.proxy_ends, shutdown.typical.proxy_ends
    assert quiet is not None
    assert busy is not None
    return {
        **_pod_values(shutdown),
        **(_path_values(plan, plan.containers[index]) if index is not None else {}),
        **_origins(SubjectKind.PROXY, settings),
        "mode": proxy.mode.value.value,
        "exitOnZero": proxy.exit_on_zero.value,
        "minimumDrain": proxy.minimum_drain.value,
        "terminationDrain": proxy.termination_drain.value,
        "drainDuration": proxy.drain_duration.value,
        "proxyPreStop": hook,
        "proxyEnds": quiet.at,
        "cutsAt": busy.at,
        "firstCheck": hook + proxy.minimum_drain.value + POLL,
        "listenerCloses": hook + proxy.drain_duration.value,
        "acceptsUntil": min(quiet.at, hook + proxy.drain_duration.value),
        "acceptsBecause": str(_sooner(shutdown)),
        "cutsBecause": str(busy.by),
        "waypoint": proxy.waypoint,
        "drainHook": proxy.drain_hook,
        "drainHookLost": _lost(proxy),
        "proxyHook": list(proxy.hook.value.command) if proxy.hook is not None else [],
        "statsMatched": proxy.stats_matched,
        "toldToQuit": proxy.told_to_quit,
        "proxyImage": proxy.image,
        "istioVersion": proxy.version,
        "defaultGrace": not plan.grace.origin.written_down,
    }


def _sooner(shutdown: Shutdown) -> Reason:
    """Why the proxy stops accepting when it does."""
    ends, closes = shutdown.quiet.proxy_ends, shutdown.quiet.listener_closes
    assert ends is not None
    return closes.by if closes is not None and closes.at < ends.at else ends.by


def _lost(proxy: ProxyPlan) -> bool:
    """Other handlers stand beside the template's hook instead of replacing it."""
    kind = proxy.hook.value.kind if proxy.hook is not None else HookKind.NONE
    replaces = kind in (HookKind.NONE, HookKind.EXEC)
    return not proxy.stops_with_pod and not proxy.drain_hook and replaces


def shown(value: object) -> str:
    """A value as messages write it."""
    if isinstance(value, timedelta):
        return written(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(value) or "none"
    return str(value)
