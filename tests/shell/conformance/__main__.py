"""All scripts in all installed shells: ``python -m tests.shell.conformance``; ``--record`` stores them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from tests.shell.conformance.compare import contradicts, load, observe_all, store
from tests.shell.conformance.run import can_run, installed_shells
from tests.shell.conformance.scripts import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Mapping

_TRIES: Final = 3


def differences(script: str, results: Mapping[str, str], stored: Mapping[str, str]) -> list[str]:
    """Return what differs from the stored results, also on retry: a shell's end is a race."""
    different = [shell for shell, result in results.items() if stored.get(shell, result) != result]
    for _ in range(_TRIES if different else 0):
        again = observe_all([script], different).get(script, {})
        different = [shell for shell in different if again.get(shell) != stored[shell]]
    return [f"{shell}: {results[shell]}, stored: {stored[shell]}" for shell in different]


def main() -> None:
    """Run, and print what contradicts a certain verdict or what was measured before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args()
    if not can_run():
        sys.exit("a pid namespace cannot be made here: nothing was run")
    shells = installed_shells()
    seen = observe_all(SCRIPTS, shells)
    known = load()
    wrong = 0
    for script, results in seen.items():
        problems = contradicts(script, results)
        if not asked.record:
            problems += differences(script, results, known.get(script, {}))
        wrong += bool(problems)
        for problem in problems:
            sys.stdout.write(f"{script!r}: {problem}\n")
    sys.stdout.write(f"{len(seen)} scripts in {', '.join(shells)}: {wrong} wrong\n")
    if asked.record:
        store(seen)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
