"""Short ways to read, plan and check a text."""

from __future__ import annotations

import textwrap
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from shutdownlint.cli.app import command_line
from shutdownlint.config import Config
from shutdownlint.engine.loader import load_schema
from shutdownlint.engine.rule_loader import load_all_bundled
from shutdownlint.engine.selection import RuleSelection
from shutdownlint.linter.linter import check, plan_workloads
from shutdownlint.linter.options import LintOptions
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.registry import mesh_names
from shutdownlint.platforms.user_facts import AppFacts, parse_mesh
from shutdownlint.platforms.versions import Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.engine.schema import RuleSchema
    from shutdownlint.linter.result import LintResult, PlannedRun
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.user_facts import UserFacts
    from shutdownlint.shutdown.pod_plan import PodPlan


#: A pod whose preStop hook takes all of the grace period.
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: shop}
spec:
  terminationGracePeriodSeconds: 20
  containers:
  - {name: app, image: i, lifecycle: {preStop: {exec: {command: [sleep, "20"]}}}}
"""


@cache
def rules() -> tuple[Rule, ...]:
    """Return the bundled rules."""
    return tuple(load_all_bundled())


@cache
def schema(rule: str) -> RuleSchema:
    """Return the whole file of a bundled rule."""
    return load_schema(Path(next(each.file for each in rules() if each.id == rule)))


def user_facts(
    p99: str | None = None,
    kubernetes: str | None = None,
    istio: str | None = None,
    mesh: Iterable[str] = (),
    propagation: str | None = None,
) -> UserFacts:
    """Create the facts that a user states."""
    versions = {"kubernetes": kubernetes, "istio": istio}
    stated = []
    if p99:
        stated.append(AppFacts("*", p99=go_duration(p99), source_label="--p99"))
    if propagation:
        facts = AppFacts("*", propagation=go_duration(propagation), source_label="--propagation")
        stated.append(facts)
    config = Config(
        versions={name: Version.parse(text) for name, text in versions.items() if text},
        meshes=tuple(parse_mesh(text, mesh_names()) for text in mesh),
        command_line=tuple(stated),
    )
    return config.user_facts()


def lint_options(facts: UserFacts | None = None, *, notes: bool = True) -> LintOptions:
    """Return the options of a run with all rules; internal errors are raised."""
    selection = RuleSelection(notes=notes)
    return LintOptions(facts or user_facts(), selection, debug=True)


def check_text(
    text: str | bytes, facts: UserFacts | None = None, name: str = "shop.yaml"
) -> LintResult:
    """Lint a text as a file of that name."""
    return check_files({name: text}, facts)


def check_files(files: Mapping[str, str | bytes], facts: UserFacts | None = None) -> LintResult:
    """Lint several files together; findings name them as given here."""
    with TemporaryDirectory() as folder:
        return check(write_sources(files, Path(folder)), lint_options(facts))


def plan_files(files: Mapping[str, str | bytes], facts: UserFacts | None = None) -> PlannedRun:
    """Read and plan only. Locations are still found after the files are gone."""
    with TemporaryDirectory() as folder:
        return plan_workloads(write_sources(files, Path(folder)), lint_options(facts))


def write_sources(files: Mapping[str, str | bytes], folder: Path) -> Inputs:
    """Write files to a folder, as the inputs of a run."""
    sources = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(dedent(text).encode() if isinstance(text, str) else text)
        sources.append(InputSource(InputFile(path, name)))
    return Inputs(tuple(sources))


def dedent(text: str) -> str:
    """Return a text block without its common indentation and first line break."""
    return textwrap.dedent(text.removeprefix("\n"))


def plan_pod_text(text: str, facts: UserFacts | None = None) -> PlannedPod:
    """Return the planned pod of the only workload of a text."""
    (pod,) = plan_files({"shop.yaml": text}, facts).pods
    return pod


def plan_of(text: str, facts: UserFacts | None = None) -> PodPlan:
    """Return the plan of the only workload of a text."""
    plan = plan_pod_text(text, facts).plan
    assert plan is not None
    return plan


def pod_in_istio(metadata: str = "") -> str:
    """Return a pod that waits in preStop behind Istio's sidecar; ``metadata`` is added to its own."""
    return f"""
apiVersion: v1
kind: Namespace
metadata: {{name: shop, labels: {{istio-injection: enabled}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: shop, namespace: shop{metadata}}}
spec:
  containers:
    - {{name: app, image: a, lifecycle: {{preStop: {{sleep: {{seconds: 15}}}}}}}}
"""


def served(
    name: str = "shop", namespace: str = "shop", kind: str = "Deployment", sleep: int = 5
) -> str:
    """Return a workload whose app waits in preStop, behind a Service of its name."""
    return dedent(f"""\
        apiVersion: v1
        kind: Service
        metadata: {{name: {name}, namespace: {namespace}}}
        spec: {{selector: {{app: {name}}}, ports: [{{port: 80, targetPort: 8080}}]}}
        ---
        apiVersion: apps/v1
        kind: {kind}
        metadata: {{name: {name}, namespace: {namespace}}}
        spec:
          selector: {{matchLabels: {{app: {name}}}}}
          template:
            metadata: {{labels: {{app: {name}}}}}
            spec:
              containers:
                - name: app
                  image: shop/app:1
                  ports: [{{containerPort: 8080}}]
                  lifecycle: {{preStop: {{sleep: {{seconds: {sleep}}}}}}}
        """)


def rule_lines(findings: Iterable[Finding], *, notes: bool = False) -> list[tuple[str, int]]:
    """Rule and line of each finding."""
    return [(f.rule, f.region.line) for f in findings if notes or f.severity != "note"]


def run(*arguments: str) -> tuple[int, str, str]:
    """Return the command line: exit code, standard output, standard error."""
    result = CliRunner().invoke(command_line(), list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr
