"""The published story: ``python -m tests.conformance.story > docs/story.md`` writes it.

The same request on the same pod under three settings, predicted by shutdownlint and observed with real
Envoys in real time.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from typer.testing import CliRunner

from shutdownlint.cli.app import command_line
from tests.conformance.cases import Case
from tests.conformance.envoy import VERSIONS, binary
from tests.conformance.pod import ROOT, observe

FIXTURES = "tests/fixtures/published"
CHAPTERS = (
    (
        "classic-defaults",
        "Istio's defaults",
        (
            "The proxy gets its stop signal together with the app, waits terminationDrainDuration (5 s "
            "unless set), and is killed with whatever is open."
        ),
        Case(1, in_flight=[10.0]),
    ),
    (
        "exit-on-zero",
        "Exit on zero",
        (
            "With EXIT_ON_ZERO_ACTIVE_CONNECTIONS the proxy looks once a second whether a connection is "
            "open, and stays as long as one is."
        ),
        Case(2, in_flight=[10.0], exit_on_zero=True),
    ),
    (
        "exit-on-zero-grace-7",
        "The grace period has the last word",
        "The same setting under a grace period of 7 s: whatever the proxy waits for, SIGKILL ends it.",
        Case(3, in_flight=[10.0], exit_on_zero=True, grace=7),
    ),
)
HEAD = """# One request, three endings

A request that still takes 10 s is in flight when its pod is deleted. Below, the same app and the same
request under three settings: what shutdownlint predicts from the manifest, and what the caller saw of a
real Envoy, run with the flags Istio gives it, in real time.

This page is written by `python -m tests.conformance.story`; how the pods are run is described in
[conformance.md](conformance.md).
"""


def run(arguments: list[str]) -> str:
    """Return what the command prints."""
    result = CliRunner().invoke(command_line(), arguments, env={"COLUMNS": "100"})
    return result.stdout.rstrip()


def outputs(fixture: str) -> tuple[str, str]:
    """Return what ``explain`` and ``check`` print of a fixture, from the project's folder."""
    file = f"{FIXTURES}/{fixture}.yaml"
    return (
        run(["explain", file, "--istio-version", "1.26", "--request", "10s"]),
        run(["check", file, "--istio-version", "1.26", "--p99", "10s"]),
    )


async def seen(case: Case) -> list[str]:
    """Return what the caller saw, with each pinned Envoy."""
    found = await asyncio.gather(*(observe(case, binary(v), scale=1.0) for v in VERSIONS))
    rows = []
    for version, observed in zip(VERSIONS, found, strict=True):
        outcome, at = observed.outcomes[0], observed.ended[0]
        rows.append(f"| observed, Envoy {version} | {outcome} | {at:.1f} s |")
    return rows


def main() -> None:
    """Print the page."""
    out = [HEAD]
    for fixture, title, words, case in CHAPTERS:
        file = f"{FIXTURES}/{fixture}.yaml"
        sys.stderr.write(f"{fixture} ...\n")
        text, found = outputs(fixture)
        asked = next(line for line in text.splitlines() if line.startswith("  request"))
        verdict, _, rest = asked.partition(": ")[2].partition(" at ")
        outcome = "ok" if verdict.startswith("served") else verdict
        at = rest.split("s")[0] if rest else "10"
        rows = [f"| predicted from the manifest | {outcome.split(',')[0]} | {float(at):.1f} s |"]
        rows += asyncio.run(seen(case))
        table = "\n".join(["| | the caller's request | at |", "|---|---|---|", *rows])
        out.append(f"## {title}\n\n{words}\n\n{table}\n")
        out.append(
            f"```text\n$ shutdownlint explain {Path(file).name} --request 10s\n{text}\n```\n"
        )
        out.append(f"```text\n$ shutdownlint check {Path(file).name} --p99 10s\n{found}\n```\n")
    sys.stdout.write("\n".join(out))


if __name__ == "__main__":
    import os

    os.chdir(ROOT)
    main()
