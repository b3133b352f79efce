"""The process that checks everything while the server answers its editor."""

from __future__ import annotations

import os
import threading
from multiprocessing import parent_process

#: It gives way to the server, and to the person's other programs.
_NICENESS = 10


def begin_process() -> None:
    """Prepare the process: it ends with the server, however that ends."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    threading.Thread(target=_end_with_server, daemon=True).start()


def _end_with_server() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(0)
