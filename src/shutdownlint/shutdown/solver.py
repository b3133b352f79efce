"""The smallest consistent set of settings with which every request of a pod is served.

Given how long requests take and how long new ones still arrive after the deletion, it says how long
the app has to sleep, what the proxy needs in the mode it is in, and the grace period that all of it
fits in. Only what is too short is changed. Durations are whole seconds.
"""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from shutdownlint.shutdown.durations import ZERO, Span, written
from shutdownlint.shutdown.plan import Behaviour
from shutdownlint.shutdown.provenance import Origin, OriginKind, Setting
from shutdownlint.shutdown.timeline import POLL, Outcome, Request, Timeline

if TYPE_CHECKING:
    from shutdownlint.shutdown.plan import ContainerPlan, Plan, ProxyPlan

#: Room for requests whose length nobody has told.
USUAL_ROOM: Final = timedelta(seconds=10)
#: How long new requests still arrive where no load balancer says otherwise.
USUAL_PROPAGATION: Final = timedelta(seconds=5)
#: Left between the last thing that has to happen and SIGKILL.
MARGIN: Final = timedelta(seconds=5)


_T = TypeVar("_T")


class Aims(Struct, frozen=True):
    """What the settings are to achieve: every request of this length, arriving until then."""

    p99: timedelta = USUAL_ROOM
    propagation: timedelta = ZERO

    @classmethod
    def of(
        cls, plan: Plan, p99: timedelta | None = None, propagation: timedelta | None = None
    ) -> Aims:
        """What is aimed at for a pod unless something else is said."""
        known = plan.p99.value if plan.p99 is not None else USUAL_ROOM
        if propagation is None:
            propagation = ZERO
            if plan.behind_service is not None:
                propagation = USUAL_PROPAGATION
            if plan.balancer is not None:
                propagation = plan.balancer.window
        return cls(known if p99 is None else p99, propagation)


class Change(Struct, frozen=True):
    """One setting of a solution; ``container`` is whose it is, ``field`` the model's name."""

    field: str
    container: str | None
    old: Setting[object]
    value: timedelta
    why: str


class Solution(Struct, frozen=True):
    """The changes, and the plan with them. ``proven``: the model serves every request then."""

    aims: Aims
    changes: tuple[Change, ...]
    plan: Plan
    proven: bool
    because: str = ""

    def wanted(self, field: str, container: str | None = None) -> timedelta | None:
        """What a setting is changed to; None where it may stay."""
        for change in self.changes:
            if change.field == field and container in (None, change.container):
                return change.value
        return None


def solve(plan: Plan, aims: Aims) -> Solution:
    """The smallest set of changes for one pod."""
    solver = _Solver(plan, aims)
    solver.run()
    proven, because = _prove(solver.plan, aims)
    return Solution(aims, tuple(solver.changes), solver.plan, proven, because)


def _whole(duration: timedelta) -> timedelta:
    return timedelta(seconds=math.ceil(duration.total_seconds()))


