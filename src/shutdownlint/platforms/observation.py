"""What to watch while a pod stops: log lines, statistics and events, which platforms name."""

from __future__ import annotations

from msgspec import Struct


class Observation(Struct, frozen=True):
    """Where something can be seen and what it means.

    ``command`` is one of kubectl's, with ``$pod`` for the pod and ``$namespace`` for the option
    that names its namespace. ``source`` is where the text or statistic was read.
    """

    command: str
    meaning: str
    source: str
