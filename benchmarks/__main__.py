"""How long runs take and how much memory, beside floors measured in the same run.

``python -m benchmarks`` prints the tables of docs/performance.md. Nothing here is compared with a
number of another machine: every figure is shown with a floor.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.corpus import SCALES, files_of, write_corpus

ROOT = Path(__file__).resolve().parents[1]
#: Run in a process of its own: parse everything with libyaml and make nothing of it.
RAW_PARSE = """
import sys
from pathlib import Path
from yaml._yaml import CParser
for name in sys.stdin.read().split("\\n"):
    try:
        CParser(Path(name).read_bytes()).raw_parse()
    except Exception:
        pass
"""
READ = """
import sys
from pathlib import Path
for name in sys.stdin.read().split("\\n"):
    Path(name).read_bytes()
"""
#: Runs a command and prints its wall time and peak memory.
MEASURE = """
import os, resource, sys, time
begin = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)])
_, _, used = os.wait4(pid, 0)
print(time.perf_counter() - begin, used.ru_maxrss)
"""


def say(text: str = "") -> None:
    """Print a line of the tables as soon as it is known."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def measured(command: list[str], text: str = "", times: int = 5) -> tuple[float, float]:
    """Median wall time in seconds, and peak memory in MB."""
    runs = []
    for _ in range(times):
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, *command],
            input=text,
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        wall, memory = done.stdout.split()
        runs.append((float(wall), int(memory) / 1024))
    return statistics.median(w for w, _ in runs), max(m for _, m in runs)


def lint(*arguments: str) -> list[str]:
    """The installed command, as a hook runs it."""
    installed = Path(sys.executable).with_name("shutdownlint")
    command = [str(installed)] if installed.exists() else [sys.executable, "-m", "shutdownlint"]
    return [*command, *arguments]


def start_up(folder: Path) -> None:
    """What a hook costs, in multiples of a bare interpreter."""
    none, one = folder / "none.yaml", folder / "one.yaml"
    none.write_text("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")
    one.write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n"
        "  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n"
        "    spec: {containers: [{name: a, image: b}]}\n"
    )
    bare, _ = measured([sys.executable, "-c", "pass"], times=15)
    say("| start-up | ms | x bare Python |\n|---|---|---|")
    say(f"| `python -c pass` | {bare * 1000:.0f} | 1 |")
    for name, command in (
        ("`--version`", lint("--version")),
        ("one file without workloads", lint("check", str(none))),
        ("one file with a workload", lint("check", str(one))),
        ("the example shop", lint("check", str(ROOT / "examples"))),
    ):
        wall, _ = measured(command, times=9)
        say(f"| {name} | {wall * 1000:.0f} | {wall / bare:.1f} |")
    say()


def folders(named: list[tuple[str, Path]]) -> None:
    """Whole folders, in multiples of the raw parse of the same bytes."""
    say("| input | files | MB | read s | raw parse s | check s | x raw parse | peak MB |")
    say("|---|---|---|---|---|---|---|---|")
    for name, folder in named:
        files = files_of(folder)
        text = "\n".join(map(str, files))
        size = sum(file.stat().st_size for file in files) / 1e6
        times = 3 if size < 200 else 1
        read, _ = measured_with_input(READ, text, times)
        raw, _ = measured_with_input(RAW_PARSE, text, times)
        wall, memory = measured(lint("check", str(folder)), times=times)
        row = [name, f"{len(files):,}", f"{size:.1f}", f"{read:.2f}", f"{raw:.2f}", f"{wall:.2f}"]
        say(f"| {' | '.join(row)} | {wall / raw:.1f} | {memory:.1f} |")


def measured_with_input(code: str, text: str, times: int) -> tuple[float, float]:
    """The same for code that takes names on standard input; its own start-up is taken off."""
    runs = []
    for _ in range(times):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], input=text, encoding="utf-8", check=True)
        runs.append(time.perf_counter() - begin)
    bare = []
    for _ in range(times):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import yaml._yaml, pathlib"], check=True)
        bare.append(time.perf_counter() - begin)
    return statistics.median(runs) - statistics.median(bare), 0.0


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scales", type=int, nargs="*", default=list(SCALES))
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        start_up(folder)
        named = []
        real = Path(os.environ.get("SHUTDOWNLINT_CORPUS", ROOT.parent / "shared" / "corpus"))
        if real.is_dir():
            named.append(("real manifests", real))
        else:
            say("(the corpus of real manifests is not here: only a generated one is measured)\n")
        for scale in options.scales:
            made = folder / f"generated-{scale}"
            write_corpus(made, scale)
            named.append((f"generated, {scale}x", made))
        folders(named)


if __name__ == "__main__":
    main()
