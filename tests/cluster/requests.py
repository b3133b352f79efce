"""Requests to a pod, each on a connection of its own, to 127.0.0.1 only."""

from __future__ import annotations

import time

from tests.programs.client import CUT, Client, TooEarlyError


class Sent:
    """A request: it arrives so many seconds after the deletion, and takes so long."""

    def __init__(self, port: int, arrival: float, duration: float, reused: bool) -> None:
        self.port = port
        self.arrival = arrival
        self.duration = duration
        self.reused = reused
        self.outcome = ""
        self._client: Client | None = None

    def connect_early(self) -> None:
        """Open the connection of a request that is sent on a kept one, and use it once."""
        if self.reused:
            self._client = Client(self.port)
            self._client.ask(0)

    def start(self) -> None:
        """Send a request that is in flight at the deletion."""
        self._client = Client(self.port)
        self._client.send(self.duration + 0.3)

    def finish(self, begin: float) -> None:
        """Send it at its time, and wait for what becomes of it."""
        if not self.arrival and self._client is not None and not self.reused:
            try:
                self.outcome = self._client.answer(self.duration + 20)
            except TooEarlyError:
                self.outcome = CUT
        else:
            time.sleep(max(0.0, begin + self.arrival - time.time()))
            client = self._client or Client(self.port)
            self.outcome = client.ask(self.duration)
            client.close()
        if self._client is not None:
            self._client.close()


def send(request: Sent, begin: float) -> None:
    """Send a request of a pod that was deleted at a time of day."""
    request.finish(begin)
