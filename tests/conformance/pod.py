"""One case in processes: the pod is started, filled with requests, deleted and watched.

The kubelet's rules are written here again, from pkg/kubelet/kuberuntime, and share no code
with the model.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from tests.conformance.cases import NATIVE, Case
from tests.conformance.client import CUT, Http2, Kept, call, idle, idle_http2
from tests.conformance.envoy import bootstrap
from tests.ports import PORTS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

ROOT = Path(__file__).resolve().parents[2]
#: Real seconds per model second: half a model second then is enough for two busy processors.
SCALE = 0.4
#: Between the app's end and the sidecar's stop signal a real kubelet takes tens of milliseconds.
KUBELET_PAUSE = 0.02
MINIMUM_GRACE = 2.0
#: The length of a request that its caller cancels: model seconds.
UNENDING = 1000.0


class Held(Protocol):
    """A connection that is held open."""

    def close(self) -> None:
        """End it."""


@dataclass
class Observed:
    """The observations: the outcome of every request, inbound first, and the proxy's end."""

    outcomes: list[str] = field(default_factory=list)
    #: When each inbound request came to its end.
    ended: list[float] = field(default_factory=list)
    proxy_gone: float | None = None


class Process:
    """A child that reports on its standard output."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self.child = child
        self.printed: list[str] = []
        self.changed = asyncio.Condition()
        self.reader = asyncio.create_task(self._read())
        self.gone_at: float | None = None

    @classmethod
    async def start(cls, module: str, settings: dict[str, Any]) -> Process:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            f"tests.conformance.{module}",
            json.dumps(settings),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        return cls(child)

    async def _read(self) -> None:
        assert self.child.stdout is not None
        async for line in self.child.stdout:
            async with self.changed:
                self.printed.append(line.decode().strip())
                self.changed.notify_all()
        await self.child.wait()
        self.gone_at = asyncio.get_running_loop().time()

    async def hears(self, text: str, timeout: float = 30) -> None:
        """Wait until the last word of that kind is this one."""
        kind = text.split(maxsplit=1)[0]

        def last() -> bool:
            same = [line for line in self.printed if line.split()[0] == kind]
            return bool(same) and same[-1] == text

        async with asyncio.timeout(timeout), self.changed:
            await self.changed.wait_for(last)

    def signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.child.send_signal(number)

    async def ended(self, timeout: float) -> bool:
        """Whether it ends within so many real seconds."""
        try:
            async with asyncio.timeout(timeout):
                await self.child.wait()
        except TimeoutError:
            return False
        return True


class Kubelet:
    """Deletes the pod."""

    def __init__(self, case: Case, app: Process, agent: Process, status: int, scale: float) -> None:
        self.case = case
        self.scale = scale
        self.app = app
        self.agent = agent
        self.status = status
        self.t0 = asyncio.get_running_loop().time()

    def now(self) -> float:
        """Model seconds since the deletion."""
        return (asyncio.get_running_loop().time() - self.t0) / self.scale

    async def delete(self) -> None:
        sidecar = self._native() if self.case.mode == NATIVE else self._classic()
        await asyncio.gather(self._container(self.app, self.case.pre_stop), sidecar)

    async def _classic(self) -> None:
        await self._container(self.agent, self.case.proxy_pre_stop)

    async def _container(self, process: Process, hook: float) -> None:
        """Stop a regular container: its hook, at most the grace period long, then stop and kill."""
        left = float(self.case.grace)
        if hook and left > 0:
            took = min(hook, left)
            await asyncio.sleep(took * self.scale)
            left -= math.floor(took)
        await self._stop(process, left)

    async def _native(self) -> None:
        """Stop a native sidecar: its hook at once, its signal after the regular containers end."""
        if self.case.drain_hook:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.status)
            writer.write(b"POST /drain HTTP/1.1\r\nhost: x\r\n\r\n")
            await reader.read()
            writer.close()
        left = float(self.case.grace)
        await self.app.ended((left - self.now()) * self.scale)
        waited = math.floor(min(self.now(), left))
        await asyncio.sleep(KUBELET_PAUSE)
        await self._stop(self.agent, left - waited)

    async def _stop(self, process: Process, left: float) -> None:
        process.signal(signal.SIGTERM)
        if not await process.ended(max(left, MINIMUM_GRACE) * self.scale):
            process.signal(signal.SIGKILL)
            await process.child.wait()


@contextlib.asynccontextmanager
async def started(
    case: Case,
    binary: Path,
    scale: float = SCALE,
    starting: asyncio.Semaphore | None = None,
) -> AsyncIterator[tuple[Process, Process, dict[str, int]]]:
    """Start the app, the agent and their ports; both are ready, and are killed at the end.

    ``starting`` bounds how many pods start at the same time.
    """
    names = ("inbound", "outbound", "raw", "admin", "status", "app", "peer")
    ports = {name: PORTS.take() for name in names}
    peer = await asyncio.start_server(_peer, "127.0.0.1", ports["peer"])
    async with starting or contextlib.nullcontext():
        app = await Process.start("app", _app_settings(case, ports, scale))
        agent = await Process.start("agent", _agent_settings(case, ports, binary, scale))
        ready = asyncio.gather(app.hears("listening"), agent.hears("ready"))
        await asyncio.wait([ready])
    try:
        await ready
        assert app.child.stdin is not None
        app.child.stdin.write(b"connect\n")
        await app.hears("ready")
        yield app, agent, ports
    finally:
        for process in (app, agent):
            process.signal(signal.SIGKILL)
        peer.close()


async def observe(
    case: Case,
    binary: Path,
    scale: float = SCALE,
    starting: asyncio.Semaphore | None = None,
) -> Observed:
    """Run the case against a real Envoy, ``scale`` real seconds to a model second."""
    async with started(case, binary, scale, starting) as (app, agent, ports):
        return await _observe(case, app, agent, ports, scale)


async def _observe(
    case: Case, app: Process, agent: Process, ports: dict[str, int], scale: float
) -> Observed:
    held: list[Held] = []
    try:
        assert app.child.stdin is not None
        kept = [await Kept(ports["inbound"]).open() for _ in case.kept]
        held += [*kept, *[await idle(ports["inbound"]) for _ in range(case.idle)]]
        held += [await idle_http2(ports["inbound"]) for _ in range(case.idle_http2)]
        held += [(await _connect(ports["raw"])) for _ in range(case.idle_tcp)]
        running = [
            asyncio.create_task(call(ports["inbound"], lasts * scale)) for lasts in case.in_flight
        ]
        resets = [Http2(ports["inbound"]) for _ in case.resets]
        streams = [await client.ask(UNENDING * scale) for client in resets]
        held += resets
        work = len(running) + len(resets)
        # Deleted only when the app itself has every request that is to be in flight.
        await app.hears(f"busy {work}") if work else None
        kubelet = Kubelet(case, app, agent, ports["status"], scale)
        app.child.stdin.write(b"t0\n")
        running += [
            asyncio.create_task(_late(kubelet, ports["inbound"], arrives, lasts))
            for arrives, lasts in case.late
        ]
        running += [
            asyncio.create_task(client.cancel(stream, lasts * scale))
            for client, stream, lasts in zip(resets, streams, case.resets, strict=True)
        ]
        running += [
            asyncio.create_task(_later(kubelet, connection, arrives, lasts))
            for connection, (arrives, lasts) in zip(kept, case.kept, strict=True)
        ]
        ends = [0.0] * len(running)
        for number, task in enumerate(running):
            task.add_done_callback(_noting(ends, number, kubelet))
        await kubelet.delete()
        outcomes = list(await asyncio.wait_for(asyncio.gather(*running), 60))
        await asyncio.gather(app.reader, agent.reader)
        outcomes += [_outbound(app, number) for number in range(len(case.outbound))]
        gone = None if agent.gone_at is None else (agent.gone_at - kubelet.t0) / scale
        return Observed(outcomes, ends, gone)
    finally:
        for writer in held:
            writer.close()


def _noting(
    ends: list[float], number: int, kubelet: Kubelet
) -> Callable[[asyncio.Task[str]], None]:
    def note(_task: asyncio.Task[str]) -> None:
        ends[number] = kubelet.now()

    return note


async def _late(kubelet: Kubelet, port: int, arrives: float, lasts: float) -> str:
    await asyncio.sleep(max(0.0, (arrives - kubelet.now()) * kubelet.scale))
    return await call(port, lasts * kubelet.scale)


async def _later(kubelet: Kubelet, connection: Kept, arrives: float, lasts: float) -> str:
    await asyncio.sleep(max(0.0, (arrives - kubelet.now()) * kubelet.scale))
    return await connection.call(lasts * kubelet.scale)


async def _connect(port: int) -> asyncio.StreamWriter:
    """Return a connection on which nothing is sent."""
    return (await asyncio.open_connection("127.0.0.1", port))[1]


async def _peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the app's calls after as long as they ask for."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
        head = await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(float(head.split()[1].lstrip(b"/")))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
        await writer.drain()
    writer.close()


def _outbound(app: Process, number: int) -> str:
    """Return what the app printed about its call; cut, if it was killed before."""
    start = f"outbound {number} "
    return next((line.removeprefix(start) for line in app.printed if line.startswith(start)), CUT)


def _app_settings(case: Case, ports: dict[str, int], scale: float) -> dict[str, Any]:
    return {
        "port": ports["app"],
        "outbound": ports["outbound"],
        "behaviour": case.behaviour,
        "drain": case.drain * scale,
        "calls": [[at * scale, lasts * scale] for at, lasts in case.outbound],
        "waits_for_calls": case.waits_for_calls,
        "pool": case.pool,
    }


def _agent_settings(
    case: Case, ports: dict[str, int], binary: Path, scale: float
) -> dict[str, Any]:
    drain_time = case.drain_duration * scale
    assert drain_time == int(drain_time)
    return {
        "binary": str(binary),
        "bootstrap": bootstrap(ports, scale, case.idle_timeout),
        "admin": ports["admin"],
        "status": ports["status"],
        "drain_time_s": int(drain_time),
        "exit_on_zero": case.exit_on_zero,
        "minimum_drain": case.minimum_drain * scale,
        "termination_drain": case.termination_drain * scale,
        "poll": scale,
    }
