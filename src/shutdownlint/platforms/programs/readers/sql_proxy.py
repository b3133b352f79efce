"""The proxies of Cloud SQL and AlloyDB: two delays that add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.platforms.programs.servers import Flags, helper
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.provenance import Setting

if TYPE_CHECKING:
    from shutdownlint.platforms.programs.servers import KnownServer, ServerStart


def read(start: ServerStart) -> KnownServer:
    """Return how long it serves after its stop signal."""
    flags = Flags(start.started)
    least = flags.read("min-sigterm-delay", ("--min-sigterm-delay",), ZERO)
    most = flags.read(
        "max-sigterm-delay", ("--max-sigterm-delay", "-term_timeout", "--term_timeout"), ZERO
    )
    # The app's pool has connections open, so it stays for both.
    origin = most.origin if most.value > least.value else least.origin
    return helper(start.started, Setting("sigterm delay", least.value + most.value, origin))
