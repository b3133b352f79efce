"""Run a command within the namespaces of a node; ``python -m tests.cluster`` calls it."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tests.cluster import (
    drains,
    endpoints,
    fields,
    jobs,
    pods,
    policies,
    reading,
    rollouts,
    starting,
)
from tests.cluster.binaries import CACHE
from tests.cluster.node import FOLDER, Node

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

#: Suites of random cases: each compares the cases of a range of seeds with the model.
SUITES: Final[dict[str, Callable[[Node, range], Any]]] = {
    "pods": pods.compare,
    "rollouts": rollouts.compare,
    "drains": drains.compare,
    "jobs": jobs.compare,
    "starting": starting.compare,
}
#: What is measured: when Services stop sending, by either mode of kube-proxy.
MEASURED: Final = ("endpoints", "endpoints-nftables")
RESULTS: Final = CACHE / "results"


def results_file(suite: str, version: str, first: int) -> Path:
    """Return the file that has the results of a run."""
    return RESULTS / f"{suite}-{version}-{first}.json"


def main() -> int:
    """Run the command that is named: its words are the command, the version, and two numbers."""
    command, version, *rest = sys.argv[1:]
    first, count = map(int, rest)
    if command == "fields":
        with Node(version, api_only=True) as node:
            answers = fields.record(node.api, node.version)
        sys.stdout.write(f"{answers:,} answers of kube-apiserver {node.version}\n")
        return 0
    if command == "policies":
        with Node(version, api_only=True, api_options=policies.OPTIONS) as node:
            return policies.compare(node)
    if command == "reading":
        with Node(version, api_only=True, api_options=reading.audit_options(FOLDER)) as node:
            return reading.compare(node, count)
    nftables = command == "endpoints-nftables"
    with Node(version, proxy_mode="nftables" if nftables else "iptables") as node:
        if command == "serve":
            sys.stdout.write(f"the node of {version} is up\n")
            sys.stdout.flush()
            signal.pause()
        if command in MEASURED:
            found: Any = endpoints.measure(node, count)
        else:
            found = SUITES[command](node, range(first, first + count))
    RESULTS.mkdir(parents=True, exist_ok=True)
    results_file(command, version, first).write_bytes(msgspec.json.encode(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
