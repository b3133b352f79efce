"""Runs that are killed while they write: ``python -m tests.kills --kills 300``.

Every file is then whole, the old one or the new one; nothing is left beside them except after
SIGKILL, and the next run removes that.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.helpers import POD

FILES = 150
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
#: A background job of a shell inherits that SIGINT is ignored: the default must be set again.
START = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "import runpy; runpy.run_module('shutdownlint', run_name='__main__', alter_sys=True)"
)


def run(folder: Path, number: int, rng: Random) -> tuple[str, list[str]]:
    """One run that is killed; the signal, and what is wrong afterwards."""
    chosen = SIGNALS[number % len(SIGNALS)]
    for index in range(FILES):
        (folder / f"{index}.yaml").write_text(POD)
    cache = folder / "cache"
    environment = {**os.environ, "SHUTDOWNLINT_CACHE_DIR": str(cache)}
    if number % 4 == 0:  # the cache is written as well
        for entry in cache.glob("rules-*"):
            entry.unlink()
    command = ["check", "--fix", "--format", "json", "-o", "report.json", "."]
    process = subprocess.Popen(
        [sys.executable, "-c", START, *command],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # Half of them after the first file has been written, when most of the writing is done.
    until = time.monotonic() + (rng.uniform(0.1, 1.5) if number % 2 else 5)
    while time.monotonic() < until and process.poll() is None:
        if number % 2 == 0 and (folder / "0.yaml").read_text() != POD:
            time.sleep(rng.uniform(0, 0.05))
            break
        time.sleep(0.002)
    process.send_signal(chosen)
    process.wait(30)
    wrong = []
    texts = Counter((folder / f"{index}.yaml").read_text() for index in range(FILES))
    if len(set(texts) - {POD}) > 1:
        wrong.append(f"{len(texts)} different texts")
    left = [path.name for path in folder.rglob(".*.shutdownlint")]
    if left and chosen is not signal.SIGKILL:
        wrong.append(f"left: {left}")
    if left:
        (folder / "0.yaml").write_text(POD)
        done = subprocess.run(
            [sys.executable, "-m", "shutdownlint", "check", "--fix", "."],
            cwd=folder,
            env=environment,
            capture_output=True,
            check=False,
        )
        still = [path.name for path in folder.glob(".*.shutdownlint")]
        if still or b"Traceback" in done.stderr:
            wrong.append(f"not removed: {still}")
    written = texts.total() - texts[POD]
    return f"{chosen.name}{' while it wrote' if 0 < written < FILES else ''}", wrong


def main() -> None:
    """Kill so many runs, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng, counts, bad = Random(asked.seed), Counter[str](), 0
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cache").mkdir()
        for number in range(asked.kills):
            shown, wrong = run(folder, number, rng)
            counts[shown] += 1
            bad += bool(wrong)
            for text in wrong:
                sys.stdout.write(f"{number} {shown}: {text}\n")
    for shown, count in sorted(counts.items()):
        sys.stdout.write(f"{shown}: {count}\n")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
