"""The smallest consistent set of settings with which every request of a pod is served.

Given how long requests take and how long new ones still arrive after termination starts, it raises
knobs by their effect: how long the app sleeps, how long each proxy accepts and lives, and the
grace period that all of it fits in. Only what is too short is changed. Durations are whole
seconds.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.shutdown.durations import ORDINARY_REQUEST, ZERO, DurationRange, ceil_seconds
from shutdownlint.shutdown.pod_plan import (
    DEREGISTRATION_FIELD,
    GRACE_FIELD,
    Effect,
    Knob,
    Role,
)
from shutdownlint.shutdown.process import After, Reaction, Trigger
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting, with_value
from shutdownlint.shutdown.request import Outcome, Prediction, Request
from shutdownlint.shutdown.timeline import Timeline

if TYPE_CHECKING:
    from shutdownlint.shutdown.pod_plan import ContainerPlan, PodPlan
    from shutdownlint.shutdown.process import Phase

#: Left between the last thing that has to happen and SIGKILL.
MARGIN: Final = timedelta(seconds=5)
_SECOND: Final = timedelta(seconds=1)


class Targets(Struct, frozen=True):
    """The goals of the settings: every request of this length that arrives until then is served."""

    p99: timedelta = ORDINARY_REQUEST
    propagation: timedelta = ZERO

    @classmethod
    def of(cls, plan: PodPlan, p99: timedelta | None = None) -> Targets:
        """Return the targets of a pod; what is not set comes from its plan."""
        known = plan.p99.value if plan.p99 is not None else ORDINARY_REQUEST
        job = plan.longest_job.value if plan.longest_job is not None else ZERO
        # Who is not helped by a delay gets none.
        propagation = ZERO if plan.no_delay else plan.propagation
        return cls(max(job, known if p99 is None else p99), propagation)


class ReasonKind(StrEnum):
    """Why a setting is changed."""

    REQUESTS_STILL_ARRIVE = "requests-still-arrive"
    CHECKS_TOO_EARLY = "checks-too-early"
    REQUESTS_DONE = "requests-done"
    WORK_DONE = "work-done"
    MUST_ACCEPT = "must-accept"
    LAST_SIGNAL = "last-signal"
    HOOKS_DONE = "hooks-done"
    PROGRAM_MAY_TAKE = "program-may-take"
    PROXY_DONE = "proxy-done"


class Reason(Struct, frozen=True):
    """Why a setting is changed: a kind, the moment that matters, and whose it is."""

    kind: ReasonKind
    at: timedelta
    container: str = ""


class Change(Struct, frozen=True):
    """One setting of a solution, and its value. ``container`` is None for the pod's own."""

    field: str
    container: str | None
    old: Setting[DurationRange] | Setting[timedelta] | Setting[bool]
    value: timedelta | bool
    reason: Reason

    @property
    def value_text(self) -> str:
        """The new value as people write it."""
        return with_value(self.old, self.value).value_text


class FailureKind(StrEnum):
    """Why a solution is not proven."""

    GRACE_UNKNOWN = "grace-unknown"
    REQUEST_LOST = "request-lost"


class Failure(Struct, frozen=True):
    """Why a solution is not proven; ``prediction`` is the request that is lost."""

    kind: FailureKind
    prediction: Prediction | None = None
    target: str | None = None


class Solution(Struct, frozen=True):
    """The changes, and the plan with them. Without a ``failure`` the model serves every request."""

    targets: Targets
    changes: tuple[Change, ...]
    plan: PodPlan
    failure: Failure | None = None

    @property
    def proven(self) -> bool:
        """Whether the model serves every request with these settings."""
        return self.failure is None

    def value_of(self, field: str, container: str | None = None) -> timedelta | bool | None:
        """Return the new value of a field; None if it is not changed."""
        for change in self.changes:
            if change.field == field and container in (None, change.container):
                return change.value
        return None


def solve(plan: PodPlan, targets: Targets) -> Solution:
    """Return the smallest set of changes for one pod."""
    solver = _Solver(plan, targets)
    solver.run()
    return Solution(targets, tuple(solver.changes), solver.plan, _prove(solver.plan, targets))


