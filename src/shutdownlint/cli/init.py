"""``init``: a configuration to begin with, from what is in the repository."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shutdownlint.cli.options import FileOptions
from shutdownlint.cli.output import usage_error, warn, write_output
from shutdownlint.cli.session import Session
from shutdownlint.config import CONFIG_NAMES, Config, find_config
from shutdownlint.linter.linter import plan_workloads
from shutdownlint.platforms.registry import PLATFORMS, mesh_choices, mesh_remedy
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shutdownlint.linter.lint_run import PlannedRun
    from shutdownlint.platforms.planned_pod import PlannedPod

_MAX_WORKLOADS = 5


def command(
    folder: Annotated[
        str, typer.Argument(metavar="[FOLDER]", help="Where the manifests are.")
    ] = ".",
) -> None:
    """Write a commented shutdownlint.toml from what the folder holds.

    It is written to the current folder, and never over an existing one. What the manifests show
    (versions of meshes, the workloads) is filled in; the rest is there as comments.

    Examples:

      shutdownlint init k8s/
    """
    path = Path(CONFIG_NAMES[0])
    existing = find_config(Path.cwd())
    if existing is not None and existing.parent == Path.cwd():
        raise usage_error(f"{existing.name} exists already")
    if not Path(folder).is_dir():
        raise usage_error(f"{folder}: no such folder")
    if existing is not None:
        warn(f"{existing} is now shadowed by the new file")
    session = Session(FileOptions())
    session.config = Config()
    run = plan_workloads(session.sources([folder]), session.options())
    write_output(config_text(run), str(path))
    warn(f"{path}: written; {plural(len(run.pods), 'workload')} found")


def config_text(run: PlannedRun) -> str:
    """The configuration; what is not known is there as a comment."""
    lines = [
        "# Configuration of shutdownlint; docs/configuration.md has every setting.",
        "",
        "# The cluster's version: what a preStop hook may be, and how sidecars run, depends on it.",
        '# kubernetes-version = "1.33"',
        "",
        *_mesh_lines(run.pods),
        "",
        "# How long the slowest ordinary requests take; with it, what is too short is computed.",
        '# p99 = "10s"',
        "# Or what shutdownlint measure wrote: how long requests and endpoints take.",
        '# measured = ["measured.toml"]',
        "# How long Services go on sending new requests to a pod that is deleted.",
        '# propagation = "5s"',
        "",
        "# Minimum severity that makes a run fail: error, warning, note or never.",
        'fail-on = "warning"',
        "",
        "# Read for context only (namespaces, mesh configuration), not linted.",
        '# context = ["../mesh"]',
        '# exclude = ["*/testdata/*"]',
        "",
        *_namespace_lines(run.pods),
        "# Facts about single workloads; the first entry that matches is used.",
    ]
    workloads = [pod.id for pod in run.pods if pod.plan is not None][:_MAX_WORKLOADS]
    for workload in workloads:
        match = "/".join((workload.kind, workload.namespace or "default", workload.name))
        lines += ["# [[workloads]]", f"# match = {_quote(match)}", '# p99 = "10s"', "#"]
    if not workloads:
        lines += ["# [[workloads]]", '# match = "Deployment/shop/checkout"', '# p99 = "10s"']
    return "\n".join(lines).rstrip("#\n") + "\n"


def _mesh_lines(pods: list[PlannedPod]) -> Iterator[str]:
    """What the manifests show about each mesh."""
    from shutdownlint.platforms.traffic import meshes_of  # noqa: PLC0415 - after reading

    found = False
    for entry in PLATFORMS:
        if not entry.mesh:
            continue
        versions = sorted(
            {str(pod.versions[entry.name]) for pod in pods if entry.name in pod.versions}
        )
        proxies = sum(entry.name in meshes_of(pod) for pod in pods)
        if versions:
            yield f"# The manifests show {entry.title} {', '.join(versions)}."
        elif proxies:
            pods_found = plural(proxies, "pod")
            yield f"# {pods_found} with a proxy of {entry.title}, whose version is not shown."
        else:
            continue
        found = True
        yield f'# mesh = "{entry.name}={versions[0] if versions else "VERSION"}"'
    if not found:
        yield "# No pod with a mesh proxy was found. If there is none, write:"
        yield '# mesh = "none"'


def _namespace_lines(pods: list[PlannedPod]) -> Iterator[str]:
    """The namespaces whose mesh the manifests do not show."""
    missing = sorted(
        {
            pod.workload.namespace or "default"
            for pod in pods
            if pod.plan is not None and any(a.remedy == mesh_remedy() for a in pod.plan.assumptions)
        }
    )
    for namespace in missing[:_MAX_WORKLOADS]:
        yield f"# Namespace {namespace} is not among the files. Its mesh ({mesh_choices()}):"
        yield from ("# [[namespaces]]", f"# match = {_quote(namespace)}", '# mesh = "NAME"', "")


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
