"""Runs all three on every case: ``python -m tests.peers [--record] [--table]``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.helpers import check_text
from tests.peers.cases import CASES, Case

SEEN = Path(__file__).with_name("seen.json")


def our_rules(case: Case) -> set[str]:
    """Return what shutdownlint reports of a case, notes included."""
    return {finding.rule for finding in check_text(case.text).findings}


def kube_linter(case: Case) -> set[str]:
    """Return the checks of kube-linter that fail, of all that it has."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "case.yaml")
        path.write_text(case.text)
        command = ["kube-linter", "lint", "--add-all-built-in", "--format", "json", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    reports = json.loads(done.stdout)["Reports"] or []
    return {report["Check"] for report in reports}


def kube_score(case: Case) -> set[str]:
    """Return the checks of kube-score that are not passed, of all that it has."""
    command = ["kube-score", "score", "--output-format", "json", "-"]
    done = subprocess.run(command, input=case.text, capture_output=True, text=True, check=False)
    return {
        check["check"]["id"]
        for scored in json.loads(done.stdout)
        for check in scored["checks"] or ()
        if not check["skipped"] and check["grade"] < 10
    }


def table(seen: dict[str, dict[str, bool | None]]) -> str:
    """Return the table of docs/comparison.md."""
    rules = {case.name: case.about[0] for case in CASES}
    lines = [
        "| manifests | rule | shutdownlint | kube-linter | kube-score |",
        "|---|---|---|---|---|",
    ]
    for name, reports in seen.items():
        marks = ["" if each is None else "yes" if each else "no" for each in reports.values()]
        lines.append(f"| {name} | {rules[name]} | {' | '.join(marks)} |")
    return "\n".join(lines)


def main() -> int:
    """Run the programs; exit 1 if they report something else than what is stored."""
    parser = argparse.ArgumentParser(prog="python -m tests.peers", description=__doc__)
    parser.add_argument("--record", action="store_true", help="store what they report")
    options = parser.parse_args()
    seen = {}
    for case in CASES:
        rule, of_linter, of_score = case.about
        seen[case.name] = {
            "shutdownlint": rule in our_rules(case),
            "kube-linter": bool(kube_linter(case) & set(of_linter)) if of_linter else None,
            "kube-score": bool(kube_score(case) & set(of_score)) if of_score else None,
        }
    sys.stdout.write(f"{table(seen)}\n")
    if options.record:
        SEEN.write_text(json.dumps(seen, indent=1) + "\n", encoding="utf-8")
    return 0 if json.loads(SEEN.read_text(encoding="utf-8")) == seen else 1


if __name__ == "__main__":
    sys.exit(main())
