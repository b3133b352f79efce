"""Common needs of all child processes: to die with the parent, and to listen on loopback only."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask the kernel for SIGKILL when the parent ends, however it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        os._exit(1)


def say(text: str) -> None:
    """Print a line for the harness at once."""
    os.write(1, f"{text}\n".encode())
