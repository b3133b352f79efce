"""Clients: what a caller sees of one request on a new connection."""

from __future__ import annotations

import asyncio

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


async def idle(port: int) -> asyncio.StreamWriter:
    """A keep-alive connection that was used once and is then held open silently."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /0 HTTP/1.1\r\nhost: app\r\n\r\n")
    await writer.drain()
    await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(2)
    return writer
