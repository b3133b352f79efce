"""The timeline: what happens when, for one pod whose every duration is a number.

A pure function of the plan and of the requests on the pod. t=0 is the pod's deletion. The rules
of Kubernetes' kubelet (parallel hooks, the two-second minimum, whole seconds counted off the
grace) are read in pkg/kubelet/kuberuntime; those of Istio's agent in pkg/envoy/agent.go; both were
compared with a real Envoy.
"""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.shutdown.durations import ZERO, written
from shutdownlint.shutdown.plan import Behaviour
from shutdownlint.shutdown.provenance import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.shutdown.plan import ContainerPlan, Plan, ProxyPlan

#: A container is never given less between its stop signal and SIGKILL
#: (minimumGracePeriodInSeconds, pkg/kubelet/kuberuntime/kuberuntime_manager.go:84).
MINIMUM_AFTER_SIGNAL: Final = timedelta(seconds=2)
#: The pod worker never counts down from less (pkg/kubelet/pod_workers.go:999-1030).
MINIMUM_GRACE: Final = timedelta(seconds=1)
#: How often the agent looks for open connections (activeConnectionCheckDelay,
#: istio pkg/envoy/agent.go:37); the first look is one interval after the minimum drain.
POLL: Final = timedelta(seconds=1)


NO_APP: Final = Reason("the pod has no app container")
_FINISHED: Final = Reason("the app has finished its requests")
_WITH_THE_POD: Final = Reason("it is stopped with the pod")
_AFTER_THE_APP: Final = Reason("a native sidecar ends after the app")
_DRAIN_HOOK: Final = Reason("its own preStop hook (POST /drain)")


class Outcome(StrEnum):
    """What became of a request."""

    OK = "ok"
    CUT = "cut"
    REFUSED = "refused"
    UNAVAILABLE = "503"
    UNKNOWN = "unknown"


class Request(Struct, frozen=True):
    """A request that reaches the pod ``arrives`` after its deletion and takes ``lasts``.

    One that arrives at zero is in flight at deletion, accepted before anything happens, with
    ``lasts`` still to go. An ``outbound`` one is made by the app itself, through its proxy.
    """

    arrives: timedelta
    lasts: timedelta
    outbound: bool = False

    def precedes(self, moment: timedelta) -> bool:
        """Whether it was accepted by something that stops accepting at that moment."""
        return self.arrives <= ZERO or self.arrives < moment


class Answer(Struct, frozen=True):
    """What became of a request, when, and which setting decided it."""

    request: Request
    outcome: Outcome
    at: timedelta
    by: Reason
    #: How likely it is served, where that is luck and its odds are known.
    chance: float | None = None


class Moment(Struct, frozen=True):
    """A point of time and the setting that puts it there."""

    at: timedelta
    by: Reason


class Event(Struct, frozen=True):
    """Something that happens to a container (None: to the pod)."""

    at: timedelta
    container: str | None
    what: str
    because: Reason


class Life(Struct, frozen=True):
    """One app container: its stop signal, until when it accepts, and its SIGKILL."""

    plan: ContainerPlan
    signal: Moment
    accepts_until: Moment
    dies: Moment