class _Solver:
    def __init__(self, plan: Plan, aims: Aims) -> None:
        self.plan = plan
        self.aims = aims
        self.changes: list[Change] = []

    def run(self) -> None:
        """Sleep first, then the proxy, then the grace period around them."""
        if not self.plan.runs_to_completion:
            self._sleeps()
            if self.plan.proxy is not None and self.plan.proxy.stops_with_pod:
                self._proxy(self.plan.proxy)
        self._grace()

    def _sleeps(self) -> None:
        if self.plan.proxy is not None and self.plan.proxy.gateway:
            return
        containers = []
        for container in self.plan.containers:
            chosen = container
            wanted = _whole(self.aims.propagation - container.drain.value)
            short = container.serves and not container.native_sidecar
            if short and container.pre_stop.value.low < wanted and _has_no_script(container):
                self._note(
                    "preStop",
                    container.name,
                    container.pre_stop,
                    wanted,
                    f"new requests still arrive for {written(self.aims.propagation)}",
                )
                chosen = replace(container, pre_stop=_set(container.pre_stop, Span.exactly(wanted)))
            containers.append(chosen)
        self.plan = replace(self.plan, containers=tuple(containers))

    def _app_needs(self) -> tuple[timedelta, timedelta]:
        """When the last app stops accepting, and when its last request is done."""
        regular = [c for c in self.plan.containers if not c.native_sidecar]
        accepts = max((_accepts_until(c) for c in regular), default=ZERO)
        serving = max((_accepts_until(c) for c in regular if c.serves), default=ZERO)
        return accepts, max(accepts, serving + self.aims.p99)

    def _proxy(self, proxy: ProxyPlan) -> None:
        accepts, done = self._app_needs()
        hook = proxy.pre_stop.value.low
        if proxy.gateway:
            accepts, done = self.aims.propagation, self.aims.propagation + self.aims.p99
        name, changed = proxy.name, proxy
        if proxy.exit_on_zero.value:
            minimum = _whole(accepts - hook)
            if proxy.minimum_drain.value < minimum:
                why = f"the proxy must not look for connections before {written(accepts)}"
                self._note("minimumDrain", name, proxy.minimum_drain, minimum, why)
                changed = replace(changed, minimum_drain=_set(proxy.minimum_drain, minimum))
        else:
            needed = _whole(done - hook)
            if proxy.termination_drain.value < needed:
                needed += timedelta(seconds=1)  # its last byte, and the proxy's own end
                why = f"requests are done by {written(done)}"
                self._note("terminationDrain", name, proxy.termination_drain, needed, why)
                changed = replace(changed, termination_drain=_set(proxy.termination_drain, needed))
        open_for = _whole(accepts - hook)
        if proxy.drain_duration.value < open_for:
            why = f"it has to accept until {written(accepts)}"
            self._note("drainDuration", name, proxy.drain_duration, open_for, why)
            changed = replace(changed, drain_duration=_set(proxy.drain_duration, open_for))
        self.plan = replace(self.plan, proxy=changed)

    def _grace(self) -> None:
        accepts, done = self._app_needs()
        why = f"requests are done by {written(done)}"
        if accepts == done and not self.plan.runs_to_completion:
            why = f"the last container gets its stop signal at {written(done)}"
        if self.plan.runs_to_completion:
            why = f"its hooks are done by {written(accepts)}"
            done = accepts
        for container in self.plan.containers:
            finish = container.finish_within
            if finish is not None and _accepts_until(container) + finish.value > done:
                done = _accepts_until(container) + finish.value
                why = f"the framework of {container.name} may take until {written(done)}"
        proxy = self.plan.proxy
        if proxy is not None and proxy.stops_with_pod:
            hook = proxy.pre_stop.value.low
            if proxy.gateway:
                done = self.aims.propagation + self.aims.p99
                why = f"requests are done by {written(done)}"
            drain = proxy.minimum_drain.value + POLL
            if not proxy.exit_on_zero.value:
                drain = proxy.termination_drain.value
            if hook + drain > done:
                done = hook + drain
                why = f"the proxy is done by {written(done)}"
        wanted = _whole(done + MARGIN)
        high = self.plan.grace.value.high
        if high is not None and high <= done:
            self._note(
                "grace", None, self.plan.grace, wanted, f"{why}, and {written(MARGIN)} to spare"
            )
            self.plan = replace(self.plan, grace=_set(self.plan.grace, Span.exactly(wanted)))

    def _note(
        self,
        field: str,
        container: str | None,
        old: Setting[object],
        value: timedelta,
        why: str,
    ) -> None:
        self.changes.append(Change(field, container, old, value, why))


def _set(setting: Setting[_T], value: _T) -> Setting[_T]:
    return Setting(setting.name, value, Origin(OriginKind.EXPLICIT, "suggested"))


def _has_no_script(container: ContainerPlan) -> bool:
    """Whether its hook is none, or one whose whole duration is known."""
    return container.pre_stop.value.known


def _accepts_until(container: ContainerPlan) -> timedelta:
    return container.pre_stop.value.low + container.drain.value


def _prove(plan: Plan, aims: Aims) -> tuple[bool, str]:
    """Whether the model serves a request in flight and the last one that still arrives."""
    if plan.grace.value.high is None:
        return False, "the grace period is not known"
    if plan.runs_to_completion:
        return True, ""
    for app in (plan.containers[number] for number in plan.serving_numbers):
        if app.behaviour.value is not Behaviour.GRACEFUL:
            told = app.behaviour.value
            return False, f"the app of {app.name} does not finish its requests: {told}"
    instant = timedelta(milliseconds=1)
    late = max(aims.propagation - instant, ZERO)
    for pinned in plan.pinned():
        for request in (Request(ZERO, aims.p99), Request(late, aims.p99)):
            (answer,) = Timeline(pinned, (request,)).answers
            if answer.outcome is not Outcome.OK:
                of = (
                    f" of {pinned.serving.name}"
                    if pinned.asked is not None and pinned.serving
                    else ""
                )
                at = f"a request{of} at {written(request.arrives)}"
                return False, f"{at} is {answer.outcome.value}: {answer.by}"
    return True, ""
