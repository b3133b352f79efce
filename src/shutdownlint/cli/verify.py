"""``verify``: a test plan with predictions, as a script."""

from typing import TYPE_CHECKING, Annotated

import typer

from shutdownlint.cli.options import (
    OUTPUT,
    REQUESTS,
    EnvironmentOptions,
    FileOptions,
    OutputFile,
    PathsAndWorkload,
    choice,
    expand_groups,
    read_request,
)
from shutdownlint.cli.output import INCOMPLETE, check_outputs, warn, write_output
from shutdownlint.cli.session import (
    Session,
    select_pods,
    split_workload_argument,
    warn_no_match,
)
from shutdownlint.linter.linter import plan_workloads
from shutdownlint.reports.registry import VERIFY_REPORTERS, find_reporter

_SHELL = "shell"
if TYPE_CHECKING:
    from enum import StrEnum as VerifyFormat
else:
    VerifyFormat = choice("VerifyFormat", [reporter.name for reporter in VERIFY_REPORTERS])


@expand_groups
def command(
    *,
    paths: PathsAndWorkload = None,
    request: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=REQUESTS,
            metavar="DURATION[@ARRIVAL]",
            help="A request to send, as explain takes it; repeatable. Default: requests at the "
            "borders of each loss.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        VerifyFormat | None,
        typer.Option(
            "--format",
            rich_help_panel=OUTPUT,
            help="Output format.  \\[default: shell]",
            show_default=False,
        ),
    ] = None,
    output: OutputFile = None,
    environment: EnvironmentOptions,
    files: FileOptions,
) -> None:
    """Write a test for each workload: requests to send while a pod is deleted, with predictions.

    The requests are chosen at the borders of each loss. For each one the script knows what becomes
    of it with the settings as they are, and with those that suggest names, and compares that with
    what it sees. Nothing is run: the script is printed, for kubectl and curl, or for k6.

    Examples:

      shutdownlint verify k8s/ checkout > verify.sh

      shutdownlint verify k8s/ checkout --measured measured.toml --format k6 -o verify.js
    """
    check_outputs([output])
    requests = [read_request(text) for text in request or ()]
    session = Session(files, environment)
    folders, wanted = split_workload_argument(paths or ["."])
    with session.progress(folders) as (sources, options):
        run = plan_workloads(sources, options)
    from shutdownlint.reports.output import ReportOutput  # noqa: PLC0415 - after reading
    from shutdownlint.verification.plan import plan_verification  # noqa: PLC0415

    pods = select_pods(run, wanted)
    plans = []
    for pod in pods:
        plan = plan_verification(pod, requests)
        if plan is not None:
            plans.append(plan)
        elif pod.plan is not None:
            warn(f"{pod.title}: nothing to test: it serves no requests, or is rejected")
    if not plans:
        warn_no_match(folders, wanted, run)
        raise typer.Exit(INCOMPLETE)
    if len(plans) > 1:
        warn(
            f"the test deletes a pod of each of {len(plans):,} workloads: name one to test it alone"
        )
    name = str(output_format.value) if output_format is not None else _SHELL
    write_output(find_reporter(VERIFY_REPORTERS, name).render(plans, ReportOutput(output)), output)
    if run.stats.unreadable or session.config.refusals:
        raise typer.Exit(INCOMPLETE)
