"""Commands that run in turn, and what each of them took."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


#: Runs a command and prints its seconds, its seconds of processors, and its memory. A process of
#: its own, and a small one: what is spawned begins with the memory of the one that spawns it.
MEASURE = """
import os, sys, time
begin = time.perf_counter()
process = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
_, status, used = os.wait4(process, 0)
wall = time.perf_counter() - begin
print(os.waitstatus_to_exitcode(status), wall, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


@dataclass(frozen=True)
class Sample:
    """The cost of one run: seconds, processor seconds, and peak memory in megabytes."""

    wall: float
    cpu: float
    peak: float


@dataclass
class Command:
    """A command of a table. ``prepare`` is called before each run, with the number of the round."""

    name: str
    words: list[str]
    prepare: Callable[[int], None] | None = None
    folder: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)
    samples: list[Sample] = field(default_factory=list)

    def run(self, number: int) -> None:
        """Run it once."""
        if self.prepare is not None:
            self.prepare(number)
        environment = {**os.environ, **self.environment}
        # A machine that keeps no bytecode would compile every module in every run.
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", MEASURE, *self.words],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        code, wall, cpu, peak = done.stdout.split()
        if int(code) not in (0, 1, 2):
            raise RuntimeError(f"{self.words}: {code}")
        self.samples.append(Sample(float(wall), float(cpu), int(peak) / 1024))

    def ratios(self, other: Command) -> list[float]:
        """Return the processor time of each round divided by that of another command in it."""
        return [a.cpu / b.cpu for a, b in zip(self.samples, other.samples, strict=True)]


def alternate(commands: Iterable[Command], rounds: int) -> None:
    """Run the commands in turn. What the first runs leave (bytecode, files in memory) is there."""
    listed = list(commands)
    for command in listed:
        command.run(-1)
        command.samples.clear()
    for number in range(rounds):
        for command in listed:
            command.run(number)


def spread(ratios: list[float]) -> str:
    """Return the median, with the quartiles."""
    if len(ratios) < 3:
        return f"{statistics.median(ratios):.2f}"
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def median_ms(samples: Iterable[float]) -> str:
    """Seconds as milliseconds."""
    return f"{statistics.median(samples) * 1000:,.0f}"


def say(text: str = "") -> None:
    """Print a line as soon as it is known."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
