"""All programs that are installed: ``python -m tests.programs``.

``--table`` prints predictions and observations, ``--record`` stores what was seen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.programs.cases import CASES
from tests.programs.compare import Result, compare, store
from tests.programs.run import missing
from tests.shell.conformance.run import can_run


def main() -> None:
    """Run, and print what contradicts the predictions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true", help="only say how many could run")
    asked = parser.parse_args()
    if asked.list:
        ready = sum(not missing(case) for case in CASES) if can_run() else 0
        sys.stdout.write(
            f"{ready} of {len(CASES)} can be run here; each second one is, for a change\n"
        )
        return
    if not can_run():
        sys.exit("a pid namespace cannot be made here: nothing was run")
    cases = [case for case in CASES if asked.only in case.name]
    here = [case for case in cases if not missing(case)]
    for case in cases:
        if case not in here:
            sys.stdout.write(f"{case.name}: skipped, not installed: {', '.join(missing(case))}\n")
    with tempfile.TemporaryDirectory() as folder:
        results = compare(here, Path(folder))
    for result in results:
        if asked.table:
            sys.stdout.write(row(result))
        if result.seen is None:
            sys.stdout.write(f"{result.case.name}: did not come up\n")
        for problem in result.problems:
            sys.stdout.write(f"{result.case.name}: {problem}\n")
    if asked.record:
        store(results)
    ran = [result for result in results if result.seen is not None]
    wrong = sum(bool(result.problems) for result in ran)
    sys.stdout.write(f"{len(ran)} of {len(cases)} programs ran, {wrong} not as predicted\n")
    sys.exit(1 if wrong else 0)


def row(result: Result) -> str:
    """Return a row of the table in docs/conformance.md."""
    cells = [result.case.name]
    for name in ("in_flight", "new", "reused", "long"):
        predicted = " or ".join(getattr(result.predicted, name))
        seen = getattr(result.seen, name) if result.seen is not None else ""
        cells.append(f"{predicted} / {seen}" if predicted or seen else "")
    ended = result.seen.exit if result.seen is not None else None
    cells.append(f"{ended:.1f}" if ended is not None else "-")
    return "| " + " | ".join(cells) + " |\n"


if __name__ == "__main__":
    main()
