"""Runs a program as process 1 of its own namespace, with requests, and stops it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from msgspec import Struct

from tests.ports import PORTS
from tests.programs.client import Client, TooEarlyError, ask_once, is_up

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.programs.cases import Case

APPS: Final = Path(__file__).with_name("apps")
#: Where programs that pip installs for this suite are.
PROGRAMS: Final = Path(__file__).parents[1] / ".cache" / "programs" / "bin"
UNSHARE: Final = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
#: The request that is in flight at the signal, and when later ones are sent, in seconds.
IN_FLIGHT: Final = 4.0
LATE_AT: Final = 1.5
#: A program that still runs so long after its signal ignores it, or waits for more than requests.
_WATCHED: Final = 14.0
#: The time before the signal at which requests in flight are sent.
_BEFORE: Final = 0.4
_Process: TypeAlias = "subprocess.Popen[bytes]"
_Result = TypeVar("_Result")


class Seen(Struct, frozen=True):
    """The outcomes of the requests: in flight, on a new connection, on an idle one, a long one.

    ``exit`` is when the program ended, in seconds after the signal; None if it still ran.
    """

    in_flight: str
    new: str
    reused: str
    long: str
    exit: float | None


def search_path() -> str:
    """Return where programs are looked for."""
    return f"{PROGRAMS}:{os.environ['PATH']}:/usr/sbin:/sbin"


def missing(case: Case) -> list[str]:
    """Return the programs that a case needs and that are not here."""
    return [name for name in case.needs if shutil.which(name, path=search_path()) is None]


class Asked(Struct, frozen=True):
    """A request: when it arrives and how long it takes, in seconds. ``seen`` is what became of it."""

    arrival: float
    duration: float
    seen: str = ""


def observe(case: Case) -> Seen | None:
    """Run a case; None where the program does not come up."""
    return _with_program(case, _stop)


def observe_requests(case: Case, requests: Sequence[Asked]) -> list[Asked] | None:
    """Run a case with these requests; None where the program does not come up."""

    def send(case: Case, process: _Process, port: int) -> list[Asked]:
        return _send(case, process, port, requests)

    return _with_program(case, send)


def _with_program(case: Case, stop: Callable[[Case, _Process, int], _Result]) -> _Result | None:
    with tempfile.TemporaryDirectory(prefix="program-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(APPS, folder, dirs_exist_ok=True)
        port, backend = PORTS.take(), PORTS.take()
        helper = _start_helper(case, folder, port, backend)
        try:
            return _run(case, folder, port, backend, stop)
        except TooEarlyError:
            raise AssertionError(f"{case.name}: something else than the app answered") from None
        finally:
            if helper is not None:
                helper.kill()
                helper.wait()


def _start_helper(case: Case, folder: Path, port: int, backend: int) -> _Process | None:
    """Start the server behind the program, or the one in front of it."""
    if case.fastcgi:
        command = [sys.executable, "fcgi_front.py", str(port), str(backend), f"{folder}/index.php"]
        return subprocess.Popen(
            command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    return _start_backend(folder, backend) if case.backend else None


def _start_backend(folder: Path, port: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PORT": str(port)}
    process = subprocess.Popen(
        [sys.executable, "plain.py"],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _wait_until_up(port, process)
    return process


def _wait_until_up(port: int, process: subprocess.Popen[bytes]) -> bool:
    for _ in range(300):
        if is_up(port):
            return True
        if process.poll() is not None:
            return False
        time.sleep(0.1)
    return False


def _run(
    case: Case,
    folder: Path,
    port: int,
    backend: int,
    stop: Callable[[Case, _Process, int], _Result],
) -> _Result | None:
    values = {
        "{port}": str(port),
        "{backend}": str(backend),
        "{folder}": str(folder),
        "{config}": str(folder / "config"),
        "{config.yaml}": str(folder / "config.yaml"),
        "{go}": str(PROGRAMS / "go-server"),
        "{path}": f"{PROGRAMS}/",
        "{extra}": "",
    }
    for name in ("config", "config.yaml"):
        (folder / name).write_text(_fill(case.config, values))
    command = [_fill(word, values) for word in case.command]
    if case.prepare:
        subprocess.run(["sh", "-c", _fill(case.prepare, values)], check=True)
    environment = {
        "PATH": search_path(),
        "HOME": str(folder),
        "PORT": str(port),
        **{name: _fill(value, values) for name, value in case.env},
    }
    with subprocess.Popen(
        [*UNSHARE, *command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            if not _wait_until_up(port, process):
                return None
            time.sleep(1.0)  # some set their handlers after they listen
            return stop(case, process, port)
        finally:
            process.kill()


def _fill(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def _send(case: Case, process: _Process, port: int, requests: Sequence[Asked]) -> list[Asked]:
    """Send requests, some before the signal, and collect what became of them."""
    found: list[Asked] = []
    begin = threading.Event()

    def ask(request: Asked) -> None:
        if request.arrival > 0:
            begin.wait()
            time.sleep(request.arrival)
            seen = ask_once(port, request.duration)
        else:
            client = Client(port)
            client.send(request.duration + _BEFORE)
            seen = client.answer(request.duration + _BEFORE + 5)
            client.close()
        found.append(Asked(request.arrival, request.duration, seen))

    tasks = [threading.Thread(target=ask, args=(request,)) for request in requests]
    for task in tasks:
        task.start()
    time.sleep(_BEFORE)
    begin.set()
    os.kill(first_process(process), getattr(signal, case.signal or default_signal(case)))
    for task in tasks:
        task.join()
    return found


def first_process(process: _Process) -> int:
    """Return the number of the program in its namespace's parent."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children, "the program ended before it was stopped"
    return int(children[0])


def _stop(case: Case, process: _Process, port: int) -> Seen:
    first = first_process(process)
    idle, running, long = Client(port), Client(port), Client(port)
    idle.ask(0)
    time.sleep(0.3)
    keeps = not idle.is_closed()
    running.send(IN_FLIGHT)
    if case.limit:
        long.send(case.limit)
    time.sleep(0.4)
    begin = time.monotonic()
    os.kill(first, getattr(signal, case.signal or default_signal(case)))
    ended: list[float] = []
    watcher = threading.Thread(target=_watch, args=(process, begin, ended), daemon=True)
    watcher.start()
    found = {"long": "", "new": "", "reused": ""}

    def late() -> None:
        time.sleep(max(0.0, begin + LATE_AT - time.monotonic()))
        found["new"] = ask_once(port, 0)

    def reuse() -> None:
        time.sleep(max(0.0, begin + LATE_AT - time.monotonic()))
        found["reused"] = idle.ask(0) if keeps else ""

    def wait_long() -> None:
        found["long"] = long.answer(case.limit + 3)

    tasks = [threading.Thread(target=each) for each in (late, reuse)]
    if case.limit:
        tasks.append(threading.Thread(target=wait_long))
    for task in tasks:
        task.start()
    in_flight = running.answer(IN_FLIGHT + 3)
    running.close()
    for task in tasks:
        task.join()
    idle.close()
    long.close()
    watcher.join(max(0.0, begin + _WATCHED - time.monotonic()))
    return Seen(
        in_flight, found["new"], found["reused"], found["long"], ended[0] if ended else None
    )


def _watch(process: _Process, begin: float, ended: list[float]) -> None:
    process.wait()
    ended.append(time.monotonic() - begin)


def default_signal(case: Case) -> str:
    """Return the signal of an official image that the case names."""
    name = case.image.partition(":")[0]
    return {"nginx": "SIGQUIT", "haproxy": "SIGUSR1"}.get(name, "SIGTERM")
