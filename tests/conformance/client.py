"""Clients: what a caller sees of one request, on a new connection or on one that was kept."""

from __future__ import annotations

import asyncio
import contextlib

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, ResponseReceived, StreamReset
from h2.exceptions import ProtocolError

OK, CUT, REFUSED, UNAVAILABLE = "ok", "cut", "refused", "503"


async def call(port: int, lasts: float) -> str:
    """One request: ``ok``, ``refused`` (no connection), ``503``, or ``cut`` (no answer)."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return REFUSED
    try:
        writer.write(f"GET /{lasts:g} HTTP/1.1\r\nhost: app\r\n\r\n".encode())
        await writer.drain()
        head = await reader.readuntil(b"\r\n\r\n")
    except (OSError, asyncio.IncompleteReadError):
        return CUT
    finally:
        writer.close()
    status = head.split()[1]
    return OK if status == b"200" else UNAVAILABLE if status == b"503" else status.decode()


class Kept:
    """A keep-alive connection that was used once, and on which a request is sent later."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def open(self) -> Kept:
        """Use it for the first time."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        await self._ask(0)
        return self

    async def _ask(self, lasts: float) -> tuple[bytes, bytes]:
        self.writer.write(f"GET /{lasts:g} HTTP/1.1\r\nhost: app\r\n\r\n".encode())
        await self.writer.drain()
        head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length:")[2].split(b"\r\n")[0]
        await self.reader.readexactly(int(length or 0))
        return head.split()[1], head

    async def call(self, lasts: float) -> str:
        """One request on it, or on a new connection where the server has closed this one."""
        if self.reader.at_eof():
            return await call(self.port, lasts)
        try:
            status, head = await self._ask(lasts)
        except (OSError, asyncio.IncompleteReadError):
            return CUT
        if b"connection: close" in head:
            self.writer.close()
        return OK if status == b"200" else UNAVAILABLE if status == b"503" else status.decode()

    def close(self) -> None:
        """End it."""
        self.writer.close()


class Http2:
    """A connection of an HTTP/2 client, which stays open when its request is over."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.protocol = H2Connection(H2Configuration(client_side=True))
        self.failed = False
        self.last = False

    async def ask(self, lasts: float) -> int:
        """Open it and send one request; the number of its stream."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.protocol.initiate_connection()
        stream = self.protocol.get_next_available_stream_id()
        names = [(":method", "GET"), (":path", f"/{lasts:g}"), (":scheme", "http")]
        self.protocol.send_headers(stream, [*names, (":authority", "app")], end_stream=True)
        self._send()
        self.answered = asyncio.Event()
        self.reading = asyncio.create_task(self._read())
        return stream

    def _send(self) -> None:
        self.writer.write(self.protocol.data_to_send())

    async def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := await self.reader.read(65536):
                self._receive(data)
        self.failed = True

    def _receive(self, data: bytes) -> None:
        try:
            events = self.protocol.receive_data(data)
        except ProtocolError:
            events, self.last = [], True  # the library takes nothing after a GOAWAY
        for event in events:
            if isinstance(event, ResponseReceived):
                self.answered.set()
            if isinstance(event, StreamReset):
                self.failed = True
            if isinstance(event, ConnectionTerminated):
                self.last = True  # streams go on
        self._send()

    async def cancel(self, stream: int, after: float) -> str:
        """Reset the stream then: ``ok`` if it was still open."""
        await asyncio.sleep(after)
        if self.failed or self.answered.is_set():
            return CUT
        if self.last:  # no further stream may follow: clients close it then
            self.close()
            return OK
        self.protocol.reset_stream(stream, error_code=8)
        self._send()
        await self.writer.drain()
        return OK

    def close(self) -> None:
        """End it."""
        self.reading.cancel()
        self.writer.close()


async def idle_http2(port: int) -> Http2:
    """Return a connection of HTTP/2 that was used once and is then held open silently."""
    client = Http2(port)
    await client.ask(0)
    await client.answered.wait()
    return client


async def idle(port: int) -> asyncio.StreamWriter:
    """Return a keep-alive connection that was used once and is then held open silently."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /0 HTTP/1.1\r\nhost: app\r\n\r\n")
    await writer.drain()
    await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(2)
    return writer
