"""Work shared between two processes, where a second processor is there and the work is worth it."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def in_two(
    items: Sequence[_Item], work: Callable[[Sequence[_Item]], _Result], *, worth: int
) -> list[_Result]:
    """The results of ``work`` on the items, in their order: on all, or on each half by itself.

    A second process, a fork of this one, does the second half where there are ``worth`` items;
    what it fails to do is done here after all, so that an error shows as it would without it.
    """
    if len(items) < worth or not _possible():
        return [work(items)]
    import signal  # noqa: PLC0415 - small runs do without these

    middle = len(items) // 2
    child, pipe = _forked(items[middle:], work)
    try:
        first = work(items[:middle])
        second = _received(pipe)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        pipe.close()
        os.waitpid(child, 0)
    return [first, work(items[middle:]) if second is None else second]


def _possible() -> bool:
    # Forking is safe on Linux, and only while no other thread may hold a lock.
    return (
        sys.platform == "linux"
        and len(os.sched_getaffinity(0)) > 1
        and threading.active_count() == 1
    )


def _forked(
    items: Sequence[_Item], work: Callable[[Sequence[_Item]], _Result]
) -> tuple[int, BinaryIO]:
    """The child's process and the pipe that it answers through."""
    import pickle  # noqa: PLC0415

    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, os.fdopen(reading, "rb")
    try:  # nothing of the parent's may run here: no handlers, no flushing of what it has written
        os.close(reading)
        answer = work(items)
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(answer, pipe, pickle.HIGHEST_PROTOCOL)
    finally:
        os._exit(0)


def _received(pipe: BinaryIO) -> Any:
    """What the child sends; None where it could not finish. Nobody else holds this pipe."""
    import pickle  # noqa: PLC0415

    try:
        return pickle.load(pipe)
    except (EOFError, pickle.UnpicklingError):
        return None