class _Solver:
    def __init__(self, plan: PodPlan, targets: Targets) -> None:
        self.plan = plan
        self.targets = targets
        self.changes: list[Change] = []

    def run(self) -> None:
        """Change the app's sleep first, then the proxies, then the grace period around them."""
        if self.plan.gets_requests:
            self._raise_app_hooks()
            self._raise_app_limits()
            self._raise_helpers()
            self._raise_deregistration()
        elif self.plan.longest_job is not None:
            self._raise_app_limits()
        for container in self.plan.proxies:
            if not container.native_sidecar:
                if self.plan.gets_requests:
                    self._raise_proxy(container)
                elif container.name in self.plan.back:
                    self._raise_carrier(container)
        self._raise_grace()

    def _raise_app_hooks(self) -> None:
        if self.plan.edge is not None:
            return
        for container in self.plan.regular:
            if container.serves and not container.process.ignores_signal:
                needed = ceil_seconds(self._window(container) - _drain(container))
                reason = Reason(ReasonKind.REQUESTS_STILL_ARRIVE, self._window(container))
                if _ends_at_signal(container):
                    needed += ceil_seconds(self.targets.p99)
                    reason = Reason(ReasonKind.REQUESTS_DONE, needed)
                self._raise(container.name, Effect.DELAYS_SIGNAL, needed, reason)
                for name in self.plan.behind(container.name):
                    accepts = _accepts_until(self.plan.container(container.name))
                    wanted = accepts - _drain(self.plan.container(name))
                    must_accept = Reason(ReasonKind.MUST_ACCEPT, accepts)
                    self._raise(name, Effect.DELAYS_SIGNAL, wanted, must_accept)

    def _raise_app_limits(self) -> None:
        """Let each app finish what it has, where a limit of its own is shorter."""
        for container in self.plan.regular:
            if container.serves and container.role is Role.APP:
                done = _accepts_until(container) + self.targets.p99
                finished = Reason(ReasonKind.REQUESTS_DONE, done)
                self._raise(container.name, Effect.FINISH_LIMIT, self.targets.p99, finished)

    def _raise_helpers(self) -> None:
        """Let the helpers that requests need go on until the last request is done."""
        _, done = self._app_needs()
        for name in self.plan.needed:
            container = self.plan.container(name)
            if container.role is Role.HELPER and not container.native_sidecar:
                wanted = done - _drain(container)
                finished = Reason(ReasonKind.REQUESTS_DONE, done)
                self._raise(name, Effect.DELAYS_SIGNAL, wanted, finished, more=_SECOND)

    def _raise_deregistration(self) -> None:
        """Let load balancers keep connections for as long as requests take."""
        senders = []
        for sender in self.plan.senders:
            closes, needed = sender.closes_after, ceil_seconds(self.targets.p99)
            if closes is not None and closes.value < needed:
                reason = Reason(ReasonKind.REQUESTS_DONE, self.targets.p99)
                self.changes.append(Change(DEREGISTRATION_FIELD, None, closes, needed, reason))
                raised = with_value(closes, needed)
                sender = replace(sender, closes_after=raised)  # noqa: PLW2901
            senders.append(sender)
        self.plan = replace(self.plan, senders=tuple(senders))

    def _window(self, container: ContainerPlan) -> timedelta:
        """Return how long new requests to this container still arrive."""
        elsewhere = [
            s.window.value
            for s in self.plan.senders
            if s.containers and container.name not in s.containers
        ]
        own = [
            s.window.value
            for s in self.plan.senders
            if not s.containers or container.name in s.containers
        ]
        if elsewhere and own and self.targets.propagation == max([*elsewhere, *own]):
            return max(own)
        return self.targets.propagation

    def _app_needs(self) -> tuple[timedelta, timedelta]:
        """Return when the last app stops accepting, and when its last request is done."""
        if self.plan.edge is not None:
            until = self.targets.propagation
            return until, until + self.targets.p99
        serving = [c for c in self.plan.regular if c.serves]
        accepts = max([_accepts_last(self.plan), *map(self._accepts, serving)])
        ends = (
            self._accepts(c) + (ZERO if _ends_at_signal(c) else self.targets.p99) for c in serving
        )
        return accepts, max([accepts, *ends])

    def _accepts(self, container: ContainerPlan) -> timedelta:
        """Until when a container gets requests that it should serve."""
        sent = self.targets.propagation if container.process.ignores_signal else ZERO
        return max(_accepts_until(container), sent)

    def _raise_proxy(self, container: ContainerPlan) -> None:
        accepts, done = self._app_needs()
        name = container.name
        if _closes_at_signal(container):
            reason = Reason(ReasonKind.MUST_ACCEPT, accepts)
            # One second more, so that it does not stop at the same moment.
            self._raise(name, Effect.DELAYS_SIGNAL, accepts, reason, more=_SECOND)
        begin = self.plan.container(name).hook.duration.value.low
        self._turn_on(name, done - begin, Reason(ReasonKind.REQUESTS_DONE, done))
        must_check = Reason(ReasonKind.CHECKS_TOO_EARLY, accepts)
        self._raise(name, Effect.MINIMUM_LIFE, accepts - begin, must_check)
        finished = Reason(ReasonKind.REQUESTS_DONE, done)
        # One second more, for the last byte and the proxy's own end.
        self._raise(name, Effect.LIFE, done - begin, finished, more=_SECOND)
        self._raise(name, Effect.FINISH_LIMIT, done - begin, finished)
        # Requests that the app has may make calls to their end.
        carries = name in (*self.plan.back, *self.plan.needed) and name not in self.plan.front
        until = done if carries else accepts
        must_accept = Reason(ReasonKind.MUST_ACCEPT, until)
        self._raise(name, Effect.KEEPS_ACCEPTING, until - begin, must_accept)

    def _raise_carrier(self, container: ContainerPlan) -> None:
        """Let a proxy carry the calls of an app until that has finished its work."""
        accepts = _accepts_last(self.plan)
        done = accepts + self._work()
        if self.plan.asks_for_time and self.plan.longest_job is None:
            # How long its work takes is not known: the proxy has to see that it is done.
            whole = self.plan.grace.value.low
            self._turn_on(container.name, whole, Reason(ReasonKind.WORK_DONE, whole))
        begin = container.hook.duration.value.low
        must_check = Reason(ReasonKind.CHECKS_TOO_EARLY, accepts)
        self._raise(container.name, Effect.MINIMUM_LIFE, accepts - begin, must_check)
        finished = Reason(ReasonKind.WORK_DONE, done)
        self._raise(container.name, Effect.LIFE, done - begin, finished, more=_SECOND)
        self._raise(container.name, Effect.FINISH_LIMIT, done - begin, finished)

    def _turn_on(self, name: str, needed: timedelta, reason: Reason) -> None:
        """Let a process wait for its requests, if it has a fixed time that is too short."""
        container = self.plan.container(name)
        switch, life = container.switch, container.knob(Effect.LIFE)
        if switch is None or life is None or life.value >= ceil_seconds(needed):
            return
        self.changes.append(Change(switch.field, name, switch.setting, True, reason))
        changed = replace(container, process=switch.process, knobs=switch.knobs, switch=None)
        self._put(changed)

    def _put(self, changed: ContainerPlan) -> None:
        containers = tuple(changed if c.name == changed.name else c for c in self.plan.containers)
        self.plan = replace(self.plan, containers=containers)

    def _raise(
        self,
        name: str,
        effect: Effect,
        needed: timedelta,
        reason: Reason,
        more: timedelta = ZERO,
    ) -> None:
        """Raise a container's knob of that effect, if it has one that is too low."""
        container = self.plan.container(name)
        knob = container.knob(effect)
        needed = ceil_seconds(needed)
        if knob is None or knob.value >= needed or not _known(knob):
            return
        self.changes.append(Change(knob.field, name, knob.setting, needed + more, reason))
        self._put(set_knob(container, knob, needed + more))

    def _work(self) -> timedelta:
        """Return how long the work takes of a pod that gets no requests.

        Where nothing says it, a hook is taken to mean that there is some.
        """
        if self.plan.longest_job is not None:
            return self.plan.longest_job.value
        return self.targets.p99 if _accepts_last(self.plan) else ZERO

    def _raise_grace(self) -> None:
        accepts, done = self._app_needs()
        reason = Reason(ReasonKind.REQUESTS_DONE, done)
        if not self.plan.gets_requests:
            work = self._work()
            done = accepts + work
            reason = Reason(ReasonKind.WORK_DONE if work else ReasonKind.HOOKS_DONE, done)
        elif accepts == done:
            reason = Reason(ReasonKind.LAST_SIGNAL, done)
        served = done
        for container in self.plan.containers:
            end = self._own_end(container)
            if end > done:
                done = end
                proxy = container.role in (Role.PROXY, Role.EDGE)
                kind = ReasonKind.PROXY_DONE if proxy else ReasonKind.PROGRAM_MAY_TAKE
                reason = Reason(kind, end, container.name)
        if not self.plan.grace_counts_hook:
            done = max((self._own_grace(c, served) for c in self.plan.containers), default=done)
        high = self.plan.grace.value.high
        if high is not None and high <= done:
            wanted = ceil_seconds(done + MARGIN)
            self.changes.append(Change(GRACE_FIELD, None, self.plan.grace, wanted, reason))
            grace = _suggested(self.plan.grace, DurationRange.exact(wanted))
            self.plan = replace(self.plan, grace=grace)

    def _own_grace(self, container: ContainerPlan, served: timedelta) -> timedelta:
        """Return the grace that a container needs whose hook has a separate grace period.

        ``served`` is when the last request is done, which needs the container or may need it.
        """
        hook = container.hook.duration.value.low
        if container.native_sidecar or container.role is Role.MEMBER:
            return hook
        if container.serves and not _ends_at_signal(container):
            served = _accepts_until(container) + self.targets.p99
        return max(hook, max(served, self._own_end(container)) - hook)

    def _own_end(self, container: ContainerPlan) -> timedelta:
        """Return when a container has ended at the latest, according to its own settings."""
        if container.native_sidecar or container.role is Role.MEMBER:
            return ZERO
        end = container.hook.duration.value.low
        is_proxy = container.role is Role.PROXY
        # A default limit is rarely used up; but a longer hook must not be what leaves it no time.
        delayed = container.role is Role.APP and any(
            change.container == container.name for change in self.changes
        )
        for phase in container.process.phases:
            limit = phase.limit
            if phase.begins is Trigger.DELETION or limit is None:
                continue
            # That SIGKILL ends a proxy before its default time does no harm.
            by_default = isinstance(phase.ending, After) and not limit.setting.origin.written
            counts = limit.is_fixed or delayed or limit.setting.origin.written
            if counts and not (is_proxy and by_default):
                end += limit.length
        return end


