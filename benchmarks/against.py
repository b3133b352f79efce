"""Compare two installed versions: ``python -m benchmarks.against OLD NEW``.

Both run in turn on the same input. Printed is the CPU time of NEW divided by that of OLD, the
median with the quartiles, so no figure of another machine matters. Exits with 1 where a median is
above ``--limit``.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import write_corpus

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Print the table; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--limit", type=float, default=1.2)
    options = parser.parse_args()
    worst = 0.0
    sys.stdout.write("| input | new / old | quartiles |\n|---|---|---|\n")
    with TemporaryDirectory() as folder:
        corpus = Path(folder)
        write_corpus(corpus, 1)
        inputs = {
            "one file": [str(ROOT / "examples" / "shop" / "frontend.yaml")],
            "the example shop": [str(ROOT / "examples")],
            "the generated corpus": [folder],
            "the generated corpus as JSON": ["--format", "json", folder],
        }
        for name, arguments in inputs.items():
            ratios = [_ratio(options.old, options.new, arguments) for _ in range(options.times)]
            low, middle, high = statistics.quantiles(ratios, n=4)
            worst = max(worst, middle)
            sys.stdout.write(f"| {name} | {middle:.2f} | {low:.2f} to {high:.2f} |\n")
            sys.stdout.flush()
    return int(worst > options.limit)


def _ratio(old: str, new: str, arguments: list[str]) -> float:
    before = _processor_time(old, arguments)
    return _processor_time(new, arguments) / before


def _processor_time(program: str, arguments: list[str]) -> float:
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, "check", "--fail-on", "never", *arguments]
    subprocess.run(command, check=False, capture_output=True, cwd=ROOT)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


if __name__ == "__main__":
    sys.exit(main())
