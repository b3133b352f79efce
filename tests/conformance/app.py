"""The app: ``python -m tests.conformance.app`` with its settings as JSON.

Serves ``GET /LASTS``: answers after LASTS seconds (of those in flight at deletion: LASTS after the
line ``t0`` on standard input). Prints how many requests it has. At SIGTERM it is
graceful (goes on accepting for ``drain`` seconds, then closes its listener and ends with its work),
abrupt, or ignoring. Makes the configured outbound calls, each at its time after t0, and
keeps a pool of idle connections through its proxy from the line ``connect`` on.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys

from tests.conformance.client import call, idle
from tests.conformance.process import die_with_parent, say


class App:
    def __init__(self, settings: dict[str, float | str | list[list[float]]]) -> None:
        self.settings = settings
        self.t0 = asyncio.Event()
        self.connect = asyncio.Event()
        self.busy = 0
        self.closing = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()
            return
        lasts = float(head.split()[1].lstrip(b"/") or 0)
        self._count(1)
        if lasts:
            work = asyncio.create_task(self._work(lasts))
            gone = asyncio.create_task(reader.read())
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            # What the caller cancels is cancelled here too.
            cancelled = not work.done()
            work.cancel()
            gone.cancel()
            if cancelled:
                writer.close()
                self._count(-1)
                return
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
        try:
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        except OSError:
            pass
        self._count(-1)

    async def _work(self, lasts: float) -> None:
        await self.t0.wait()
        await asyncio.sleep(lasts)

    def _count(self, change: int) -> None:
        self.busy += change
        say(f"busy {self.busy}")
        if self.closing and not self.busy:
            os._exit(0)

    async def outbound(self, number: int, at: float, lasts: float) -> None:
        await self.t0.wait()
        await asyncio.sleep(at)
        waits = bool(self.settings["waits_for_calls"])
        self.busy += waits
        outcome = await call(int(str(self.settings["outbound"])), lasts)
        say(f"outbound {number} {outcome}")
        self._count(-waits)

    async def stop(self, server: asyncio.Server) -> None:
        if self.settings["behaviour"] == "abrupt":
            os._exit(0)
        if self.settings["behaviour"] == "ignoring":
            return
        await asyncio.sleep(float(str(self.settings["drain"])))
        server.close()
        self.closing = True
        if not self.busy:
            os._exit(0)

    async def run(self) -> None:
        port = int(str(self.settings["port"]))
        server = await asyncio.start_server(self.serve, "127.0.0.1", port, backlog=256)
        loop = asyncio.get_running_loop()
        stopping: list[asyncio.Task[None]] = []
        loop.add_signal_handler(
            signal.SIGTERM, lambda: stopping.append(loop.create_task(self.stop(server)))
        )
        loop.add_reader(0, self._told)
        calls = self.settings["calls"]
        assert isinstance(calls, list)
        tasks = [
            asyncio.create_task(self.outbound(number, at, lasts))
            for number, (at, lasts) in enumerate(calls)
        ]
        pool = int(str(self.settings["pool"]))
        say("listening")
        await self.connect.wait()
        self.held = [await idle(int(str(self.settings["outbound"]))) for _ in range(pool)]
        say("ready")
        await asyncio.Event().wait()
        await asyncio.gather(*tasks)

    def _told(self) -> None:
        text = os.read(0, 1024)
        if b"connect" in text:
            self.connect.set()
        if b"t0" in text:
            self.t0.set()


if __name__ == "__main__":
    die_with_parent()
    asyncio.run(App(json.loads(sys.argv[1])).run())
