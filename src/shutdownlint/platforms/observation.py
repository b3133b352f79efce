"""The signs to watch while a pod stops: log lines, statistics and events, named by platforms."""

from __future__ import annotations

from msgspec import Struct


class Observation(Struct, frozen=True):
    """A place where something can be observed, and its meaning.

    ``command`` is one of kubectl's, with ``$pod`` for the pod and ``$namespace`` for the option
    that names its namespace. ``source`` is where the text or statistic was read.
    """

    command: str
    meaning: str
    source: str
