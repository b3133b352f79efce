"""The first week of a platform team, command by command: ``python -m tests.first_week``.

Builds the wheel, installs it into an environment of its own, and runs every command of the week in a
repository that is made for it. ``--write`` writes docs/first-week.md. Exits with 1 where a command
ends with another exit code, or does not print what the week needs of it.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "first-week.md"
_LINES = 12
_WIDTH = 110

_DEPLOYMENT = """\
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: TEAM}
spec:
  selector: {app: NAME}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: NAME
  namespace: TEAM
spec:
  replicas: 3
  selector:
    matchLabels: {app: NAME}
  template:
    metadata:
      labels: {app: NAME}
    spec:
      containers:
        - name: NAME
          image: registry.example/TEAM/NAME:1.4
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {path: /ready, port: 8080}}
"""
_SLEEP = """\
          lifecycle:
            preStop:
              exec:
                command: ["sleep", "SECONDS"]
"""


def _deployment(team: str, name: str, seconds: int = 0) -> str:
    hook = _SLEEP.replace("SECONDS", str(seconds)) if seconds else ""
    return (_DEPLOYMENT + hook).replace("NAME", name).replace("TEAM", team)


FILES = {
    ".gitignore": "build/\n",
    ".github/CODEOWNERS": "* @platform\n/teams/payments/ @payments\n/teams/web/ @web\n",
    "build/old.yaml": _deployment("web", "old", 60),
    "teams/payments/checkout.yaml": _deployment("payments", "checkout", 30),
    "teams/payments/ledger.yaml": _deployment("payments", "ledger", 5),
    "teams/web/frontend.yaml": _deployment("web", "frontend", 40),
    "teams/web/assets.yaml": _deployment("web", "assets"),
    "charts/cart/Chart.yaml": "apiVersion: v2\nname: cart\nversion: 1.0.0\n",
    "charts/cart/values.yaml": "terminationGracePeriodSeconds: 20\n",
    "charts/cart/templates/deployment.yaml": _deployment("web", "{{ .Release.Name }}", 10),
}
_TYPOS = """\
apiVersion: v1
kind: Pod
metadata:
  name: typos
  namespace: web
  annotations:
    shutdownlint.dev/p9: 10s
spec:
  terminationGracePeriodSecond: 60
  containers:
    - name: app
      image: registry.example/web/typos:1
"""
_PLACEHOLDER = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n    - name: a\n      image: @IMAGE@\n"
_CONFIG = """\
p99 = "10s"
owner-label = "team"

[[workloads]]
match = "Deployment/payments/checkout"
rate = 200
rollouts = 5

[[paths]]
match = "teams/web/*"
ignore = ["SL184"]
"""


class Step(NamedTuple):
    """A command, its exit code, what it must print, and what is done to files before it."""

    command: str
    code: int
    prints: tuple[str, ...]
    files: dict[str, str] = {}  # noqa: RUF012 - never changed
    comment: str = ""


DAYS: dict[str, tuple[Step, ...]] = {
    "Monday: what is there": (
        Step(
            "shutdownlint check --statistics --verbose .",
            1,
            ("SL102", ".gitignore names (1)"),
            comment="`build/` is ignored by git; `--verbose` says so.",
        ),
        Step(
            "shutdownlint check .",
            1,
            ("error[SL102]", "fixable: ", "not checked: 1 chart (--render)"),
        ),
        Step(
            "shutdownlint check build/old.yaml",
            1,
            ("SL102",),
            comment="A path of the command line is read though git ignores it.",
        ),
        Step("shutdownlint explain --summary .", 0, ("Deployment payments/checkout", "SL102")),
        Step("shutdownlint rule eviction", 0, ("SL153",), comment="A rule is found by a word."),
        Step(
            "shutdownlint check --format html=shutdown.html --quiet .",
            1,
            ("SL102",),
            comment="`shutdown.html` is one page to share.",
        ),
    ),
    "Tuesday: mistakes": (
        Step("shutdownlint check team/", 2, ("team/: no such file or folder",)),
        Step("shutdownlint check --select grace-to-short .", 2, ("did you mean grace-too-short?",)),
        Step("shutdownlint check --format jnit=a.xml .", 2, ("did you mean junit?",)),
        Step("shutdownlint explain . chekout", 2, ("did you mean checkout?",)),
        Step(
            "shutdownlint check typos.yaml",
            1,
            (
                "SL196",
                "did you mean terminationGracePeriodSeconds?",
                "SL006",
                "did you mean shutdownlint.dev/p99?",
            ),
            {"typos.yaml": _TYPOS},
        ),
        Step(
            "shutdownlint check template.yaml",
            2,
            ("@IMAGE@ looks like a placeholder of a template",),
            {"template.yaml": _PLACEHOLDER},
        ),
        Step(
            "shutdownlint check .",
            2,
            ("shutdownlint.toml:2: fail_on: is not a setting; did you mean fail-on?",),
            {
                "template.yaml": "",
                "typos.yaml": "",
                "shutdownlint.toml": 'notes = true\nfail_on = "error"\n',
            },
        ),
        Step(
            "shutdownlint check .",
            1,
            (
                "toml:2: Deployment/payments/chekout matches no workload; did you mean Deployment/payments/checkout?",
            ),
            {
                "shutdownlint.toml": '[[workloads]]\nmatch = "Deployment/payments/chekout"\np99 = "2s"\n'
            },
        ),
    ),
    "Wednesday: repair": (
        Step(
            "shutdownlint check --diff teams/",
            1,
            ("+      terminationGracePeriodSeconds:",),
            {"shutdownlint.toml": _CONFIG},
        ),
        Step("shutdownlint check --fix teams/payments/", 0, ("fixed 1 finding in 1 file",)),
        Step("shutdownlint suggest --format json teams/ web/frontend", 0, ('"proven": true',)),
        Step(
            "shutdownlint check --add-ignore 'OPS-12: until the new proxy' teams/web/frontend.yaml",
            0,
            ("ignored 1 finding in 1 file",),
        ),
        Step(
            "shutdownlint check --unsafe-fixes teams/web/assets.yaml",
            0,
            ("fixed 1 finding in 1 file",),
            comment="A fix that changes what the pod does is made only where it is asked for.",
        ),
        Step("shutdownlint check .", 0, ("(1 suppressed)",)),
        Step(
            "shutdownlint check --min-confidence high --ignore spread-missing .",
            0,
            ("(1 suppressed)",),
        ),
    ),
    "Thursday: CI": (
        Step("shutdownlint check --write-baseline known.json --notes .", 0, ("wrote a baseline",)),
        Step(
            "shutdownlint check --baseline known.json --notes --fail-on note .",
            0,
            ("no new findings",),
        ),
        Step(
            "shutdownlint check --format sarif=out.sarif --format gitlab=gl.json --format junit=out.xml --format github teams/payments/refunds.yaml",
            1,
            ("::error file=teams/payments/refunds.yaml,line=",),
            {"teams/payments/refunds.yaml": _deployment("payments", "refunds", 30)},
        ),
        Step(
            "cat teams/payments/refunds.yaml | shutdownlint check --quiet --color never --stdin-filename teams/payments/refunds.yaml -",
            1,
            ("--> teams/payments/refunds.yaml:",),
            comment="What an editor runs.",
        ),
        Step(
            "shutdownlint check --render --notes --fail-on note charts/",
            1,
            ("charts/cart",),
            comment="With helm installed; the chart's value decides.",
        ),
    ),
    "Friday: sixty teams": (
        Step(
            "shutdownlint check --quiet --format json=reports/2026-11-20.json .",
            1,
            ("SL102",),
            {"reports/.keep": ""},
        ),
        Step("shutdownlint check --fix teams/payments/", 0, ("fixed 1 finding",)),
        Step(
            "shutdownlint check --quiet --notes --format json=reports/2026-11-27.json .",
            0,
            ("note[",),
        ),
        Step("shutdownlint history reports/", 0, ("fixed", "@payments")),
        Step(
            "shutdownlint explain --summary teams/payments",
            0,
            ("a week (5 rollouts of 3 pods)",),
        ),
        Step("shutdownlint init .", 2, ("shutdownlint.toml exists already",)),
    ),
}


def main() -> int:
    """Run the week; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page")
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        page, failures = run_week(install(Path(folder)), Path(folder, "repository"))
    if options.write:
        PAGE.write_text(page, encoding="utf-8")
    for failure in failures:
        sys.stderr.write(f"{failure}\n")
    return int(bool(failures))


