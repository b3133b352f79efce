"""One HTTP request at a time, and what became of it."""

from __future__ import annotations

import socket
import time
from typing import Final

OK, CUT, REFUSED, ERROR = "ok", "cut", "refused", "error"
#: A request that is accepted and not answered for so long has hung.
_PATIENCE: Final = 15.0


def is_up(port: int) -> bool:
    """Whether a request is answered."""
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.settimeout(2)
            return _answer(connection, 0, 2) == OK
    except OSError:
        return False


class TooEarlyError(Exception):
    """An answer that came before the app can have given it: something else answered."""


def ask_once(port: int, seconds: float) -> str:
    """Return the outcome of a request on a new connection."""
    client = Client(port)
    try:
        return client.ask(seconds)
    finally:
        client.close()


class Client:
    """A connection that is opened at once, and used later."""

    def __init__(self, port: int) -> None:
        self.connection: socket.socket | None = None
        self.earliest = 0.0
        self.refused = False
        try:
            self.connection = socket.create_connection(("127.0.0.1", port), 2)
        except OSError:
            self.refused = True

    def ask(self, seconds: float) -> str:
        """Send a request that takes so long, and give what became of it."""
        if self.connection is None:
            return REFUSED
        return _answer(self.connection, seconds, _PATIENCE + seconds)

    def send(self, seconds: float) -> None:
        """Send it; ``answer`` waits for it."""
        assert self.connection is not None
        self.earliest = time.monotonic() + seconds - 0.2
        self.connection.sendall(_request(seconds))

    def answer(self, patience: float) -> str:
        """Return the outcome of a request that has been sent. Raises ``TooEarlyError``."""
        assert self.connection is not None
        found = _read(self.connection, patience)
        if found == OK and time.monotonic() < self.earliest:
            raise TooEarlyError
        return found

    def is_closed(self) -> bool:
        """Whether the server has closed the connection, as some do after each answer."""
        if self.connection is None:
            return True
        self.connection.setblocking(False)
        try:
            return self.connection.recv(1) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            self.connection.setblocking(True)

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()


def _request(seconds: float) -> bytes:
    return f"GET /?{seconds:g} HTTP/1.1\r\nHost: app\r\n\r\n".encode()


def _answer(connection: socket.socket, seconds: float, patience: float) -> str:
    try:
        connection.sendall(_request(seconds))
    except OSError:
        return REFUSED
    return _read(connection, patience)


def _read(connection: socket.socket, patience: float) -> str:
    data, deadline = b"", time.monotonic() + patience
    try:
        while b"\r\n\r\n" not in data or not _is_whole(data):
            connection.settimeout(max(0.05, deadline - time.monotonic()))
            part = connection.recv(65536)
            if not part:
                break
            data += part
    except OSError:
        pass
    if not data.startswith(b"HTTP/1.") or not _is_whole(data):
        return CUT
    return OK if data[9:12] == b"200" else ERROR


def _is_whole(data: bytes) -> bool:
    head, _, body = data.partition(b"\r\n\r\n")
    lower = head.lower()
    if b"transfer-encoding: chunked" in lower:
        return body.endswith(b"0\r\n\r\n")
    _, found, rest = lower.partition(b"content-length:")
    if not found:
        return bool(body)
    return len(body) >= int(rest.split(b"\r\n")[0])
