"""One case of a plan: its timelines, each simulated once."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from shutdownlint.shutdown.durations import UNBOUNDED, ZERO
from shutdownlint.shutdown.request import Request
from shutdownlint.shutdown.timeline import Timeline

if TYPE_CHECKING:
    from shutdownlint.shutdown.pod_plan import PodPlan
    from shutdownlint.shutdown.timeline import ContainerTimeline

INSTANT: Final = timedelta(microseconds=1)


class Case:
    """A plan whose durations are all known, and what is asked of it again and again."""

    def __init__(self, plan: PodPlan) -> None:
        self.plan = plan
        self._endless: dict[timedelta, Timeline] = {}

    @cached_property
    def idle(self) -> Timeline:
        """The timeline with no request on the pod."""
        return Timeline(self.plan)

    @property
    def loaded(self) -> Timeline:
        """The timeline with a request in flight at the deletion that never ends."""
        return self.with_endless(ZERO)

    def with_endless(self, arrival: timedelta) -> Timeline:
        """Return the timeline with a request that arrives just before then and never ends."""
        if arrival not in self._endless:
            begin = max(arrival - INSTANT, ZERO)
            request = Request(begin, self.plan.grace.value.low + UNBOUNDED)
            self._endless[arrival] = Timeline(self.plan, (request,))
        return self._endless[arrival]

    @cached_property
    def app(self) -> ContainerTimeline | None:
        """The container that requests are meant for, with no request on the pod."""
        if self.plan.edge is not None:
            return self.idle.container(self.plan.edge.name)
        return self.idle.target

    @cached_property
    def last_arrival(self) -> timedelta:
        """The time at which the last request arrives that the pod should accept."""
        app = self.app
        if app is None:
            return ZERO
        if self.plan.edge is not None:
            return app.signal.at if app.signal is not None else app.exit.at
        if app.plan.process.ignores_signal:
            # It serves what is sent, whatever it should do.
            sent = (s.window.value for s in self.plan.senders if s.leads_to(app.plan.name))
            return max(((app.signal or app.exit).at, *sent))
        return app.accepts_until().at
