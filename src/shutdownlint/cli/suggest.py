"""``suggest``: the smallest set of settings that serves every request."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from shutdownlint.cli.declarations import Option
from shutdownlint.cli.options import (
    FORMAT_OPTION,
    OUTPUT,
    EnvironmentOptions,
    FileOptions,
    OutputFile,
    PathsAndWorkload,
    ScreenOptions,
    choice,
    facts_in,
)
from shutdownlint.cli.output import (
    CLEAN,
    INCOMPLETE,
    check_outputs,
    usage_error,
    warn,
    write_output,
)
from shutdownlint.cli.session import Session, rule_errors
from shutdownlint.fixes.mesh_wide import suggest_mesh_wide
from shutdownlint.fixes.suggest import complete_report, make_suggestions
from shutdownlint.platforms.traffic import MeasuredRequests
from shutdownlint.platforms.user_facts import ENVIRONMENT
from shutdownlint.reports.diff import UnsafeDiffError
from shutdownlint.reports.output import ReportOutput
from shutdownlint.reports.registry import MESH_REPORTERS, SUGGEST_REPORTERS, find_reporter
from shutdownlint.shutdown.durations import format_duration

_TEXT = "text"
if TYPE_CHECKING:
    from enum import StrEnum as SuggestFormat

    from shutdownlint.fixes.suggest import Suggestion
else:
    SuggestFormat = choice("SuggestFormat", [reporter.name for reporter in SUGGEST_REPORTERS])
#: Patches are also made for what Helm rendered.
_PATCHES = ("kustomize", "helm")


def command(
    *,
    paths: PathsAndWorkload = None,
    files: FileOptions,
    environment: EnvironmentOptions,
    serve: Annotated[
        str | None,
        Option(
            panel=ENVIRONMENT,
            metavar="SHARE",
            help="The share of the requests to serve, as they were measured (--measured), such as "
            "99%. Default: those of up to --p99.",
        ),
    ] = None,
    output_format: Annotated[
        SuggestFormat | None,
        FORMAT_OPTION,
    ] = None,
    mesh_wide: Annotated[
        bool,
        Option(
            panel=OUTPUT,
            help="The smallest change of the mesh's own configuration, and the workloads that it "
            "does not serve; as text or with --format json or diff.",
        ),
    ] = False,
    output: OutputFile = None,
    screen: ScreenOptions,
) -> None:
    """Suggest the smallest consistent set of settings with which every request is served.

    Grace period, preStop hooks and proxy settings are computed together, for requests of up to
    --p99, and verified with the timeline. Nothing is written: --format diff prints a patch,
    kustomize a strategic merge patch, helm values by the names that charts usually have for them.

    Examples:

      shutdownlint suggest k8s/ --p99 10s

      shutdownlint suggest --mesh-wide k8s/ --p99 10s

      shutdownlint suggest k8s/ checkout --format kustomize > patch.yaml
    """
    check_outputs([output])
    share = _share(serve) if serve is not None else None
    session = Session.of(files, environment)
    if share is not None:
        session = session.with_config(session.config.serve_share(share))
    name = str(output_format.value) if output_format is not None else _TEXT
    known = [reporter.name for reporter in MESH_REPORTERS]
    if mesh_wide and name not in known:
        raise usage_error(f"--mesh-wide goes with --format {' or '.join(known)}")
    selected = session.plan(paths)
    rendered = name in _PATCHES
    stated = {fact.source_label: fact.p99 for fact in facts_in(environment)}
    if mesh_wide:
        meshes = suggest_mesh_wide(
            selected.pods, selected.run, session.options(), stated.get("--p99")
        )
        if not meshes:
            warn("no pod is in a mesh with settings for all pods (say --mesh)")
        shown = ReportOutput(output, screen.color.value)
        _write(lambda: find_reporter(MESH_REPORTERS, name).render(meshes, shown), output)
        raise SystemExit(INCOMPLETE if selected.run.stats.unreadable or not meshes else CLEAN)
    p99 = stated.get("--p99")
    made = session.each(selected.pods, lambda pod: make_suggestions((pod,), p99, rendered=rendered))
    suggestions = [suggestion for each in made for suggestion in each]
    if share is not None:
        _warn_unmeasured(suggestions, share)
    if not suggestions:
        selected.warn_no_match()
    with rule_errors():
        report = complete_report(suggestions, selected.run, session.options())
    if name != _TEXT:
        for suggestion in suggestions:
            refused = suggestion.refused or ("" if rendered else suggestion.shared)
            if refused:
                warn(f"{suggestion.pod.title}: {refused}")
    reporter = find_reporter(SUGGEST_REPORTERS, name)
    _write(lambda: reporter.render(report, ReportOutput(output, screen.color.value)), output)
    if selected.run.stats.unreadable or not suggestions or not made.complete:
        raise SystemExit(INCOMPLETE)


def _write(render: Callable[[], str | None], output: str | None) -> None:
    """Write a report; a usage error for a diff that cannot be shown."""
    try:
        write_output(render(), output)
    except UnsafeDiffError as error:
        raise usage_error(str(error)) from None


def _share(text: str) -> float:
    """Return a share such as 99% or 0.99."""
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise usage_error(f"--serve {text}: a share is a percentage, such as 99%")
    return share


def _warn_unmeasured(suggestions: "list[Suggestion]", share: float) -> None:
    """Name the workloads of which no share is known."""
    for suggestion in suggestions:
        found: MeasuredRequests | None = suggestion.pod.facts.get(MeasuredRequests)
        if found is not None and found.facts.duration_of(share) is not None:
            continue
        taken = format_duration(suggestion.solution.targets.p99)
        what = "the shares of its requests were not measured"
        if found is not None:
            what = f"{100 * share:g}% of its requests take longer than was measured"
        warn(f"{suggestion.pod.title}: {what}: up to {taken} is taken")
