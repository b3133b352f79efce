"""The clock of a simulation: what happens in the order of time, and the record of it."""

from __future__ import annotations

from enum import IntEnum
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.request import Event, EventKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta

    from shutdownlint.shutdown.provenance import Cause


class Order(IntEnum):
    """The order of several actions at the same moment."""

    FINISH = 0
    CHANGE = 1
    KILL = 2
    CHECK = 3
    ARRIVE = 4


class Clock:
    """The present moment, the actions that are to come, and the events so far."""

    def __init__(self) -> None:
        self.now = ZERO
        self.events: list[Event] = []
        self._queue: list[tuple[timedelta, Order, int, Callable[[], None]]] = []
        self._count = 0

    def at(self, moment: timedelta, order: Order, action: Callable[[], None]) -> None:
        """Do this at that moment."""
        self._count += 1
        heappush(self._queue, (moment, order, self._count, action))

    def run(self, after_each: Callable[[], None]) -> None:
        """Do everything in order; ``after_each`` is called after every action."""
        while self._queue:
            self.now, _, _, action = heappop(self._queue)
            action()
            after_each()

    def note(self, container: str | None, kind: EventKind, cause: Cause) -> None:
        """Record what happens now to the container of that name, or to the pod."""
        self.events.append(Event(self.now, container, kind, cause))
