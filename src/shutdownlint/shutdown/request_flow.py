"""The outcomes of the requests in a simulation: accepted, refused, finished or cut."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from shutdownlint.shutdown.clock import Order
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.pod_plan import Role
from shutdownlint.shutdown.process import Direction, Reaction
from shutdownlint.shutdown.provenance import Cause, CauseKind
from shutdownlint.shutdown.request import ClientSees, Instant, Outcome
from shutdownlint.shutdown.running import RunningRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import timedelta

    from shutdownlint.shutdown.clock import Clock
    from shutdownlint.shutdown.pod_plan import PodPlan
    from shutdownlint.shutdown.request import Request
    from shutdownlint.shutdown.running import RunningContainer

_SERVED: Final = Cause(CauseKind.SERVED)
_OUTCOMES: Final = {
    Reaction.REFUSES: (Outcome.REFUSED, ClientSees.REFUSED),
    Reaction.HANGS: (Outcome.REFUSED, ClientSees.HANGS),
    Reaction.ERROR: (Outcome.UNAVAILABLE, ClientSees.STATUS),
}


class RequestFlow:
    """The requests of one simulation on their way through the containers.

    ``on_release`` is called for a container when a request leaves it. ``kept_until`` is when a
    proxy closes the kept connections that no request has used by then.
    """

    def __init__(
        self,
        plan: PodPlan,
        clock: Clock,
        containers: Sequence[RunningContainer],
        requests: Sequence[Request],
        on_release: Callable[[RunningContainer], None] | None,
        kept_until: timedelta,
    ) -> None:
        self.plan = plan
        self.clock = clock
        self.containers = containers
        self.on_release = on_release
        self.by_name = {c.plan.name: c for c in reversed(containers)}
        self.requests = [RunningRequest(r, self._path(r), kept_until) for r in requests]
        #: Those whose connection is open without them: before they arrive, or after their end.
        #: A stream that began before the drain leaves it open (measured with Envoy 1.36 and 1.40).
        self._waiting = [r for r in self.requests if r.request.reused and r.request.arrival > ZERO]

    def start(self) -> None:
        """Accept what is open at the deletion, and plan the rest."""
        for running in self.requests:
            if running.request.arrival <= ZERO:
                self.accept(running)
            else:
                self.clock.at(running.request.arrival, Order.ARRIVE, partial(self.arrive, running))

    def _path(self, request: Request) -> list[RunningContainer]:
        plan, target = self.plan, self.target
        if request.outbound:
            return [*([target] if target else []), *(self.by_name[name] for name in plan.back)]
        front = [self.by_name[name] for name in plan.front]
        members = [c for c in self.containers if c.plan.role is Role.MEMBER]
        edge = [c for c in self.containers if c.plan.role is Role.EDGE]
        behind = plan.behind(target.plan.name) if target is not None else ()
        served = [target, *(self.by_name[name] for name in behind)] if target is not None else []
        return [*front, *edge, *served, *members]

    @property
    def target(self) -> RunningContainer | None:
        """The container that requests are meant for."""
        plan = self.plan
        name = plan.target if plan.target is not None else next(iter(plan.targets), None)
        return self.by_name[name] if name is not None else None

    def waiting(self, container: RunningContainer) -> list[RunningRequest]:
        """Return the requests whose connection to it is open and idle."""
        return [running for running in self._waiting if container in running.path]

    def accept(self, running: RunningRequest) -> None:
        running.keeps_connection = running.request.stream and not _is_draining(running)
        for container in running.path:
            container.active.add(running)
            container.open_requests.append((self.clock.now, len(container.active)))
        self.clock.at(max(running.end, self.clock.now), Order.FINISH, lambda: self._finish(running))

    def arrive(self, running: RunningRequest) -> None:
        request, path = running.request, running.path
        if running in self._waiting:
            self._waiting.remove(running)
        if self.target is None and self.plan.edge is None:
            self._refuse(running, len(path), Cause(CauseKind.NO_CONTAINER), Reaction.REFUSES, 0)
            return
        for number, container in enumerate(path):
            origin = request.outbound and number == 0
            if origin and container.exit is None:
                continue  # the app makes its calls as long as it lives
            kept = request.reused and self.clock.now < running.kept_until
            reaction, status = container.reaction(request.direction, self.clock.now, kept=kept)
            if reaction is not Reaction.SERVES:
                ended = container.accepts_until.get(request.direction) or container.exit
                cause = container.exit.cause if origin and container.exit else _cause_of(ended)
                self._refuse(running, number, cause, reaction, status)
                return
        self.accept(running)
        self._break_if_dependent(running)

    def _refuse(
        self, running: RunningRequest, number: int, cause: Cause, reaction: Reaction, status: int
    ) -> None:
        """Refuse a request that the container of that number on its path does not serve."""
        if running.request.reused and self.on_release is not None:
            for container in running.path:
                self.on_release(container)
        by = running.path[number] if number < len(running.path) else None
        behind_proxy = number > 0 and not running.request.outbound
        if behind_proxy and reaction is not Reaction.ERROR:
            answers = running.path[number - 1].plan.forward_status
            running.decide(
                Outcome.UNAVAILABLE, self.clock.now, cause, ClientSees.STATUS, answers, by=by
            )
            return
        outcome, sees = _OUTCOMES[reaction]
        answered = status if reaction is Reaction.ERROR else None
        running.decide(outcome, self.clock.now, cause, sees, answered, by=by)

    def _finish(self, running: RunningRequest) -> None:
        running.decide(Outcome.OK, self.clock.now, _SERVED)
        kept = running.request.reused and not _is_draining(running)
        if kept or running.keeps_connection:
            self._waiting.append(running)  # the client keeps the connection for later
        for container in running.path:
            self._release(container, running)

    def _release(self, container: RunningContainer, running: RunningRequest) -> None:
        if running in container.active:
            container.active.discard(running)
            container.open_requests.append((self.clock.now, len(container.active)))
            if self.on_release is not None:
                self.on_release(container)

    def give_up(self, container: RunningContainer, cause: Cause) -> None:
        """Cut every request that the container has."""
        if container.gave_up is None:
            container.gave_up = Instant(self.clock.now, cause)
        cut, container.active = container.active, set()
        for running in sorted(cut, key=lambda r: r.request.arrival):
            self._cut(running, container, cause)
        container.open_requests.append((self.clock.now, 0))

    def _cut(self, running: RunningRequest, container: RunningContainer, cause: Cause) -> None:
        number = running.path.index(container)
        behind_proxy = number > 0 and not running.request.outbound
        answers = running.path[number - 1].plan.forward_status if behind_proxy else None
        sees, status = (ClientSees.STATUS, answers) if behind_proxy else (ClientSees.RESET, None)
        running.decide(Outcome.CUT, self.clock.now, cause, sees, status, by=container)
        # Those nearer to the caller, and proxies behind, see the end at once. An app works on
        # without a caller.
        for position, other in enumerate(running.path):
            if position < number or other.plan.role in (Role.PROXY, Role.EDGE, Role.HELPER):
                self._release(other, running)

    # Requests that need other processes while they run

    def _needed(self) -> Iterable[RunningContainer]:
        return (self.by_name[name] for name in self.plan.needed)

    def break_dependent_requests(self, container: RunningContainer) -> None:
        if container.plan.name in self.plan.needed:
            for running in self.requests:
                if self.target is not None and running in self.target.active:
                    self._break_if_dependent(running)

    def _break_if_dependent(self, running: RunningRequest) -> None:
        if running.request.outbound:
            return
        for needed in self._needed():
            if not needed.serves_reused(Direction.OUTBOUND):
                ended = needed.accepts_until.get(Direction.OUTBOUND) or needed.exit
                settings = _cause_of(ended).settings
                cause = Cause(CauseKind.NEEDED_PROCESS, settings, needed.plan.name)
                running.decide(
                    Outcome.CUT, self.clock.now, cause, ClientSees.STATUS, 500, by=needed
                )


def _is_draining(running: RunningRequest) -> bool:
    """Whether a proxy asks the client to close the request's connection now."""
    return any(c.phase >= 0 for c in running.path if c.plan.role is not Role.APP)


def _cause_of(instant: Instant | None) -> Cause:
    return instant.cause if instant is not None else Cause(CauseKind.POD_DELETED)