def install(folder: Path) -> Path:
    """Return the folder of the programs of an environment that has the wheel."""
    source = folder / "source"
    skipped = shutil.ignore_patterns(".git", ".venv", "build", ".cache", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, source, ignore=skipped)
    python = folder / "environment" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder / "environment"], check=True)
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(source)], check=True
    )
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "install", str(wheel)], check=True)
    return python.parent


def run_week(programs: Path, repository: Path) -> tuple[str, list[str]]:
    """Return the page, and which steps went otherwise."""
    (repository / ".git").mkdir(parents=True)
    _write(repository, FILES)
    parts = [_HEAD]
    failures = []
    for day, steps in DAYS.items():
        parts.append(f"## {day}")
        for step in steps:
            _write(repository, step.files)
            code, out = _run(step.command, programs, repository)
            missing = [text for text in step.prints if text not in out]
            if code != step.code or missing:
                failures.append(f"{step.command}: exit code {code}, missing {missing}\n{out}")
            comment = f"{step.comment}\n\n" if step.comment else ""
            shown = _shorten(out, step.prints)
            parts.append(f"{comment}```console\n$ {step.command}\n{shown}```\n\nExit code {code}.")
    return "\n\n".join(parts) + "\n", failures


_HEAD = """\
# The first week

A platform team with a repository of several teams tries shutdownlint for a week. Every command ran from an installed wheel
(`python -m tests.first_week`), which also checks the exit codes and what is printed; long outputs are cut."""


def _write(repository: Path, files: dict[str, str]) -> None:
    """Write files; an empty text removes one."""
    for name, text in files.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text or name.endswith(".keep"):
            path.write_text(text, encoding="utf-8")
        else:
            path.unlink(missing_ok=True)


def _run(command: str, programs: Path, repository: Path) -> tuple[int, str]:
    helm = ROOT / "tests" / ".cache" / "bin"
    path = os.pathsep.join((str(programs), str(helm), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=repository,
        env={"PATH": path, "HOME": str(repository.parent), "LANG": "C.UTF-8", "COLUMNS": "100"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.replace(f"{repository}/", "")


def _shorten(out: str, needed: tuple[str, ...]) -> str:
    """Return the first lines, and those that matter; long lines are cut."""
    lines = out.splitlines()
    kept = [
        line
        for number, line in enumerate(lines)
        if number < _LINES or any(text in line for text in needed)
    ]
    cut = [line if len(line) <= _WIDTH else f"{line[:_WIDTH]}…" for line in kept]
    more = ["…"] if len(kept) < len(lines) else []
    return "".join(f"{line.rstrip()}\n" for line in cut + more)


def page_commands() -> list[str]:
    """Return the commands of the page as it is written."""
    return re.findall(r"^\$ (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


if __name__ == "__main__":
    sys.exit(main())
