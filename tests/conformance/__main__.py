"""Long runs: ``python -m tests.conformance --cases 200 --seed 1000 [--envoy 1.40.0]``."""

from __future__ import annotations

import argparse
import sys
import time

from tests.conformance.cases import Case
from tests.conformance.compare import observe_all
from tests.conformance.compare import verdicts as compare_all
from tests.conformance.envoy import VERSIONS, binary
from tests.conformance.pod import Observed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="the first of consecutive seeds")
    parser.add_argument("--envoy", choices=VERSIONS, action="append", help="default: all pinned")
    options = parser.parse_args()
    worst = 0
    titles = ("Envoy", "seeds", "cases", "requests", "no verdict", "served or not", "exact kind")
    print(f"| {' | '.join((*titles, 'seconds'))} |")  # noqa: T201
    print(f"|{'---|' * (len(titles) + 1)}")  # noqa: T201
    for version in options.envoy or VERSIONS:
        seeds = range(options.seed, options.seed + options.cases)
        started = time.monotonic()
        envoy = binary(version)
        seen = observe_all([(seed, envoy) for seed in seeds], _dot)
        sys.stderr.write("\n")
        given = [verdict for case, observed in seen for verdict in compare_all(case, observed)]
        verdicts = [verdict for verdict in given if verdict.certain]
        agree = sum(verdict.agrees for verdict in verdicts)
        kind = sum(verdict.same_kind for verdict in verdicts)
        row = [version, f"{seeds[0]}-{seeds[-1]}", str(len(seeds)), str(len(given))]
        row += [str(len(given) - len(verdicts))]
        row += [f"{agree} ({agree / len(verdicts):.2%})", f"{kind} ({kind / len(verdicts):.2%})"]
        row += [f"{time.monotonic() - started:.0f}"]
        print(f"| {' | '.join(row)} |")  # noqa: T201
        for verdict in verdicts:
            if not verdict.same_kind:
                sys.stderr.write(f"{version}: {'' if verdict.agrees else 'WRONG '}{verdict}\n")
        for what in dict.fromkeys(verdict.what for verdict in verdicts):
            of = [verdict.agrees for verdict in verdicts if verdict.what == what]
            sys.stderr.write(f"{version}: {what}: {sum(of)} of {len(of)}\n")
        worst += len(verdicts) - agree
    return 1 if worst else 0


def _dot(_case: Case, _observed: Observed) -> None:
    sys.stderr.write(".")
    sys.stderr.flush()


if __name__ == "__main__":
    raise SystemExit(main())
