"""Run a command within the namespaces of a node; ``python -m tests.cluster`` calls it."""

from __future__ import annotations

import sys

from tests.cluster import fields
from tests.cluster.node import Node


def main() -> int:
    """Run the command that is named."""
    command, *_ = sys.argv[1:]
    if command == "fields":
        with Node(api_only=True) as node:
            count = fields.record(node.api, node.version)
        sys.stdout.write(f"{count:,} answers of kube-apiserver {node.version}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