def _known(knob: Knob) -> bool:
    value = knob.setting.value
    return not isinstance(value, DurationRange) or value.known


def _suggested(setting: Setting[object], value: DurationRange) -> Setting[DurationRange]:
    return Setting(setting.name, value, Origin(OriginKind.EXPLICIT, "suggested"))


def set_knob(container: ContainerPlan, knob: Knob, value: timedelta) -> ContainerPlan:
    """Return the container with another value of one of its knobs."""
    origin = Origin(OriginKind.EXPLICIT, "suggested")
    if isinstance(knob.setting.value, DurationRange):
        exact = DurationRange.exact(value)
        hook = replace(container.hook, duration=Setting(knob.setting.name, exact, origin))
        new = replace(knob, setting=hook.duration)
        changed = replace(container, hook=hook)
    else:
        setting = Setting(knob.setting.name, value, origin)
        new = replace(knob, setting=setting)
        phases = tuple(_replace_setting(p, knob.setting, setting) for p in container.process.phases)
        changed = replace(container, process=replace(container.process, phases=phases))
    knobs = tuple(new if each is knob else each for each in container.knobs)
    return replace(changed, knobs=knobs)


def _replace_setting(phase: Phase, old: object, new: Setting[timedelta]) -> Phase:
    """Return the phase with a setting replaced wherever it is."""
    ending = phase.ending
    for name in ("duration", "limit", "delay"):
        if getattr(ending, name, None) is old:
            ending = replace(ending, **{name: new})
    found = {}
    for name in ("inbound", "outbound"):
        acceptance = getattr(phase, name)
        if acceptance.closes_after is old:
            found[name] = replace(acceptance, closes_after=new)
    return replace(phase, ending=ending, **found)


