"""``explain``: draw timelines and predict requests."""

from typing import TYPE_CHECKING, Annotated, NoReturn

from msgspec.structs import replace

from shutdownlint.cli.declarations import Option, OptionGroup
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
    with_facts,
)
from shutdownlint.cli.output import (
    CLEAN,
    INCOMPLETE,
    check_outputs,
    usage_error,
    warn,
    write_output,
)
from shutdownlint.cli.requests import read_request
from shutdownlint.cli.session import (
    Session,
    matches_argument,
    rule_errors,
    split_workload_argument,
    warn_about_run,
    warn_no_match,
)
from shutdownlint.linter.linter import check
from shutdownlint.platforms.user_facts import REQUESTS
from shutdownlint.reports.explanation import explain_pods
from shutdownlint.reports.output import ReportOutput
from shutdownlint.reports.registry import (
    EXPLAIN_REPORTERS,
    OVERRIDE_REPORTERS,
    SUMMARY_REPORTERS,
    find_reporter,
)
from shutdownlint.shutdown.analysis import Traffic

_TEXT = "text"
if TYPE_CHECKING:
    from enum import StrEnum as ExplainFormat
else:
    ExplainFormat = choice("ExplainFormat", [reporter.name for reporter in EXPLAIN_REPORTERS])


class RequestOptions(OptionGroup):
    """The requests in question, and what else is on the pod."""

    request: Annotated[
        list[str] | None,
        Option(
            panel=REQUESTS,
            metavar="DURATION[@ARRIVAL]",
            help="A request to follow: 10s is in flight at deletion and takes 10s more, 2s@4s "
            "arrives 4s after it and takes 2s. If repeated, the requests run in one simulation.",
        ),
    ] = None
    outbound: Annotated[
        list[str] | None,
        Option(
            panel=REQUESTS,
            metavar="DURATION[@ARRIVAL]",
            help="The same for a call that the app itself makes through its proxy.",
        ),
    ] = None
    reused: Annotated[
        list[str] | None,
        Option(
            panel=REQUESTS,
            metavar="DURATION[@ARRIVAL]",
            help="A request on a connection that the client has kept open since before the "
            "deletion.",
        ),
    ] = None
    stream: Annotated[
        list[str] | None,
        Option(
            panel=REQUESTS,
            metavar="DURATION[@ARRIVAL]",
            help="A request whose answer begins at once and lasts: a WebSocket, a gRPC stream, "
            "server-sent events. One from before the drain leaves its connection open.",
        ),
    ] = None
    idle_connections: Annotated[
        int,
        Option(
            panel=REQUESTS,
            min=0,
            metavar="N",
            help="Idle keep-alive connections of clients; proxies that wait for them stay longer.",
        ),
    ] = 0
    idle_pool: Annotated[
        int,
        Option(
            panel=REQUESTS,
            min=0,
            metavar="N",
            help="Idle connections that the app keeps to others through its proxy (its connection "
            "pool); proxies that wait for them stay until the app ends.",
        ),
    ] = 0
    idle_tcp: Annotated[
        int,
        Option(
            panel=REQUESTS,
            min=0,
            metavar="N",
            help="Idle connections of clients without HTTP, which the app closes when it ends; "
            "proxies that wait for them stay until then.",
        ),
    ] = 0
    open_connections: Annotated[
        float | None,
        Option(
            panel=REQUESTS,
            min=0,
            metavar="N",
            help="How many other connections are open on average; gives a probability where the "
            "outcome depends on them. 0: no connections other than the given requests.",
        ),
    ] = None

    @property
    def changes_traffic(self) -> bool:
        """Whether something else than the requests is on the pod, as far as the options show."""
        idle = self.idle_connections or self.idle_pool or self.idle_tcp
        return bool(idle) or self.open_connections is not None


if not TYPE_CHECKING:
    RequestOptions = with_facts(RequestOptions, REQUESTS)


