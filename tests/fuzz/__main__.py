"""The long run: ``python -m tests.fuzz --inputs 2000000 --seed 1``.

Failures are printed, and stored in ``tests/fuzz/found``, where the tests try it again.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from random import Random

from tests.fuzz.targets import TARGETS

FOUND = Path(__file__).parent / "found"
#: An input that takes longer than this, in seconds, has gone wrong.
HANG = 20


def _hangs(*_: object) -> None:
    raise TimeoutError(f"not done after {HANG} s")


def main() -> None:
    """Run, and print the count of each target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=TARGETS, action="append")
    asked = parser.parse_args()
    chosen = {name: TARGETS[name] for name in asked.target or TARGETS}
    shares = sum(share for _, share in chosen.values())
    wrong = 0
    signal.signal(signal.SIGALRM, _hangs)
    for name, (target, share) in chosen.items():
        rng, begin, count = Random(f"{name} {asked.seed}"), time.monotonic(), 0
        for _ in range(asked.inputs * share // shares):
            data = target.make(rng)
            signal.alarm(HANG)
            try:
                target.check(data)
            except Exception as error:
                wrong += 1
                kept = FOUND / f"{name}-{asked.seed}-{wrong}"
                kept.write_bytes(data)
                sys.stdout.write(f"{kept.name}: {type(error).__name__}: {error}\n")
                if wrong == 20:
                    sys.exit("20 inputs went wrong: enough")
            count += 1
        signal.alarm(0)
        sys.stdout.write(f"{name}: {count:,} inputs in {time.monotonic() - begin:.0f} s\n")
        sys.stdout.flush()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
