"""Loopback ports for the programs that tests start."""

from __future__ import annotations

import os
import socket
import threading
from typing import Final

_FIRST: Final = 20_000
_COUNT: Final = 12_000


class Ports:
    """Ports below the ephemeral range, each handed out once in a long while.

    A port that the kernel names as free can be the source port of another connection a moment later.
    """

    def __init__(self) -> None:
        self._next = os.getpid() % 37 * 300
        self._lock = threading.Lock()

    def take(self) -> int:
        """Return a port without a listener."""
        while True:
            with self._lock:
                self._next = (self._next + 1) % _COUNT
                port = _FIRST + self._next
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
                return port


PORTS: Final = Ports()
