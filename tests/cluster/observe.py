"""What containers do: the events of containerd, and the logs of the test server."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from datetime import datetime
from typing import TYPE_CHECKING

from tests.cluster.node import FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.cluster.node import Node


class ContainerExits:
    """Collects when containers end, by their ids (containerd says it to the nanosecond)."""

    def __init__(self, node: Node) -> None:
        self._command = ["ctr", f"--address={node.socket}", "--namespace=k8s.io", "events"]
        self._ended: dict[str, float] = {}
        self._changed = threading.Condition()

    def __enter__(self) -> ContainerExits:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self._read, daemon=True).start()
        time.sleep(0.5)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def wait(self, ids: Iterable[str], seconds: float) -> dict[str, float]:
        """Return when each of them ended; those that did not within the time are left out."""
        wanted, deadline = set(ids), time.monotonic() + seconds
        with self._changed:
            while not wanted <= set(self._ended) and time.monotonic() < deadline:
                self._changed.wait(max(0.05, deadline - time.monotonic()))
            return {each: self._ended[each] for each in wanted if each in self._ended}

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if " /tasks/exit " not in line:
                continue
            event = json.loads(line[line.index("{") :])
            # The end of a hook's command has another id than its container.
            if event.get("id", event["container_id"]) != event["container_id"]:
                continue
            text = event["exited_at"]
            at = datetime.fromisoformat(text[:26].rstrip("Z") + "+00:00").timestamp()
            with self._changed:
                self._ended.setdefault(event["container_id"], at)
                self._changed.notify_all()


def read_log(pod: str, container: str) -> dict[str, float]:
    """Return the events that a test server wrote down, with the times of day."""
    path = FOLDER / "logs" / pod / container
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return {}
    found: dict[str, float] = {}
    for line in lines:
        event, _, at = line.rpartition(" ")
        found.setdefault(event, float(at))
    return found
