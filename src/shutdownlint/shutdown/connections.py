"""Connections besides those of the requests in question: some processes wait for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.shutdown.durations import UNBOUNDED, ZERO

if TYPE_CHECKING:
    from datetime import timedelta


class OpenConnections(Struct, frozen=True):
    """The open connections of one simulation. All times are counted from the pod's deletion.

    ``others``: connections stay open to the end. ``idle_until``: until when clients hold idle
    connections. ``kept_until``: when a proxy closes the idle connection that a request on a kept
    connection waits for. ``held_until``: until when connections are open that end with the app at
    the latest, those of its pool or those without HTTP.
    """

    others: bool = False
    idle_until: timedelta = ZERO
    kept_until: timedelta = UNBOUNDED
    held_until: timedelta = ZERO


NONE_OPEN: Final = OpenConnections()
