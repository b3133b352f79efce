"""Options that several commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.versions import Version

if TYPE_CHECKING:
    from datetime import timedelta


#: The parts of a command's help.
REPORT: Final = "The report"
WHICH: Final = "Which findings"
MENDING: Final = "Fixes"
ADOPTING: Final = "Gate what is new, live with what is old"
FILES: Final = "Files"
KNOWN: Final = "What manifests do not show"
ASKED: Final = "Requests to ask about"


def duration(text: str) -> timedelta:
    try:
        duration = go_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error} (write for example 10s, 500ms or 1m30s)") from None
    if duration.total_seconds() < 0:
        raise typer.BadParameter("must not be negative")
    return duration


def version(text: str) -> Version:
    try:
        return Version.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATH]...",
        help="Files and folders of Kubernetes YAML or JSON; - is standard input. Default: the "
        "current folder.",
        show_default=False,
    ),
]
ConfigFile = Annotated[
    str | None,
    typer.Option(
        "--config",
        rich_help_panel=FILES,
        metavar="FILE",
        help="Configuration file. Default: the nearest shutdownlint.toml, or pyproject.toml with "
        "\\[tool.shutdownlint].",
        show_default=False,
    ),
]
KubernetesVersion = Annotated[
    Any,
    typer.Option(
        "--kubernetes-version",
        rich_help_panel=KNOWN,
        metavar="VERSION",
        parser=version,
        help="The cluster's version, such as 1.33.",
        show_default=False,
    ),
]
IstioVersion = Annotated[
    Any,
    typer.Option(
        "--istio-version",
        rich_help_panel=KNOWN,
        metavar="VERSION",
        parser=version,
        help="The mesh's version, such as 1.26; otherwise read from the manifests, where they "
        "show it.",
        show_default=False,
    ),
]
P99 = Annotated[
    Any,
    typer.Option(
        "--p99",
        rich_help_panel=KNOWN,
        metavar="DURATION",
        parser=duration,
        help="How long the slowest ordinary requests take, such as 10s.",
        show_default=False,
    ),
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        rich_help_panel=FILES,
        metavar="PATH",
        help="Files to read for what they say of others (namespaces, mesh config), not to check.",
        show_default=False,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        rich_help_panel=FILES,
        metavar="PATTERN",
        help="Files to leave out, as shell patterns, such as '*/testdata/*'.",
        show_default=False,
    ),
]
Render = Annotated[
    bool,
    typer.Option(
        "--render",
        rich_help_panel=FILES,
        help="Render charts and kustomizations among the paths with your helm, kustomize or "
        "kubectl.",
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Option(
        "--values",
        rich_help_panel=FILES,
        metavar="FILE",
        help="A values file for the charts; of several the last one wins.",
        show_default=False,
    ),
]
