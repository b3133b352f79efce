"""``suggest``: the smallest set of settings that serves every request."""

from typing import TYPE_CHECKING, Annotated

import typer

from shutdownlint.cli.options import (
    OUTPUT,
    EnvironmentOptions,
    FileOptions,
    OutputFile,
    PathsAndWorkload,
    choice,
    expand_groups,
)
from shutdownlint.cli.output import INCOMPLETE, check_outputs, warn, write_output
from shutdownlint.cli.session import (
    Session,
    rule_errors,
    select_pods,
    split_workload_argument,
    warn_no_match,
)
from shutdownlint.linter.linter import plan_workloads
from shutdownlint.reports.registry import SUGGEST_REPORTERS, find_reporter

_TEXT = "text"
if TYPE_CHECKING:
    from enum import StrEnum as SuggestFormat
else:
    SuggestFormat = choice("SuggestFormat", [reporter.name for reporter in SUGGEST_REPORTERS])
#: Patches are also made for what Helm rendered.
_PATCHES = ("kustomize", "helm")


@expand_groups
def command(
    *,
    paths: PathsAndWorkload = None,
    output_format: Annotated[
        SuggestFormat | None,
        typer.Option(
            "--format",
            rich_help_panel=OUTPUT,
            help="Output format.  \\[default: text]",
            show_default=False,
        ),
    ] = None,
    output: OutputFile = None,
    environment: EnvironmentOptions,
    files: FileOptions,
) -> None:
    """Suggest the smallest consistent set of settings with which every request is served.

    Grace period, preStop hooks and proxy settings are computed together, for requests of up to
    --p99, and verified with the timeline. Nothing is written: --format diff prints a patch,
    kustomize a strategic merge patch, helm values by the names that charts usually have for them.

    Examples:

      shutdownlint suggest k8s/ --p99 10s

      shutdownlint suggest k8s/ checkout --format kustomize > patch.yaml
    """
    check_outputs([output])
    session = Session(files, environment)
    folders, wanted = split_workload_argument(paths or ["."])
    sources = list(session.sources(folders))
    run = plan_workloads(sources, session.options())
    from shutdownlint.fixes.suggest import complete_report, make_suggestions  # noqa: PLC0415
    from shutdownlint.reports.output import ReportOutput  # noqa: PLC0415

    name = str(output_format.value) if output_format is not None else _TEXT
    rendered = name in _PATCHES
    pods = select_pods(run, wanted)
    suggestions = make_suggestions(pods, session.p99, rendered=rendered)
    if not suggestions:
        warn_no_match(folders, wanted, run)
    with rule_errors():
        report = complete_report(suggestions, sources, run.stats.stdin, session.options())
    if name != _TEXT:
        for suggestion in suggestions:
            if suggestion.refused:
                warn(f"{suggestion.pod.title}: {suggestion.refused}")
    reporter = find_reporter(SUGGEST_REPORTERS, name)
    write_output(reporter.render(report, ReportOutput(output)), output)
    if run.stats.unreadable or not suggestions:
        raise typer.Exit(INCOMPLETE)
