"""Runs a script with a real shell as process 1 of its own namespace, and stops it."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

APP: Final = Path(__file__).with_name("app.py")
#: The commands of the five shells; ``ash`` is busybox's.
SHELLS: Final = {
    "dash": ("dash",),
    "bash": ("bash",),
    "ash": ("busybox", "ash"),
    "mksh": ("mksh",),
    "ksh93": ("ksh93",),
}
SIGNALED, LOST, KILLED = "signaled", "lost", "killed"
_UNSHARE: Final = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def can_run() -> bool:
    """Whether this machine gives a process a pid namespace of its own."""
    if shutil.which("unshare") is None:
        return False
    done = subprocess.run([*_UNSHARE, "true"], capture_output=True, check=False)
    return done.returncode == 0


def installed_shells() -> list[str]:
    return [name for name, command in SHELLS.items() if shutil.which(command[0])]


def observe(command: Sequence[str], seconds: float = 1.0) -> str:
    """Observe what happens to the app when the first process gets SIGTERM."""
    with tempfile.TemporaryDirectory() as folder:
        marker = Path(folder) / "marker"
        program = Path(folder) / "app"
        program.write_text(f"#!{sys.executable} -SI\n" + APP.read_text())
        program.chmod(0o755)
        environment = {
            "PATH": f"{folder}:{os.environ['PATH']}",
            "MARKER": str(marker),
            "CMD": "app",
        }
        with subprocess.Popen(
            [*_UNSHARE, *command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                return _stop(process, marker, seconds)
            finally:
                process.kill()


def _stop(process: subprocess.Popen[bytes], marker: Path, seconds: float) -> str:
    for _ in range(400):
        if marker.exists() and b"ready" in marker.read_bytes():
            break
        if process.poll() is not None:
            return "did not start"
        time.sleep(0.025)
    else:
        return "did not start"
    time.sleep(0.1)
    os.kill(_first_process(process.pid), signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if b"signaled" in marker.read_bytes():
            return SIGNALED
        if not _is_running(marker):
            time.sleep(0.05)
            return SIGNALED if b"signaled" in marker.read_bytes() else KILLED
        time.sleep(0.02)
    return LOST


def _first_process(unshare: int) -> int:
    children = Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()
    return int(children[0])


def _is_running(marker: Path) -> bool:
    with marker.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