def _kill_after(hook: timedelta, grace: timedelta) -> timedelta:
    """From the stop signal to SIGKILL: whole seconds of the hook are taken off the grace."""
    counted = timedelta(seconds=hook // timedelta(seconds=1))
    return max(grace - counted, MINIMUM_AFTER_SIGNAL)


def _life(container: ContainerPlan, plan: Plan) -> Life:
    grace = max(plan.grace.value.low, MINIMUM_GRACE)
    hook = container.pre_stop.value.low
    if hook >= grace:
        signal = Moment(grace, Reason.of(plan.grace, "{}: the preStop hook is abandoned"))
    else:
        signal = Moment(hook, Reason.of(container.pre_stop))
    kill = Moment(signal.at + _kill_after(signal.at, grace), Reason.of(plan.grace))
    behaviour = container.behaviour.value
    if behaviour is Behaviour.ABRUPT:
        return Life(container, signal, signal, Moment(signal.at, Reason.of(container.behaviour)))
    if behaviour is Behaviour.IGNORING:
        return Life(container, signal, kill, kill)
    until = signal.at + container.drain.value
    if container.drain.value <= ZERO:
        accepts = signal
    else:
        accepts = Moment(until, Reason.of(container.drain)) if until < kill.at else kill
    finish = container.finish_within
    if finish is not None and until + finish.value < kill.at:
        kill = Moment(until + finish.value, Reason.of(finish))
    return Life(container, signal, accepts, kill)


class Timeline:
    """The shutdown of one pod with these requests on it.

    What else is open matters only to exit-on-zero, which samples open connections once a second:
    ``others`` says whether connections besides these requests keep the proxy busy to the end,
    ``idle_until`` until when idle keep-alive connections of clients are held open.
    Raises ``ValueError`` for a plan with durations that are not pinned to one value.
    """

    def __init__(
        self,
        plan: Plan,
        requests: Sequence[Request] = (),
        *,
        others: bool = False,
        idle_until: timedelta = ZERO,
    ) -> None:
        if plan.uncertain:
            raise ValueError("a timeline needs a plan whose durations are all known")
        self.plan = plan
        self.grace = max(plan.grace.value.low, MINIMUM_GRACE)
        self.lives = tuple(_life(c, plan) for c in plan.containers if not c.native_sidecar)
        serving = plan.serving
        self.app = next((life for life in self.lives if life.plan is serving), None)
        self.requests = tuple(sorted(requests, key=lambda r: r.arrives))
        self.others = others
        self.idle_until = idle_until
        self._proxy = _Proxy(plan.proxy, self) if plan.proxy else None
        self.answers = tuple(self._answer(request) for request in requests)

    @property
    def proxy_ends(self) -> Moment | None:
        """When the mesh proxy is gone; None without one."""
        return self._proxy.ends if self._proxy else None

    @property
    def proxy_signal(self) -> Moment | None:
        """When the mesh proxy gets its stop signal; None without one."""
        return self._proxy.signal if self._proxy else None

    @property
    def proxy_kill(self) -> Moment | None:
        """When SIGKILL ends the mesh proxy at the latest; None without one."""
        return self._proxy.kill if self._proxy else None

    @property
    def over(self) -> timedelta:
        """When the last container is gone at the latest."""
        ends = [life.dies.at for life in self.lives]
        proxy = self._proxy
        if proxy is not None:
            # What exit-on-zero waits for may never end.
            endless = proxy.plan.stops_with_pod and proxy.plan.exit_on_zero.value
            ends.append((proxy.kill if endless else proxy.ends).at)
        return max(ends, default=self.grace)

    @property
    def gateway(self) -> bool:
        """Whether the proxy is all there is to serve requests."""
        return self.plan.proxy is not None and self.plan.proxy.gateway

    @property
    def listener_closes(self) -> Moment | None:
        """When the proxy's inbound listener closes; None when it never does."""
        return self._proxy.listener_closes if self._proxy else None

    def app_gone(self, requests: Sequence[Request]) -> Moment:
        """When the last regular container has ended, with these requests on the serving one."""
        latest = Moment(ZERO, Reason.of(self.plan.grace))
        for life in self.lives:
            gone = self._gone(life, requests if life is self.app else ())
            latest = max(latest, gone, key=lambda moment: moment.at)
        return latest

    def _gone(self, life: Life, requests: Sequence[Request]) -> Moment:
        if life.plan.behaviour.value is not Behaviour.GRACEFUL:
            return life.dies
        done = life.accepts_until
        for request in sorted(requests, key=lambda r: r.arrives):
            # The app's own calls are work too, as long as it lives to make them.
            limit = done.at if request.outbound else life.accepts_until.at
            if request.precedes(limit):
                end = request.arrives + request.lasts
                if end > done.at:
                    done = Moment(end, _FINISHED)
        return min(done, life.dies, key=lambda moment: moment.at)

    def open_until(self, moment: timedelta, closes: Moment | None) -> timedelta | None:
        """Until when the proxy, whose listener closes then, sees the connections that are open.

        None where it sees none at that moment.
        """
        if self.others:
            return moment + self.grace + MINIMUM_GRACE  # beyond any SIGKILL
        ends = [self._open_until(request, moment, closes) for request in self.requests]
        return max((end for end in (self.idle_until, *ends) if end > moment), default=None)

    def _open_until(self, request: Request, moment: timedelta, closes: Moment | None) -> timedelta:
        ends = request.arrives + request.lasts
        # One that arrives just as the proxy looks is too late for it, however long it takes.
        if not request.arrives < moment < ends:
            return ZERO
        inbound = not request.outbound
        if inbound and closes is not None and not request.precedes(closes.at):
            return ZERO
        if self.gateway:
            return ends
        app = self.app
        if app is None or (inbound and not request.precedes(app.accepts_until.at)):
            return ZERO
        return min(ends, app.dies.at)

    def looks_without_known(self, until: timedelta) -> int:
        """How often exit-on-zero looks before then while none of these requests is open."""
        if self._proxy is None:
            return 0
        count, look = 0, self._proxy.first_look
        end = min(until, self._proxy.kill.at)
        while look < end:
            open_until = self.open_until(look, self._proxy.listener_closes)
            if open_until is None:
                arrivals = (r.arrives for r in self.requests if r.arrives >= look)
                free_until = max(min(end, *arrivals, end), look + POLL)
                count += _looks(look, free_until)
                open_until = free_until
            look += _looks(look, open_until) * POLL
        return count

    def _answer(self, request: Request) -> Answer:
        arrives, proxy, app = request.arrives, self._proxy, self.app
        if request.outbound:
            return self._answer_outbound(request)
        if proxy is not None:
            if not request.precedes(proxy.ends.at):
                return Answer(request, Outcome.REFUSED, arrives, proxy.ends.by)
            closes = proxy.listener_closes
            if closes is not None and not request.precedes(closes.at):
                return Answer(request, Outcome.REFUSED, arrives, closes.by)
            if self.gateway:
                return _until(request, proxy.ends)
        if app is None or not request.precedes(app.accepts_until.at):
            outcome = Outcome.REFUSED if proxy is None else Outcome.UNAVAILABLE
            by = app.accepts_until.by if app else NO_APP
            return Answer(request, outcome, arrives, by)
        stop = app.dies
        if proxy is not None and proxy.ends.at < stop.at:
            stop = proxy.ends
        return _until(request, stop)

    def _answer_outbound(self, request: Request) -> Answer:
        """A call of the app: it needs the app and its proxy to the end."""
        stop = Moment(ZERO, NO_APP)
        if self.app is not None:
            stop = self._gone(self.app, self.requests)
        if self._proxy is not None and self._proxy.ends.at < stop.at:
            stop = self._proxy.ends
        if not request.precedes(stop.at):
            return Answer(request, Outcome.REFUSED, request.arrives, stop.by)
        return _until(request, stop)

    def events(self) -> tuple[Event, ...]:
        """Everything that happens, in order of time."""
        found = [
            Event(
                ZERO,
                None,
                "the pod is deleted, the grace period begins",
                Reason.of(self.plan.grace),
            )
        ]
        for life in self.lives:
            found.extend(_app_events(life))
        if self._proxy is not None:
            found.extend(self._proxy.events())
        return tuple(sorted(found, key=lambda event: event.at))


def _until(request: Request, stop: Moment) -> Answer:
    """What becomes of a request that was accepted, when what serves it is gone at ``stop``."""
    end = request.arrives + request.lasts
    if end > stop.at:
        return Answer(request, Outcome.CUT, stop.at, stop.by)
    return Answer(request, Outcome.OK, end, Reason(""))


def _app_events(life: Life) -> list[Event]:
    name, plan = life.plan.name, life.plan
    events = []
    if plan.pre_stop.value.low > ZERO:
        events.append(Event(ZERO, name, "preStop hook starts", Reason.of(plan.pre_stop)))
    events.append(Event(life.signal.at, name, "stop signal", life.signal.by))
    behaviour = plan.behaviour.value
    if behaviour is Behaviour.ABRUPT:
        events.append(Event(life.dies.at, name, "exits at once", life.dies.by))
        return events
    if behaviour is Behaviour.GRACEFUL and life.accepts_until.at < life.dies.at:
        events.append(
            Event(
                life.accepts_until.at,
                name,
                "stops accepting, finishes what it has",
                life.accepts_until.by,
            )
        )
    own = plan.finish_within is not None and life.dies.by.settings == (plan.finish_within,)
    what = "its framework gives up what still runs" if own else "SIGKILL, if it still runs"
    events.append(Event(life.dies.at, name, what, life.dies.by))
    return events


def _looks(first: timedelta, until: timedelta) -> int:
    """How many looks there are from the first on, before then: at least that one."""
    return max(1, -((first - until) // POLL))


class _Proxy:
    """The mesh proxy of a timeline."""

    def __init__(self, plan: ProxyPlan, timeline: Timeline) -> None:
        # The timeline is not kept: two that hold each other would stay until the collector runs.
        self.plan = plan
        grace = timeline.grace
        hook = min(plan.pre_stop.value.low, grace)
        whole = Reason.of(timeline.plan.grace)
        by = Reason.of(plan.pre_stop) if hook < grace else whole
        if plan.stops_with_pod:
            self.signal = Moment(hook, _WITH_THE_POD if hook == ZERO else by)
        else:
            gone = timeline.app_gone(timeline.requests)
            self.signal = Moment(hook, by)
            if gone.at >= grace:
                self.signal = Moment(grace, whole)
            elif gone.at > hook:
                self.signal = Moment(gone.at, _AFTER_THE_APP)
        self.kill = Moment(self.signal.at + _kill_after(self.signal.at, grace), whole)
        self.keeps_listening = plan.drain_hook and not plan.stops_with_pod
        self.listener_closes = self._listener_closes()
        self.ends = self._ends(timeline)

    def _listener_closes(self) -> Moment | None:
        if self.keeps_listening:
            return None
        at = self.signal.at + self.plan.drain_duration.value
        return Moment(at, Reason.of(self.plan.drain_duration))

    @property
    def first_look(self) -> timedelta:
        """When exit-on-zero first looks for open connections."""
        return self.signal.at + max(self.plan.minimum_drain.value, ZERO) + POLL

    def _ends(self, timeline: Timeline) -> Moment:
        if self.keeps_listening:
            return self.signal
        if self.plan.exit_on_zero.value:
            told = Reason(
                "{}: no open connection after {}",
                (self.plan.exit_on_zero, self.plan.minimum_drain),
            )
            if self.plan.never_sees_zero:
                return self.kill
            look = self.first_look
            while look < self.kill.at:
                open_until = timeline.open_until(look, self.listener_closes)
                if open_until is None:
                    return Moment(look, told)
                look += _looks(look, open_until) * POLL
            return self.kill
        at = self.signal.at + max(self.plan.termination_drain.value, ZERO)
        ends = Moment(at, Reason.of(self.plan.termination_drain))
        return min(ends, self.kill, key=lambda moment: moment.at)

    def events(self) -> list[Event]:
        """What happens to the proxy."""
        name = self.plan.name
        events = []
        if self.keeps_listening:
            events.append(Event(ZERO, name, "drains, goes on accepting", _DRAIN_HOOK))
        elif self.plan.pre_stop.value.low > ZERO:
            events.append(Event(ZERO, name, "preStop hook starts", Reason.of(self.plan.pre_stop)))
        drains = "stop signal" if self.keeps_listening else "stop signal, drain begins"
        events.append(Event(self.signal.at, name, drains, self.signal.by))
        closes = self.listener_closes
        if closes is not None and closes.at < self.ends.at:
            events.append(Event(closes.at, name, "stops accepting new connections", closes.by))
        killed = self.ends is self.kill
        what = "SIGKILL" if killed else f"exits {self._cutting()}"
        events.append(Event(self.ends.at, name, what, self.ends.by))
        return events

    def _cutting(self) -> str:
        if self.keeps_listening:
            return "as the app has ended"
        if self.plan.exit_on_zero.value:
            return "if no connection is open"
        return f"cutting what is open, after {written(self.plan.termination_drain.value)}"
