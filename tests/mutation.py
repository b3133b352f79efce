"""Mutation tests: small changes of the code, each of which some test should notice.

``python -m tests.mutation shutdown --sample 150 --seed 1`` changes a copy of the project, one place at
a time, and runs the tests of that package. It needs cosmic-ray (``pip install cosmic-ray``).
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
#: The tests that are run for a change in a package; the fastest ones first.
TESTS = {
    "shutdown": ["tests/shutdown", "tests/platforms/istio", "tests/reports/test_explanations.py"],
    "engine": ["tests/engine", "tests/linter", "tests/test_own_rules.py", "tests/reports"],
    "fixes": ["tests/fixes", "tests/test_adoption.py"],
    "linter": [
        "tests/linter",
        "tests/test_ignores.py",
        "tests/test_adoption.py",
        "tests/test_cli.py",
    ],
    "platforms": [
        "tests/platforms",
        "tests/engine/test_rule_files.py",
        "tests/test_regressions.py",
        "tests/test_docs.py",
        "tests/manifests",
        "tests/reports",
        "tests/test_guides.py",
        "tests/fixes",
    ],
    "manifests": [
        "tests/manifests",
        "tests/test_ignores.py",
        "tests/kustomize",
        "tests/test_regressions.py",
        "tests/platforms",
        "tests/gitops",
        "tests/linter",
        "tests/engine/test_rule_files.py",
        "tests/test_hostile.py",
    ],
    "cli": ["tests/cli", "tests/test_cli.py", "tests/test_adoption.py", "tests/test_startup.py"],
    "kustomize": ["tests/kustomize", "tests/gitops", "tests/linter/test_environments.py"],
    "rendering": ["tests/rendering", "tests/cli", "tests/test_guides.py"],
    "reports": ["tests/reports", "tests/test_readme.py", "tests/test_cli.py"],
    "yaml_source": ["tests/yaml_source", "tests/fixes"],
    "shell": ["tests/shell", "tests/platforms/kubernetes"],
}
#: Longer than the tests take on a busy machine: a slow run is not a test that failed.
SECONDS = 400.0


def configuration(package: str, python: str) -> str:
    """Return the configuration of cosmic-ray for one package."""
    command = f"{python} -m pytest -x -q -p no:cacheprovider {' '.join(TESTS[package])}"
    return (
        "[cosmic-ray]\n"
        f'module-path = "src/shutdownlint/{package}"\n'
        f"timeout = {SECONDS}\n"
        "excluded-modules = []\n"
        f'test-command = "{command}"\n'
        "[cosmic-ray.distributor]\n"
        'name = "local"\n'
    )


@cache
def lines_of(path: Path) -> list[str]:
    """Return the lines of a module."""
    return path.read_text(encoding="utf-8").splitlines()


def changes_nothing(operator: str, line: str) -> bool:
    """Whether a mutation is sure to leave what the program does as it is."""
    if "BitOr_" in operator:
        return True  # ``X | None`` is nearly always an annotation, which is never evaluated
    if operator.endswith(("_Is_Eq", "_IsNot_NotEq")):
        return True  # what is the same object is equal as well, here
    if "_Mul_" in operator and line.lstrip().startswith("def "):
        return True  # the mark of arguments that are named
    return line.lstrip().startswith("@cache") or "frozen=True" in line  # for speed, and for safety


def thin_out(session: Path, sample: int, seed: int, part: tuple[int, int]) -> int:
    """Leave a random sample of the mutations, or a part of it; how many there were."""
    with sqlite3.connect(session) as database:
        query = "select job_id, operator_name, module_path, start_pos_row from mutation_specs"
        jobs = {
            job
            for job, operator, path, row in database.execute(query)
            if not changes_nothing(operator, lines_of(session.parent / path)[row - 1])
        }
        places = "select job_id from mutation_specs order by module_path, start_pos_row, "
        order = [
            row[0] for row in database.execute(places + "start_pos_col, operator_name, occurrence")
        ]
        ordered = [job for job in order if job in jobs]
        drawn = random.Random(seed).sample(ordered, min(sample, len(ordered)))
        number, count = part
        chosen = set(drawn[number - 1 :: count])
        left_out = [(job,) for job in order if job not in chosen]
        database.executemany("delete from mutation_specs where job_id = ?", left_out)
        database.executemany("delete from work_items where job_id = ?", left_out)
    return len(order)


def main() -> int:
    """Run a sample, print the survivors, and exit with 1 if there are more than a tenth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", choices=sorted(TESTS))
    parser.add_argument("--sample", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", default="1/1", help="2/3: the second third of the sample")
    parser.add_argument("--cosmic-ray", default=shutil.which("cosmic-ray") or "cosmic-ray")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        copy = Path(temporary) / "project"
        ignored = shutil.ignore_patterns(".git", ".venv", ".cache", "__pycache__", "build")
        shutil.copytree(ROOT, copy, ignore=ignored)
        (copy / "mutation.toml").write_text(configuration(options.package, sys.executable))
        environment = {**os.environ, "PYTHONPATH": str(copy / "src")}

        def run(*arguments: str) -> str:
            command = [options.cosmic_ray, *arguments]
            done = subprocess.run(
                command, cwd=copy, env=environment, check=True, capture_output=True, text=True
            )
            return done.stdout

        run("baseline", "mutation.toml")  # tests that fail anyway notice nothing
        run("init", "mutation.toml", "session.sqlite")
        number, _, parts = options.part.partition("/")
        part = int(number), int(parts)
        count = thin_out(copy / "session.sqlite", options.sample, options.seed, part)
        run("exec", "mutation.toml", "session.sqlite")
        with sqlite3.connect(copy / "session.sqlite") as database:
            rows = database.execute(
                "select m.module_path, m.start_pos_row, m.operator_name, r.test_outcome, r.diff "
                "from mutation_specs m join work_results r on m.job_id = r.job_id "
                "order by m.module_path, m.start_pos_row"
            ).fetchall()
    survivors = [row for row in rows if row[3] is not None and "SURVIVED" in str(row[3]).upper()]
    for path, line, operator, _, diff in survivors:
        changed = [text for text in (diff or "").splitlines() if text.startswith(("+", "-"))][2:]
        sys.stdout.write(f"{path}:{line} {operator}\n  " + "\n  ".join(changed) + "\n")
    killed = len(rows) - len(survivors)
    sys.stdout.write(
        f"{options.package}: {killed} of {len(rows)} killed ({count} mutations in all)\n"
    )
    return 1 if killed < 0.9 * len(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
