"""Tasks of one run in several processes, where that is possible and pays."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from shutdownlint import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from multiprocessing.connection import Connection

_Result = TypeVar("_Result")

#: More processes than this were not measured to be faster.
_MOST_PROCESSES: Final = 4
_THREADS: Final = Path("/proc/self/task")


def process_count() -> int:
    """Return how many processes may share the work.

    A copy of this process has everything that was read, so the parts need not be sent to it. That
    is only safe on Linux, and while this process has a single thread.
    """
    if sys.platform != "linux" or len(list(_THREADS.iterdir())) > 1:
        return 1
    return min(len(os.sched_getaffinity(0)), _MOST_PROCESSES)


def run_tasks(tasks: Sequence[Callable[[], _Result]]) -> Iterator[_Result]:
    """Yield the results of tasks, in their order. The first task runs here, the others in copies.

    A task whose process ends without a result (killed for its memory) runs here.
    """
    here, *others = tasks
    started = []
    for task in others:
        from multiprocessing import get_context  # noqa: PLC0415 - only for large runs

        context = get_context("fork")
        receiver, sender = context.Pipe(duplex=False)
        # A daemon process ends with this one.
        process = context.Process(target=_send_result, args=(task, sender), daemon=True)
        process.start()
        sender.close()
        started.append((task, process, receiver))
    yield here()
    for task, process, receiver in started:
        try:
            result, reads = receiver.recv()
            files.merge_reads(reads)
            yield result
        except EOFError:
            yield task()
        process.join()
        receiver.close()


def _send_result(task: Callable[[], _Result], sender: Connection) -> None:
    try:
        with files.recording() as reads:
            result = task()
        sender.send((result, reads))
    except (KeyboardInterrupt, BrokenPipeError):  # the run has been stopped
        os._exit(1)
