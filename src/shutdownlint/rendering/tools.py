"""The programs that render: found, started and limited in one place."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint import limits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: Nothing is fetched: no transport is allowed to git, and HTTP goes to a port that is closed.
_OFFLINE: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), "http://[::1]:1"),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), ""),
}


class ToolError(Exception):
    """A rendering that was not made; the text says why."""


class Tools:
    """Runs programs within a time that they share. ``network``: they may fetch what they need."""

    def __init__(self, *, network: bool = False) -> None:
        self._environment = {**os.environ, **({} if network else _OFFLINE)}
        self._until = time.monotonic() + limits.MAX_RENDERINGS_SECONDS

    def run(self, command: Sequence[str]) -> bytes:
        """Return the output of a program. Raises ``ToolError``."""
        program = find_program(command[0], os.environ)
        if program is None:
            raise ToolError(f"{command[0]} is not installed to render it with")
        limit = min(limits.MAX_RENDERING_SECONDS, self._until - time.monotonic())
        if limit <= 0:
            raise ToolError(
                f"all renderings together take longer than {limits.MAX_RENDERINGS_SECONDS}s"
            )
        return _run([program, *command[1:]], self._environment, limit)


def find_program(name: str, environment: Mapping[str, str]) -> str | None:
    """Return a program of the search path; never one of the current folder, on any system."""
    endings = [""]
    if sys.platform == "win32":
        endings = environment.get("PATHEXT", ".EXE").lower().split(os.pathsep)
    for folder in environment.get("PATH", "").split(os.pathsep):
        if not os.path.isabs(folder):  # noqa: PTH117 - a string of the environment
            continue
        for ending in endings:
            path = Path(folder) / f"{name}{ending}"
            if path.is_file() and os.access(path, os.X_OK):
                return str(path)
    return None


class _Output(Struct):
    """The output of a program. ``full``: there is more than is read."""

    data: bytearray
    full: bool = False


def _run(command: list[str], environment: Mapping[str, str], limit: float) -> bytes:
    name = Path(command[0]).stem
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
    except OSError as error:
        raise ToolError(f"{name}: {error.strerror or error}") from None
    out, errors = _Output(bytearray()), _Output(bytearray())
    readers = [
        threading.Thread(target=_read, args=(stream, output, most, process), daemon=True)
        for stream, output, most in (
            (process.stdout, out, limits.MAX_RENDERING_BYTES),
            (process.stderr, errors, limits.MAX_RENDERING_ERROR_BYTES),
        )
    ]
    for reader in readers:
        reader.start()
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise ToolError(f"{name} took longer than {limit:.0f}s") from None
    except BaseException:
        process.kill()
        raise
    finally:
        for reader in readers:
            reader.join(1)
    if out.full:
        raise ToolError(f"{name} wrote more than {limits.MAX_RENDERING_BYTES // 1024**2} MiB")
    if process.returncode:
        text = bytes(errors.data).decode("utf-8", "replace").strip()
        lines = text.splitlines() or [f"it ended with {process.returncode}"]
        why = next((line for line in lines if line.startswith("Error")), lines[-1])
        raise ToolError(f"{name} {command[1]}: {why}")
    return bytes(out.data)


def _read(stream: IO[bytes], output: _Output, most: int, process: subprocess.Popen[bytes]) -> None:
    """Read all that a program writes; one that writes more is stopped."""
    with stream:
        while data := stream.read(65536):
            if len(output.data) + len(data) <= most:
                output.data += data
            elif not output.full:
                output.full = True
                if most == limits.MAX_RENDERING_BYTES:
                    process.kill()
