"""Requests as the command line writes them."""

from __future__ import annotations

from shutdownlint.cli.output import usage_error
from shutdownlint.platforms.durations import go_duration
from shutdownlint.shutdown.process import Direction
from shutdownlint.shutdown.request import Request


def read_request(
    text: str, *, outbound: bool = False, reused: bool = False, stream: bool = False
) -> Request:
    """Return a request of the command line, such as 10s or 2s@4s. Raises a usage error."""
    duration_text, at, arrival_text = text.partition("@")
    try:
        arrival = go_duration(arrival_text if at else "0s")
        duration = go_duration(duration_text)
    except ValueError as error:
        raise usage_error(f"{text}: {error} (write 10s, or 2s@4s)") from None
    if min(arrival, duration).total_seconds() < 0:
        raise usage_error(f"{text}: durations must not be negative")
    direction = Direction.OUTBOUND if outbound else Direction.INBOUND
    return Request(arrival, duration, direction, reused, stream)