def _drain(container: ContainerPlan) -> timedelta:
    """Return how long it still accepts after its stop signal, by a fixed time."""
    for phase in container.process.phases:
        if phase.begins is Trigger.SIGNAL:
            serves = phase.inbound.new is Reaction.SERVES
            if serves and isinstance(phase.ending, After):
                return phase.ending.duration.value
            return ZERO
    return ZERO


def _accepts_until(container: ContainerPlan) -> timedelta:
    return container.hook.duration.value.low + _drain(container)


def _accepts_last(plan: PodPlan) -> timedelta:
    """Return when the last app stops accepting."""
    return max((_accepts_until(c) for c in plan.regular), default=ZERO)


def _ends_at_signal(container: ContainerPlan) -> bool:
    """Whether it ends at its stop signal, so that its hook has to wait for its requests."""
    phases = container.process.phases
    if container.role is not Role.APP or not phases:
        return False
    ending = phases[0].ending
    return (
        phases[0].begins is Trigger.SIGNAL
        and isinstance(ending, After)
        and ending.duration.value <= ZERO
    )


def _closes_at_signal(container: ContainerPlan) -> bool:
    """Whether it refuses new connections from its stop signal on."""
    for phase in container.process.phases:
        if phase.begins is Trigger.SIGNAL:
            return phase.inbound.new is not Reaction.SERVES
    return False


def _prove(plan: PodPlan, targets: Targets) -> Failure | None:
    """Whether the model serves a request in flight and the last one that still arrives."""
    if plan.grace.value.high is None:
        return Failure(FailureKind.GRACE_UNKNOWN)
    if not plan.gets_requests and plan.longest_job is None:
        return None
    late = max(targets.propagation - timedelta(milliseconds=1), ZERO)
    for case in plan.concretize():
        for request in (Request(ZERO, targets.p99), Request(late, targets.p99)):
            (prediction,) = Timeline(case, (request,)).predictions
            if prediction.outcome is not Outcome.OK:
                return Failure(FailureKind.REQUEST_LOST, prediction, case.target)
    return None
