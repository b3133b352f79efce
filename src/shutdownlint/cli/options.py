"""Options that several commands have, in groups: each field of a group is an option."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from shutdownlint.cli.output import usage_error
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.registry import mesh_names
from shutdownlint.platforms.user_facts import MeshFact, parse_mesh
from shutdownlint.platforms.versions import Version

# The parts of a command's help.
OUTPUT: Final = "Output"
RULES: Final = "Rule selection"
FIXES: Final = "Fixes"
BASELINE: Final = "Baseline"
FILES: Final = "Files"
ENVIRONMENT: Final = "Environment"
REQUESTS: Final = "Requests"


def parse_duration(text: str) -> Any:
    """A duration of the command line, such as 10s."""
    try:
        duration = go_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error} (write for example 10s, 500ms or 1m30s)") from None
    if duration.total_seconds() < 0:
        raise typer.BadParameter("must not be negative")
    return duration


def _parse_version(text: str) -> Version:
    try:
        return Version.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _parse_mesh(text: str) -> MeshFact:
    try:
        return parse_mesh(text, mesh_names())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def read_request(text: str, *, outbound: bool = False, reused: bool = False) -> Any:
    """A request of the command line, such as 10s or 2s@4s. Raises the exit of a usage error."""
    from shutdownlint.shutdown.process import Direction  # noqa: PLC0415 - only where needed
    from shutdownlint.shutdown.request import Request  # noqa: PLC0415

    duration_text, at, arrival_text = text.partition("@")
    try:
        arrival = go_duration(arrival_text if at else "0s")
        duration = go_duration(duration_text)
    except ValueError as error:
        raise usage_error(f"{text}: {error} (write 10s, or 2s@4s)") from None
    if min(arrival, duration).total_seconds() < 0:
        raise usage_error(f"{text}: durations must not be negative")
    direction = Direction.OUTBOUND if outbound else Direction.INBOUND
    return Request(arrival, duration, direction, reused)


def choice(name: str, values: Sequence[str]) -> Any:
    """A type of options that take one of these values."""
    return StrEnum(name, [(value, value) for value in values])


if TYPE_CHECKING:

    class Color(StrEnum):
        auto = "auto"
else:
    Color = choice("Color", ["auto", "always", "never"])


@dataclass
class EnvironmentOptions:
    """What manifests do not show."""

    kubernetes_version: Annotated[
        Any,
        typer.Option(
            rich_help_panel=ENVIRONMENT,
            metavar="VERSION",
            parser=_parse_version,
            help="The cluster's version, such as 1.33. Default: what the manifests show, else any "
            "version (findings then name the versions that they hold for).",
            show_default=False,
        ),
    ] = None
    mesh: Annotated[
        list[Any] | None,
        typer.Option(
            rich_help_panel=ENVIRONMENT,
            metavar="NAME[=VERSION]",
            parser=_parse_mesh,
            help=f"The mesh of the pods: {', '.join(mesh_names())} or none. Also applies to "
            "namespaces that are not in the files. The version applies to all pods of that mesh. "
            "Repeatable. Default: what the manifests show.",
            show_default=False,
        ),
    ] = None
    namespace: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=ENVIRONMENT,
            metavar="NAME",
            help="The namespace of manifests that write none, as with kubectl apply --namespace.",
            show_default=False,
        ),
    ] = None
    istio_version: Annotated[
        Any,
        typer.Option(
            rich_help_panel=ENVIRONMENT,
            metavar="VERSION",
            parser=_parse_version,
            help="Istio's version, such as 1.26; it puts no pod into the mesh. Default: what the "
            "manifests show.",
            show_default=False,
        ),
    ] = None
    p99: Annotated[
        Any,
        typer.Option(
            rich_help_panel=ENVIRONMENT,
            metavar="DURATION",
            parser=parse_duration,
            help="How long the slowest ordinary requests take (the 99th percentile), such as 10s. "
            "Default: not known, and rules that need it are not evaluated.",
            show_default=False,
        ),
    ] = None
    measured: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=ENVIRONMENT,
            metavar="FILE",
            help="A file of shutdownlint measure: how long requests and endpoints take. "
            "Repeatable.",
            show_default=False,
        ),
    ] = None
    propagation: Annotated[
        Any,
        typer.Option(
            rich_help_panel=ENVIRONMENT,
            metavar="DURATION",
            parser=parse_duration,
            help="How long Services go on sending new requests to a pod after its termination "
            "starts, such as 3s; a load balancer may go on for longer. Default: 5s, as an "
            "assumption.",
            show_default=False,
        ),
    ] = None


@dataclass
class ScreenOptions:
    """How a text report is drawn."""

    color: Annotated[
        Color,
        typer.Option(
            rich_help_panel=OUTPUT,
            help="Whether text is coloured; auto: on a terminal. NO_COLOR and FORCE_COLOR are "
            "respected.",
        ),
    ] = Color.auto


@dataclass
class FileOptions:
    """Which files are read, and how."""

    context: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=FILES,
            metavar="PATH",
            help="Files read for context only (namespaces, mesh configuration), not linted.",
            show_default=False,
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=FILES,
            metavar="PATTERN",
            help="Files to exclude, as shell patterns, such as '*/testdata/*'.",
            show_default=False,
        ),
    ] = None
    respect_gitignore: Annotated[
        bool | None,
        typer.Option(
            "--respect-gitignore/--no-respect-gitignore",
            rich_help_panel=FILES,
            help="Leave out what git ignores below the paths. A path of the command line is read "
            "in any case.  \\[default: respect-gitignore]",
            show_default=False,
        ),
    ] = None
    stdin_filename: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=FILES,
            metavar="FILE",
            help="What standard input (-) is called in reports.",
            show_default=False,
        ),
    ] = None
    render: Annotated[
        bool,
        typer.Option(
            "--render",
            rich_help_panel=FILES,
            help="Render the charts and kustomizations below the paths with your helm, kustomize "
            "or kubectl, as the configuration describes it.",
        ),
    ] = False
    allow_network: Annotated[
        bool,
        typer.Option(
            "--allow-network",
            rich_help_panel=FILES,
            help="With --render: kustomizations may fetch remote resources and charts.",
        ),
    ] = False
    values: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=FILES,
            metavar="FILE",
            help="A values file for the charts; repeatable, later files override earlier ones.",
            show_default=False,
        ),
    ] = None
    set_values: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            rich_help_panel=FILES,
            metavar="KEY=VALUE",
            help="A value for the charts, as helm takes it; repeatable.",
            show_default=False,
        ),
    ] = None
    release: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=FILES,
            metavar="NAME",
            help="The name of the charts' release. Default: the name of the chart's folder.",
            show_default=False,
        ),
    ] = None
    config: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=FILES,
            metavar="FILE",
            help="Configuration file. Default: the nearest shutdownlint.toml, or pyproject.toml "
            "with \\[tool.shutdownlint].",
            show_default=False,
        ),
    ] = None
    isolated: Annotated[
        bool,
        typer.Option(
            "--isolated",
            rich_help_panel=FILES,
            help="Ignore configuration files, and the suppressions in the checked files.",
        ),
    ] = False
    debug: Annotated[
        bool,
        typer.Option("--debug", rich_help_panel=FILES, help="Show internal errors in full."),
    ] = False


Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATH]...",
        help="Files and folders of Kubernetes YAML or JSON; - is standard input. Default: the "
        "current folder.",
        show_default=False,
    ),
]
PathsAndWorkload = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATH]... [WORKLOAD]",
        help="Files and folders, and last, optionally, a workload: checkout, shop/checkout or "
        "Deployment/shop/checkout (shell patterns work).",
        show_default=False,
    ),
]
OutputFile = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        rich_help_panel=OUTPUT,
        metavar="FILE",
        help="Write the report to a file.",
        show_default=False,
    ),
]

#: The option of commands with one report; each has its own formats.
FORMAT_OPTION: Final[Any] = typer.Option(
    "--format",
    rich_help_panel=OUTPUT,
    help="Output format.  \\[default: text]",
    show_default=False,
)


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes groups of options, as one that takes each option of them."""
    parameters = inspect.signature(command).parameters.values()
    groups: dict[str, Any] = {
        p.name: p.annotation for p in parameters if is_dataclass(p.annotation)
    }
    expanded = [p for p in parameters if p.name not in groups]
    for group in groups.values():
        expanded += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=field.type,
            )
            for field in fields(group)
        ]

    @wraps(command)
    def run(**values: Any) -> None:
        made = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **made)

    run.__signature__ = inspect.Signature(expanded)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in expanded}
    return run
