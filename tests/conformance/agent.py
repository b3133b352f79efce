"""The pilot-agent: ``python -m tests.conformance.agent`` with its settings as JSON.

Does what istio's pkg/envoy/agent.go, proxy.go, admin.go and status/server.go do, as the facts describe:
starts Envoy with Istio's flags, answers POST /drain, and at SIGTERM drains and ends Envoy with
SIGKILL. All durations are real seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from typing import Any

from tests.conformance.process import die_with_parent, say


async def admin(port: int, method: str, path: str, timeout: float = 2.0) -> str | None:
    """One call of Envoy's admin interface; None where it fails."""
    try:
        async with asyncio.timeout(timeout):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            request = f"{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
            writer.write(request.encode())
            await writer.drain()
            answer = await reader.read()
            writer.close()
    except (OSError, TimeoutError):
        return None
    head, _, body = answer.partition(b"\r\n\r\n")
    return body.decode() if head.split()[1:2] == [b"200"] else None


class Agent:
    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.drained = False
        self.stopped = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stopped.set)
        flags = ["--drain-time-s", str(self.settings["drain_time_s"]), "--drain-strategy"]
        flags += ["immediate", "--local-address-ip-version", "v4", "--file-flush-interval-msec"]
        flags += ["1000", "--disable-hot-restart", "--allow-unknown-static-fields"]
        flags += ["--concurrency", "1", "--log-level", "critical"]
        envoy = await asyncio.create_subprocess_exec(
            self.settings["binary"],
            "--config-yaml",
            json.dumps(self.settings["bootstrap"]),
            *flags,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            preexec_fn=die_with_parent,
        )
        port = self.settings["admin"]
        while "LIVE" not in (await admin(port, "GET", "/ready") or ""):
            if envoy.returncode is not None:
                say("failed")
                return
            await asyncio.sleep(0.02)
        await asyncio.start_server(self._status, "127.0.0.1", self.settings["status"])
        say("ready")
        await self.stopped.wait()
        await self._terminate()
        envoy.kill()
        await envoy.wait()
        say("gone")
        os._exit(0)

    async def _status(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"POST /drain "):
            await self._drain("&skip_exit")
            self.drained = True
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def _drain(self, suffix: str = "") -> None:
        path = f"/drain_listeners?inboundonly&graceful{suffix}"
        await admin(self.settings["admin"], "POST", path)

    async def _terminate(self) -> None:
        if self.drained:
            return
        await self._drain()
        if not self.settings["exit_on_zero"]:
            await asyncio.sleep(self.settings["termination_drain"])
            return
        await asyncio.sleep(self.settings["minimum_drain"])
        # A ticker: looks at fixed times, however long a look takes.
        loop = asyncio.get_running_loop()
        look = loop.time()
        failures = 0
        while True:
            look += self.settings["poll"]
            await asyncio.sleep(max(0.0, look - loop.time()))
            stats = await admin(
                self.settings["admin"], "GET", "/stats?usedonly&filter=downstream_cx_active$"
            )
            if stats is None:
                failures += 1
                if failures == 5:
                    return
                continue
            failures = 0
            if _open(stats) <= 0:
                return


def _open(stats: str) -> int:
    """Return the connections open on listeners, except the admin's; -1 without a figure."""
    total, found = 0, False
    for line in stats.splitlines():
        name, _, value = line.partition(": ")
        found = True
        if name.startswith("listener.") and "worker_" not in name and "admin" not in name:
            total += int(value)
    return total if found else -1


if __name__ == "__main__":
    die_with_parent()
    asyncio.run(Agent(json.loads(sys.argv[1])).run())
