"""Compare two installed versions: ``python -m benchmarks.against OLD NEW``.

Both run in turn on the same input, without what they keep between runs. Printed is the CPU time of
NEW divided by that of OLD, the median with the quartiles, so no figure of another machine matters.
Exits with 1 where a median is above ``--limit``.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import write_corpus
from benchmarks.timing import Command, alternate, say, spread

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
    say("| input | new / old |\n|---|---|")
    with TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        write_corpus(corpus, 1)
        inputs = {
            "one file": [str(ROOT / "examples" / "shop" / "frontend.yaml")],
            "the example shop": [str(ROOT / "examples")],
            "the generated corpus": [str(corpus)],
            "the generated corpus as JSON": ["--format", "json", str(corpus)],
        }
        for name, arguments in inputs.items():
            old, new = (_check(program, arguments) for program in (options.old, options.new))
            alternate([old, new], options.times)
            ratios = new.ratios(old)
            worst = max(worst, statistics.median(ratios))
            say(f"| {name} | {spread(ratios)} |")
    return int(worst > options.limit)


def _check(program: str, arguments: list[str]) -> Command:
    """Return a check with a version, of everything in each run."""
    shown = subprocess.run([program, "check", "--help"], capture_output=True, text=True, check=True)
    everything = ["--no-cache"] if "--no-cache" in shown.stdout else []
    words = [program, "check", "--fail-on", "never", *everything, *arguments]
    return Command(program, words, folder=ROOT)


if __name__ == "__main__":
    sys.exit(main())
