"""Build and run a Kubernetes node, and compare the model with it.

``build`` makes the programs, ``check`` says whether they are there, ``up`` and ``down`` start and stop a node for trying things by hand
(``kubectl`` runs in it), ``fields`` asks the API server for its verdicts, ``policies`` compares generated
policies with ``check``, ``reading`` checks what it has with ``--cluster``, and the suites run random
cases: ``pods``, ``starting``, ``jobs``, ``rollouts``, ``drains``. ``endpoints`` and
``endpoints-nftables`` measure. ``table`` prints the stored results.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.cluster.binaries import CACHE, VERSION, build, folder, install, missing
from tests.cluster.inside import MEASURED, SUITES
from tests.cluster.node import FOLDER, ROOT, inside
from tests.cluster.table import write_table

_PROCESS: Final = CACHE / "node.pid"
#: So many cases run in one node; a run of more takes several nodes, one after the other.
_BATCH: Final = 200


def main() -> int:
    """Run the command that is named."""
    parser = argparse.ArgumentParser(prog="python -m tests.cluster", description=__doc__)
    commands = [
        "build",
        "check",
        "up",
        "down",
        "kubectl",
        "fields",
        "reading",
        "policies",
        *SUITES,
        *MEASURED,
        "table",
    ]
    parser.add_argument("command", choices=commands)
    parser.add_argument("--kubernetes", default=VERSION, help="the version of the node")
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=20, help="the number of cases")
    options, words = parser.parse_known_args()
    version = options.kubernetes
    if options.command == "build":
        install()
        build(version)
    elif options.command == "table":
        sys.stdout.write(write_table())
    elif options.command == "down":
        _stop()
    elif options.command == "kubectl":
        return _kubectl(version, words)
    elif lacking := missing(version):
        sys.stderr.write(f"not there: {', '.join(lacking)}; build them: tests.cluster build\n")
        return 2
    elif options.command == "check":
        return 0
    elif options.command == "up":
        return _start(version)
    else:
        return _run(options.command, version, options.first, options.count)
    return 0


def _run(command: str, version: str, first: int, count: int) -> int:
    batch = count if command == "reading" else _BATCH
    for begin in range(first, first + count, batch):
        size = min(batch, first + count - begin)
        words = inside(command, version, str(begin), str(size))
        code = subprocess.run(words, cwd=ROOT, check=False).returncode
        if code:
            return code
    if command not in ("fields", "reading", "policies"):
        sys.stdout.write(write_table(command))
    return 0


def _start(version: str) -> int:
    _stop()
    words = inside("serve", version, "0", "0")[3:]  # this process does not stay as its parent
    node = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert node.stdout is not None
    line = node.stdout.readline()
    if not line:
        return node.wait()
    _PROCESS.write_text(str(node.pid))
    sys.stdout.write(line)
    return 0


def _stop() -> None:
    if _PROCESS.is_file():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(_PROCESS.read_text()), signal.SIGKILL)
        _PROCESS.unlink()


def _kubectl(version: str, words: list[str]) -> int:
    """Run kubectl in the namespaces of the node that is up."""
    if not _PROCESS.is_file():
        sys.stderr.write("no node is up\n")
        return 2
    parent = _PROCESS.read_text()
    first = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0]
    program = [str(folder(version) / "kubectl"), f"--kubeconfig={FOLDER / 'kubeconfig'}"]
    command = ["nsenter", f"--target={first}", "--mount", "--net", "--pid", *program, *words]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
