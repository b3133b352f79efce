"""``explain``: draw timelines and answer for requests."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shutdownlint.cli.common import (
    configured,
    pods_of,
    progress,
    tell_none,
    workload_last,
)
from shutdownlint.cli.options import (
    ASKED,
    P99,
    REPORT,
    ConfigFile,
    Context,
    Exclude,
    IstioVersion,
    KubernetesVersion,
    Render,
    Values,
)
from shutdownlint.cli.output import INCOMPLETE, printed, stop, write
from shutdownlint.linter.linter import read
from shutdownlint.platforms.durations import go_duration

if TYPE_CHECKING:
    from rich.console import Console


class ExplainFormat(StrEnum):
    """How an explanation is told."""

    TEXT = "text"
    JSON = "json"
    SVG = "svg"
    HTML = "html"


def command(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]... [WORKLOAD]",
            help="Files and folders, and last, optionally, a workload: checkout, shop/checkout or "
            "Deployment/shop/checkout (shell patterns work).",
            show_default=False,
        ),
    ] = None,
    request: Annotated[
        list[str] | None,
        typer.Option(
            "--request",
            rich_help_panel=ASKED,
            metavar="LASTS[@ARRIVES]",
            help="Ask what becomes of a request: 10s is in flight at deletion with 10s to go, "
            "2s@4s arrives 4s after it and takes 2s. Several are asked together.",
            show_default=False,
        ),
    ] = None,
    outbound: Annotated[
        list[str] | None,
        typer.Option(
            "--outbound",
            rich_help_panel=ASKED,
            metavar="LASTS[@ARRIVES]",
            help="The same for a call that the app itself makes through its proxy.",
            show_default=False,
        ),
    ] = None,
    idle_connections: Annotated[
        int,
        typer.Option(
            rich_help_panel=ASKED,
            min=0,
            metavar="N",
            help="Idle keep-alive connections of clients; they hold exit-on-zero up.",
        ),
    ] = 0,
    open_connections: Annotated[
        float | None,
        typer.Option(
            rich_help_panel=ASKED,
            min=0,
            metavar="N",
            help="How many other connections are open on average: gives luck its odds; 0 means "
            "nothing but what is asked about.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        ExplainFormat, typer.Option("--format", rich_help_panel=REPORT, help="How to tell it.")
    ] = ExplainFormat.TEXT,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", rich_help_panel=REPORT, metavar="FILE", help="Write it to a file."
        ),
    ] = None,
    render: Render = False,
    values: Values = None,
    kubernetes: KubernetesVersion = None,
    istio: IstioVersion = None,
    p99: P99 = None,
    context: Context = None,
    exclude: Exclude = None,
    config_file: ConfigFile = None,
) -> None:
    """Draw the timeline of each pod's shutdown, with the longest requests that survive it.

    One lane a container, from the deletion to SIGKILL; then how long a request may take that is in
    flight at the deletion, or arrives at the last moment, which setting limits it, and all that
    happens with its reason. What was assumed stands below.

    Examples:

      shutdownlint explain k8s/ checkout

      shutdownlint explain k8s/ checkout --request 10s --request 2s@7s

      shutdownlint explain --format svg --output checkout.svg k8s/ checkout
    """
    config = configured(config_file, kubernetes, istio, context, exclude, render, values)
    if open_connections is not None and not math.isfinite(open_connections):
        raise stop("--open-connections: must be a number")
    requests = [_request(text) for text in request or []]
    requests += [_request(text, outbound=True) for text in outbound or []]
    given, wanted = workload_last(paths or ["."])
    with progress(given, config) as (sources, on_file):
        scene = read(sources, config.given(p99), on_file)
    from shutdownlint.reports import explain as told  # noqa: PLC0415 - only once there is a scene
    from shutdownlint.shutdown import Traffic  # noqa: PLC0415

    traffic = Traffic(idle_connections, open_connections)
    planned = [pod for pod in pods_of(scene, wanted) if pod.plan is not None]
    if not planned:
        tell_none(given, wanted)
    if output_format is ExplainFormat.JSON:
        write(told.explain_json(planned, requests, traffic), output)
    elif output_format in (ExplainFormat.SVG, ExplainFormat.HTML):
        from shutdownlint.reports import drawing  # noqa: PLC0415

        draw_as = (
            drawing.explain_svg if output_format is ExplainFormat.SVG else drawing.explain_html
        )
        write(draw_as(planned, requests, traffic), output)
    else:

        def draw(console: Console) -> None:
            if planned:
                console.print(told.legend(console))
                console.print()
            told.explain_text(planned, requests, traffic, console)

        write(printed(draw, output), output)
    if not scene.whole or (wanted is not None and not planned):
        raise typer.Exit(INCOMPLETE)


def _request(text: str, *, outbound: bool = False) -> Any:
    from shutdownlint.shutdown import Request  # noqa: PLC0415

    lasts, at, arrives = text.partition("@")
    try:
        request = Request(go_duration(arrives if at else "0s"), go_duration(lasts), outbound)
    except ValueError as error:
        raise stop(f"{text}: {error} (write 10s, or 2s@4s)") from None
    if min(request.arrives, request.lasts).total_seconds() < 0:
        raise stop(f"{text}: durations must not be negative")
    return request