def command(
    *,
    paths: PathsAndWorkload = None,
    files: FileOptions,
    environment: EnvironmentOptions,
    requests: RequestOptions,
    output_format: Annotated[
        ExplainFormat | None,
        FORMAT_OPTION,
    ] = None,
    summary: Annotated[
        bool,
        Option(
            panel=OUTPUT,
            help="One line for each workload, the worst first; as text or with --format json.",
        ),
    ] = False,
    overrides: Annotated[
        bool,
        Option(
            panel=OUTPUT,
            help="Instead, the workloads whose drain settings replace those of their mesh; as text "
            "or with --format json.",
        ),
    ] = False,
    output: OutputFile = None,
    screen: ScreenOptions,
) -> None:
    """Draw the timeline of each pod's shutdown, with the longest requests that survive it.

    One lane for each container, from the deletion to SIGKILL. Below the lanes: the longest request
    that is still served (in flight at deletion, or arriving last), the setting that limits it, all
    events with their causes, other cases that fit the input, and the assumptions.

    Examples:

      shutdownlint explain k8s/ checkout

      shutdownlint explain k8s/ checkout --request 10s --request 2s@7s

      shutdownlint explain --summary k8s/

      shutdownlint explain --overrides k8s/

      shutdownlint explain --format svg --output checkout.svg k8s/ checkout
    """
    check_outputs([output])
    name = str(output_format.value) if output_format is not None else _TEXT
    for wanted, option, reporters in (
        (summary, "--summary", SUMMARY_REPORTERS),
        (overrides, "--overrides", OVERRIDE_REPORTERS),
    ):
        known = [reporter.name for reporter in reporters]
        if wanted and name not in known:
            raise usage_error(f"{option} goes with --format {' or '.join(known)}")
    if summary and overrides:
        raise usage_error("--summary and --overrides are two reports: give one of them")
    session = Session.of(files, environment)
    config = session.config
    stated = (*config.command_line, *facts_in(requests))
    session = session.with_config(replace(config, command_line=stated))
    inbound = [read_request(text) for text in requests.request or ()]
    inbound += [read_request(text, reused=True) for text in requests.reused or ()]
    inbound += [read_request(text, stream=True) for text in requests.stream or ()]
    outbound = [read_request(text, outbound=True) for text in requests.outbound or ()]
    if summary:
        if [*inbound, *outbound] or requests.changes_traffic:
            raise usage_error("--summary follows no requests: leave these options out")
        _summarize(session, paths or ["."], name, ReportOutput(output, screen.color.value))
    selected = session.plan(paths)
    if overrides:
        report = find_reporter(OVERRIDE_REPORTERS, name).render(
            selected.pods, ReportOutput(output, screen.color.value)
        )
        write_output(report, output)
        raise SystemExit(INCOMPLETE if selected.run.stats.unreadable else CLEAN)

    traffic = Traffic(
        idle=requests.idle_connections,
        pool=requests.idle_pool,
        idle_tcp=requests.idle_tcp,
        open_connections=requests.open_connections,
    )
    explanations = explain_pods(
        selected.pods,
        [*inbound, *outbound],
        traffic,
        findings=session.check(selected).findings,
        facts=session.config.user_facts(),
    )
    by_pod = {id(each.pod): each for each in explanations}
    pods = [each.pod for each in explanations]
    prepared = session.each(pods, lambda pod: by_pod[id(pod)].prepared())
    explanations[:] = prepared
    if not explanations:
        selected.warn_no_match()
    for verdict in explanations.unplanned:
        warn(f"{verdict.title} is not analysed: {verdict.reason} ({verdict.region})")
    reporter = find_reporter(EXPLAIN_REPORTERS, name)
    write_output(reporter.render(explanations, ReportOutput(output, screen.color.value)), output)
    complete = prepared.complete and not selected.run.stats.unreadable
    if not complete or session.config.refusals or not explanations:
        raise SystemExit(INCOMPLETE)


def _summarize(session: Session, paths: list[str], name: str, output: ReportOutput) -> NoReturn:
    """One line for each workload, from one check of the files."""
    folders, wanted = split_workload_argument(paths)
    with rule_errors(), session.progress(folders) as (inputs, options):
        result = check(inputs, options)
    warn_about_run(result.stats, result.warnings)
    verdicts = [each for each in result.verdicts if matches_argument(each.id, wanted)]
    if not verdicts:
        warn_no_match(folders, wanted, (each.id for each in result.verdicts), result.stats)
    write_output(find_reporter(SUMMARY_REPORTERS, name).render(verdicts, output), output.file)
    if not result.complete or session.config.refusals or not verdicts:
        raise SystemExit(INCOMPLETE)
    raise SystemExit(CLEAN)
