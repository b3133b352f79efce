"""``measure``: how long requests and endpoints take, by a Prometheus."""

import os
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

from shutdownlint.cli.declarations import Option, OptionGroup
from shutdownlint.cli.options import (
    OUTPUT,
    EnvironmentOptions,
    FileOptions,
    PathsAndWorkload,
    parse_duration,
)
from shutdownlint.cli.output import (
    INCOMPLETE,
    check_outputs,
    read_small_file,
    show,
    usage_error,
    warn,
    write_output,
)
from shutdownlint.cli.session import Session
from shutdownlint.config.write_measured import write_measurements
from shutdownlint.measurement.measure import Settings, measure, measure_propagation
from shutdownlint.measurement.prometheus import Credentials, Prometheus, PrometheusError
from shutdownlint.measurement.targets import targets_of
from shutdownlint.reports.measurements import (
    format_measurement,
    format_propagation,
    format_queries,
    title_width,
)

if TYPE_CHECKING:
    from shutdownlint.measurement.measure import Measurement, Propagation
    from shutdownlint.platforms.metric import Target

SERVER = "Server"
#: Values that the command line must not show.
TOKEN, USER, PASSWORD = (
    "SHUTDOWNLINT_PROMETHEUS_TOKEN",
    "SHUTDOWNLINT_PROMETHEUS_USER",
    "SHUTDOWNLINT_PROMETHEUS_PASSWORD",
)
_LONGEST_WINDOW_DAYS = 366
_LEAST_QUANTILE = 0.5


class ServerOptions(OptionGroup):
    """The Prometheus server to query, and the way to query it."""

    prometheus: Annotated[
        str | None,
        Option(
            panel=SERVER,
            metavar="URL",
            help="The Prometheus to ask, such as http://localhost:9090. Nothing else is asked, and "
            "redirects are not followed. Default: none; the queries are printed.",
        ),
    ] = None
    token_file: Annotated[
        str | None,
        Option(
            panel=SERVER,
            metavar="FILE",
            help=f"A file with a bearer token. Or set {TOKEN}, or {USER} and {PASSWORD}.",
        ),
    ] = None
    ca_file: Annotated[
        str | None,
        Option(
            panel=SERVER,
            metavar="FILE",
            help="Certificates that the server's certificate is checked with. Default: those of "
            "the system.",
        ),
    ] = None
    window: Annotated[
        Any,
        Option(
            panel=SERVER,
            metavar="DURATION",
            parse=parse_duration,
            help="How far back, such as 24h.  \\[default: 168h, a week]",
        ),
    ] = None
    quantile: Annotated[
        float,
        Option(
            panel=SERVER,
            max=1,
            metavar="SHARE",
            help="The share of requests that have to be served: what is measured is how long they "
            "take at most.",
        ),
    ] = 0.99
    query: Annotated[
        str | None,
        Option(
            panel=SERVER,
            metavar="PROMQL",
            help="Your own query, such as one of a recording rule: $namespace, $workload, $pods "
            "(an expression) and $window are replaced. Its result is buckets with le, or one "
            "value, in seconds.",
        ),
    ] = None


def command(
    *,
    paths: PathsAndWorkload = None,
    files: FileOptions,
    environment: EnvironmentOptions,
    server: ServerOptions,
    output: Annotated[
        str | None,
        Option(
            names=(
                "--output",
                "-o",
            ),
            panel=OUTPUT,
            metavar="FILE",
            help="Write what was measured to a file, for --measured and the configuration.",
        ),
    ] = None,
) -> None:
    """Measure how long the slowest ordinary requests of each workload take, with Prometheus.

    Without --prometheus it prints the queries (PromQL) for each workload. With it, one line for
    each workload: the 99th percentile by the buckets of its histogram, "at least" where the
    last bucket is too low to know, the metric and the window. Also how long endpoints take.

    Examples:

      shutdownlint measure k8s/

      shutdownlint measure k8s/ --prometheus http://localhost:9090 -o measured.toml

      shutdownlint check k8s/ --measured measured.toml
    """
    check_outputs([output])
    if output is not None and server.prometheus is None:
        raise usage_error("--output needs --prometheus: without a server nothing is measured")
    session = Session.of(files, environment)
    selected = session.plan(paths)

    settings = _settings(server)
    targets = targets_of(selected.pods)
    if not targets:
        selected.warn_no_match()
        raise SystemExit(INCOMPLETE)
    if any(target.workload.namespace is None for target in targets):
        warn("workloads without a namespace are looked for in 'default': set --namespace")
    if server.prometheus is None:
        write_output(format_queries(targets, settings), None)
        if selected.run.stats.unreadable:
            raise SystemExit(INCOMPLETE)
        return
    complete = _ask(server, targets, settings, output)
    if selected.run.stats.unreadable or not complete:
        raise SystemExit(INCOMPLETE)


def _settings(options: ServerOptions) -> "Settings":

    window = options.window if options.window is not None else timedelta(days=7)
    if not options.quantile >= _LEAST_QUANTILE:  # nan too
        raise usage_error("--quantile is a share from 0.5 to 1")
    if not timedelta(minutes=1) <= window <= timedelta(days=_LONGEST_WINDOW_DAYS):
        raise usage_error("--window is at least 1m and at most a year")
    return Settings(options.quantile, window, options.query or "")


def _ask(
    options: ServerOptions, targets: "list[Target]", settings: "Settings", output: str | None
) -> bool:
    """Measure and report; whether every workload could be asked about, and one was measured."""
    address = str(options.prometheus)
    found: list[Measurement] = []
    complete = True
    try:
        server = _connect(address, options)
        width = title_width(targets)
        for measurement in measure(targets, server, settings):
            found.append(measurement)
            show(format_measurement(measurement, settings, width))
            sys.stdout.flush()
    except PrometheusError as error:
        raise usage_error(f"{address}: {error}") from None
    propagation: Propagation | None = None
    try:
        propagation = measure_propagation(server, settings)
    except PrometheusError as error:
        complete = False
        warn(f"endpoint propagation: {error}")
    show(format_propagation(propagation, settings, width))
    if output is not None:
        today = datetime.now(UTC).date()
        write_output(write_measurements(found, propagation, settings, today), output)
    if not any(measurement.reading for measurement in found):
        warn("nothing was measured: --query asks for a metric of your own")
        return False
    return complete and not any(measurement.failed for measurement in found)


def _connect(address: str, options: ServerOptions) -> "Prometheus":
    token = os.environ.get(TOKEN)
    if options.token_file is not None:
        token = read_small_file(options.token_file).strip()
    credentials = Credentials(token or None, os.environ.get(USER), os.environ.get(PASSWORD))
    if credentials.headers() and address.startswith("http://"):
        warn("the token or password is sent without encryption: use https")
    return Prometheus(address, credentials, options.ca_file)
