"""Whether a stop signal gets through to the app."""

from __future__ import annotations

from enum import StrEnum


class SignalForwarding(StrEnum):
    """The forwarding of the stop signal from the container's first process to the app."""

    YES = "yes"
    #: The image's shell decides.
    DEPENDS_ON_SHELL = "depends-on-shell"
    NO = "no"
    #: The script starts no app: it waits for good, and nothing in it has a handler.
    NO_APP = "no-app"
    UNKNOWN = "unknown"
