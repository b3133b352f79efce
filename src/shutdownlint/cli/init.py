"""``init``: a configuration to begin with, from what stands in the repository."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shutdownlint.cli.common import sources_of
from shutdownlint.cli.output import remark, stop, write
from shutdownlint.config import NAMES, Config, find_config
from shutdownlint.linter.linter import read

if TYPE_CHECKING:
    from shutdownlint.linter.linter import Scene

_MOST_NAMED = 5


def command(
    folder: Annotated[
        str, typer.Argument(metavar="[FOLDER]", help="Where the manifests are.")
    ] = ".",
) -> None:
    """Write a commented shutdownlint.toml from what the folder holds.

    It is written into the current folder, and never over one that is there. What the manifests show
    (the mesh's version, the workloads) is filled in; the rest stands there as comments.

    Examples:

      shutdownlint init k8s/
    """
    path = Path(NAMES[0])
    there = find_config(Path.cwd())
    if there is not None and there.parent == Path.cwd():
        raise stop(f"{there.name} is there already")
    if not Path(folder).is_dir():
        raise stop(f"{folder}: there is no such folder")
    if there is not None:
        remark(f"{there} counts no more from here on: the nearest configuration does")
    config = Config()
    scene = read(sources_of([folder], config), config.given())
    write(config_text(scene), str(path))
    remark(f"{path}: written; {len(scene.pods):,} workloads were found")


def config_text(scene: Scene) -> str:
    """The configuration; what is not known stands there as a comment."""
    proxies = [pod.plan.proxy for pod in scene.pods if pod.plan is not None and pod.plan.proxy]
    shown = sorted({proxy.version for proxy in proxies if proxy.version})
    lines = [
        "# What shutdownlint is told of this repository; docs/configuration.md has every setting.",
        "",
        "# The cluster's version: what a preStop hook may be, and how sidecars run, depends on it.",
        '# kubernetes-version = "1.33"',
        "",
    ]
    if shown:
        lines += [f"# The manifests show Istio {', '.join(shown)}.", '# istio-version = "1.26"']
    elif proxies:
        lines += [
            f"# {len(proxies):,} pods have a sidecar, and no file shows Istio's version: say it.",
            '# istio-version = "1.26"',
        ]
    else:
        lines += ["# No pod with a sidecar was found.", '# istio-version = "1.26"']
    lines += [
        "",
        "# How long the slowest ordinary requests take. With it, what is too short is arithmetic.",
        '# p99 = "10s"',
        "",
        "# From which severity on a run fails: error, warning, note or never.",
        'fail-on = "warning"',
        "",
        "# Read for what they say of others (namespaces, mesh configuration), not checked.",
        '# context = ["../mesh"]',
        '# exclude = ["*/testdata/*"]',
        "",
        "# What is known of single workloads; the first entry that says something counts.",
    ]
    named = [pod.id for pod in scene.pods if pod.plan is not None][:_MOST_NAMED]
    for one in named:
        match = "/".join((one.kind, one.namespace or "default", one.name))
        lines += ["# [[workloads]]", f"# match = {_quoted(match)}", '# p99 = "10s"', "#"]
    if not named:
        lines += ["# [[workloads]]", '# match = "Deployment/shop/checkout"', '# p99 = "10s"']
    return "\n".join(lines).rstrip("#\n") + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
