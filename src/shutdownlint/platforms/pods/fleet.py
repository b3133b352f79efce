"""The pods of a workload together: what may take several of them at a time, and what keeps some."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.manifests.decoding import decode, mappings, value_at
from shutdownlint.manifests.resources import LabelSelector, Scaler
from shutdownlint.platforms.pods import facts
from shutdownlint.platforms.pods.controllers import (
    SCALED_KINDS,
    least_replicas,
    min_available,
    most_replicas,
    read_rollout,
    scalers_of,
    selects,
)
from shutdownlint.shutdown.durations import ZERO, format_duration, seconds
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting
from shutdownlint.shutdown.serving_pods import (
    Drain,
    Replacement,
    ScaleIn,
    ScalingPolicy,
    most_in_one_domain,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.manifests.object_index import LoadedResource
    from shutdownlint.manifests.resources import PodDisruptionBudget
    from shutdownlint.manifests.workloads import Workload
    from shutdownlint.platforms.context import AnalysisContext

_NODE: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
#: The assumed number of nodes or zones, which is not in manifests.
DOMAINS: Final = 3
#: The time until a new pod listens, if no probe shows it.
READY_ASSUMED: Final = timedelta(seconds=10)
#: The time that a pod's sandbox and containers take to start, measured on an idle node.
START: Final = timedelta(seconds=2)
_MINUTE: Final = timedelta(minutes=1)
#: Periods and delays are written by hand; a longer one is a typing error.
_LONGEST: Final = 10**6


class Spread(Struct, frozen=True):
    """The spread of pods over one kind of domain: nodes or zones.

    ``skew`` is how much fuller than another one domain may be; None: nothing keeps them apart.
    ``alone``: no two of them are in one. ``preferred``: only where it is possible.
    """

    skew: int | None = None
    alone: bool = False
    preferred: bool = False

    def most(self, replicas: int) -> int:
        """Return the most pods in one of three domains."""
        if self.alone:
            return min(replicas, 1)
        if self.skew is None:
            return replicas
        return most_in_one_domain(replicas, DOMAINS, self.skew)


class Disruption(Struct, frozen=True):
    """An event that may take pods: its name, what it leaves as a sentence, and the pods over time.

    ``least`` of ``replicas`` pods serve at the least; None where that is not counted. ``steps`` say
    from when on how many serve.
    """

    kind: str
    text: str
    replicas: int
    least: int | None = None
    steps: tuple[tuple[timedelta, int], ...] = ()

    @property
    def changes_over_time(self) -> bool:
        """Whether there is something to draw: fewer pods for some time."""
        takes = self.steps[-1][0] if self.steps else ZERO
        return takes > ZERO and any(count != self.replicas for _, count in self.steps)


class Fleet(Struct, frozen=True):
    """The pods of a workload. ``replicas`` are the fewest that it ordinarily has.

    ``budget`` names those that limit evictions, ``allowed`` how many may be missing by them (None:
    not known, or no budget). ``ready`` is how long a new pod takes to be ready. ``probed``: new
    pods get requests only once a readiness probe succeeds.
    """

    replicas: int
    by_autoscaler: bool
    replacement: Replacement | None
    nodes: Spread
    zones: Spread
    ready: Setting[timedelta]
    budgets: tuple[str, ...] = ()
    allowed: int | None = None
    scale_in: ScaleIn | None = None
    scale_down_period: Setting[timedelta] | None = None
    probed: bool = True

    def outage(self, shutdown: timedelta) -> timedelta:
        """Return the longest time of a rollout in which no pod serves."""
        if self.replacement is None or not self.replicas:
            return ZERO
        steps = [*self.replacement.serving(shutdown, self.ready.value)]
        return sum((end - begin for (begin, n), (end, _) in pairwise(steps) if not n), ZERO)

    @property
    def drain_outage(self) -> timedelta:
        """The longest time in which no pod serves because a drain took the only one."""
        return self.ready.value if self.replicas == 1 and self.allowed != 0 else ZERO

    @property
    def unprobed(self) -> timedelta:
        """The time for which each new pod gets requests and may not listen yet."""
        return ZERO if self.probed else READY_ASSUMED

    def disruptions(self, shutdown: timedelta) -> Iterator[Disruption]:
        """Yield what a rollout, a drain, a lost zone and a scale-in leave.

        ``shutdown`` is the longest that one pod's shutdown takes.
        """
        if self.replicas > 0:
            if self.replacement is not None:
                yield self._rollout(self.replacement, shutdown)
            yield self._drain(shutdown)
            yield self._zone()
        if self.scale_in is not None and self.scale_in.most > self.scale_in.least:
            yield self._scale_in(self.scale_in, shutdown)

    @property
    def _all(self) -> str:
        whose = " (the autoscaler's minimum)" if self.by_autoscaler else ""
        return f"{_pods(self.replicas)}{whose}"

    def _serving(self, least: int, of: str = "") -> str:
        if not least:
            return "there may be no pod that serves"
        if self.replicas == least == 1:
            return "a pod serves"
        return f"at least {least} of {of or self.replicas} {'serves' if least == 1 else 'serve'}"

    def _rollout(self, replacement: Replacement, shutdown: timedelta) -> Disruption:
        least = replacement.least_serving
        steps = tuple(replacement.serving(shutdown, self.ready.value))
        text = f"{self._serving(least, self._all)} during a rollout{self._length(steps)}"
        return Disruption("rollout", text, self.replicas, least, steps)

    def _length(self, steps: Sequence[tuple[timedelta, int]]) -> str:
        """Describe how long a rollout takes at the most, by how long each pod takes to be ready."""
        longest = steps[-1][0] if steps else ZERO
        if longest <= ZERO:
            return ""
        assumed = ", assumed" if self.ready.origin.kind is OriginKind.ASSUMED else ""
        ready = f"a new pod is ready within {format_duration(self.ready.value)}{assumed}"
        return f" of up to {format_duration(longest)} ({ready})"

    def _drain(self, shutdown: timedelta) -> Disruption:
        most = self.nodes.most(self.replicas)
        ordered = self.replacement is not None and self.replacement.ordered
        drain = Drain(self.replicas, most, self.allowed, ordered)
        names = ", ".join(self.budgets)
        least: int | None = drain.least_serving
        longest = drain.longest(shutdown, self.ready.value)
        if drain.blocked:
            text = f"budget {names} lets no pod go: it waits until somebody deletes the pods"
        elif self.allowed is not None and longest is not None:
            going = f"budget {names} lets {_pods(self.allowed)} go at a time"
            text = f"{going}: {self._serving(drain.least_serving)}"
            if most > 1:
                text += f"; a node with {self._share(most)} takes up to {format_duration(longest)}"
        elif names:
            least, text = None, f"budget {names} limits it, to how many is not known"
        else:
            going = "go" if most > 1 else "goes"
            text = f"no budget among the files: {self._together(self.nodes, 'on', 'node')}"
            text += f" and {going} at once" if self.replicas > 1 else ""
        return Disruption("drain", text, self.replicas, least)

    def _zone(self) -> Disruption:
        most = self.zones.most(self.replicas)
        goes = "goes" if self.replicas == 1 or self.zones.alone else "go"
        text = f"{self._together(self.zones, 'in', 'zone')}, and {goes} with it when it fails"
        return Disruption("zone", text, self.replicas, self.replicas - most)

    def _share(self, most: int) -> str:
        return f"all {most}" if most == self.replicas else f"{most} of them"

    def _together(self, spread: Spread, at: str, what: str) -> str:
        """Describe how many pods may be in one domain."""
        most = spread.most(self.replicas)
        if self.replicas == 1:
            return f"the only pod is {at} one {what}"
        if spread.alone:
            return f"one of the {_pods(self.replicas)} is {at} a {what}"
        if spread.skew is not None:
            return f"with {DOMAINS} {what}s up to {most} of {_pods(self.replicas)} are {at} one"
        rather = ", though rather on different ones" if spread.preferred else ""
        return f"all {_pods(self.replicas)} may be {at} one {what}{rather}"

    def _scale_in(self, scale_in: ScaleIn, shutdown: timedelta) -> Disruption:
        removed = scale_in.most - scale_in.least
        minute = scale_in.most_within(_MINUTE)
        together = scale_in.most_within(max(shutdown, timedelta(seconds=1)))
        text = f"from {scale_in.most} to {_pods(scale_in.least)}"
        if scale_in.ordered and minute:
            each = f"each once the one before has gone (up to {format_duration(shutdown)} each)"
            text += f": one after the other, {each}"
        elif not minute:
            text += ": the autoscaler may not scale down"
        elif minute >= removed:
            text += f": all {removed} may stop within a minute"
        else:
            text += f": up to {minute} stop within a minute"
        if minute and not scale_in.ordered:
            text += f", {together} end at the same time (up to {format_duration(shutdown)} each)"
        return Disruption("scale-in", text, scale_in.most)


def _pods(count: int) -> str:
    return f"{count} pod{'' if count == 1 else 's'}"


def read_fleet(
    workload: Workload,
    context: AnalysisContext,
    budgets: Sequence[LoadedResource[PodDisruptionBudget]],
    written: Setting[int] | None,
) -> Fleet | None:
    """Return the pods of a workload together; None where their number is not known."""
    if workload.id.kind not in SCALED_KINDS or workload.incomplete is not None:
        return None
    scaler = next(scalers_of(workload, context), None)
    count, most = written, None
    if scaler is not None:
        least, high = least_replicas(scaler)[1], most_replicas(scaler)
        if least is None:
            return None
        most = high
        count = Setting("replicas", least, Origin(OriginKind.INHERITED, "the autoscaler"))
    if count is None:
        return None
    rollout = read_rollout(workload, count)
    period, scale_in = None, None
    replacement = rollout.value.replacement if rollout is not None else None
    if scaler is not None and most is not None and count.value <= most <= _LONGEST:
        period, scale_in = _scale_in(scaler, count.value, most)
        in_order = workload.update.podManagementPolicy != "Parallel"
        scale_in = replace(scale_in, ordered=workload.id.kind == "StatefulSet" and in_order)
    return Fleet(
        count.value,
        scaler is not None and most != count.value,
        replacement,
        _spread(workload, _NODE),
        _spread(workload, _ZONE),
        _ready(workload),
        tuple(budget.model.metadata.name or "" for budget in budgets),
        _allowed(budgets, count.value),
        scale_in,
        period,
        all(c.readinessProbe is not None for c in workload.template.spec.containers if c.ports),
    )


def _allowed(budgets: Sequence[LoadedResource[PodDisruptionBudget]], replicas: int) -> int | None:
    """Return how many of these pods one budget lets go; percentages round up."""
    if len(budgets) != 1:
        return None
    spec = budgets[0].model.spec
    missing = min_available(spec.maxUnavailable, replicas)
    if missing is not None:
        return min(missing, replicas)
    needed = min_available(spec.minAvailable, replicas)
    return max(replicas - needed, 0) if needed is not None else None


def _spread(workload: Workload, key: str) -> Spread:
    """Return what the pod's template states about one kind of domain."""
    spec, labels = workload.template.spec, workload.template.metadata.labels
    if key == _NODE and spec.hostNetwork is True:
        return Spread(alone=True)
    affinity = value_at(spec.affinity, "podAntiAffinity")
    required = value_at(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    for term in mappings(required):
        if term.get("topologyKey") == key and _matches(term.get("labelSelector"), labels):
            return Spread(alone=True)
    preferred = False
    for constraint in mappings(spec.topologySpreadConstraints):
        if constraint.get("topologyKey") != key:
            continue
        skew = constraint.get("maxSkew")
        if constraint.get("whenUnsatisfiable") == "ScheduleAnyway" or type(skew) is not int:
            preferred = True
        elif skew > 0:
            return Spread(skew)
    for weighted in mappings(value_at(affinity, "preferredDuringSchedulingIgnoredDuringExecution")):
        preferred = preferred or value_at(weighted, "podAffinityTerm", "topologyKey") == key
    return Spread(preferred=preferred)


def _matches(selector: Any, labels: dict[str, str]) -> bool:
    if not isinstance(selector, dict):
        return False
    typed, rejected = decode(LabelSelector, selector)
    return not rejected and selects(typed, labels)


def _ready(workload: Workload) -> Setting[timedelta]:
    """Return how long a new pod takes to be ready, by its probes and minReadySeconds.

    A probe succeeds up to a period after its delay (measured on a node).
    """
    probes = [
        _seconds_of(probe.initialDelaySeconds, ZERO)
        + _seconds_of(probe.periodSeconds, facts.PROBE_PERIOD.value)
        for container in workload.template.spec.containers
        for probe in (container.readinessProbe, container.startupProbe)
        if probe is not None
    ]
    more = START + _seconds_of(workload.update.minReadySeconds, ZERO)
    if not probes:
        origin = Origin(OriginKind.ASSUMED, "assumed")
        return Setting("time until ready", READY_ASSUMED + more, origin)
    origin = Origin(OriginKind.EXPLICIT, "initialDelaySeconds, a period of the probe, the start")
    return Setting("time until ready", max(probes) + more, origin)


def _seconds_of(value: Any, default: timedelta) -> timedelta:
    """Return a number of seconds, bounded; the default where it is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return default
    return seconds(min(max(value, 0), _LONGEST))


def _scale_in(
    scaler: LoadedResource[Scaler], least: int, most: int
) -> tuple[Setting[timedelta] | None, ScaleIn]:
    """Return how an autoscaler removes pods, and its policies' shortest period, if written."""
    spec = scaler.model.spec
    nested = ("advanced", "horizontalPodAutoscalerConfig", "behavior")
    behavior = (
        spec.behavior
        if spec.behavior is not None
        else value_at({"advanced": spec.advanced}, *nested)
    )
    path = ("behavior",) if spec.behavior is not None else nested
    down = value_at(behavior, "scaleDown")
    if value_at(down, "selectPolicy") == "Disabled":
        return None, ScaleIn(most, least, ())
    here = (scaler.ref / "spec").below(*path, "scaleDown", "policies")
    policies, shortest = [], None
    for number, policy in enumerate(mappings(value_at(down, "policies"))):
        value, period = policy.get("value"), policy.get("periodSeconds")
        if type(value) is not int or type(period) is not int or not 0 < period <= _LONGEST:
            continue
        percent = policy.get("type") == "Percent"
        policies.append(
            ScalingPolicy(min(value, 100) if percent else value, seconds(period), percent)
        )
        if shortest is None or seconds(period) < shortest.value:
            origin = Origin(OriginKind.EXPLICIT, "periodSeconds", here / number / "periodSeconds")
            shortest = Setting("periodSeconds", seconds(period), origin)
    if not policies:
        return None, ScaleIn(most, least)
    careful = value_at(down, "selectPolicy") == "Min"
    return shortest, ScaleIn(most, least, tuple(policies), careful)
