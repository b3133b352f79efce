"""The observations of scripts in shells, compared with the program's verdicts."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from shutdownlint.shell.forwarding import SignalForwarding
from shutdownlint.shell.signals import signal_forwarding
from tests.shell.conformance.run import SHELLS, SIGNALED, observe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MEASURED: Final = Path(__file__).with_name("measured.json")
#: The shells that a name in a manifest may mean; ``sh`` may be any.
_NAMES: Final = {
    "sh": tuple(SHELLS),
    "dash": ("dash",),
    "bash": ("bash",),
    "ash": ("ash",),
    "mksh": ("mksh",),
    "ksh": ("mksh", "ksh93"),
}
#: The app runs beside others; most of the time is waiting.
_AT_ONCE: Final = 8


def observe_all(scripts: Sequence[str], shells: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return what each shell does with each script; leave out scripts that it cannot run."""
    jobs = [(script, shell) for script in scripts for shell in shells]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        results = pool.map(lambda job: observe([*SHELLS[job[1]], "-c", job[0]]), jobs)
    found: dict[str, dict[str, str]] = {}
    for (script, shell), result in zip(jobs, results, strict=True):
        if result != "did not start":
            found.setdefault(script, {})[shell] = result
    return found


def contradicts(script: str, results: Mapping[str, str]) -> list[str]:
    """Return the certain verdicts that are wrong."""
    found = []
    for name, meant in _NAMES.items():
        verdict = signal_forwarding(script, name)
        seen = {results[shell] for shell in meant if shell in results}
        signaled = verdict is SignalForwarding.YES and seen != {SIGNALED}
        lost = verdict is SignalForwarding.NO and SIGNALED in seen
        if seen and (signaled or lost):
            found.append(f"{name}: the verdict is {verdict}, seen was {', '.join(sorted(seen))}")
    return found


def load() -> dict[str, dict[str, str]]:
    """Load the earlier measurements; empty before the first time."""
    if not MEASURED.exists():
        return {}
    known: dict[str, dict[str, str]] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return known


def store(seen: Mapping[str, Mapping[str, str]]) -> None:
    """Keep what was measured."""
    lines = ",\n".join(f"{json.dumps(script)}: {json.dumps(seen[script])}" for script in seen)
    MEASURED.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
