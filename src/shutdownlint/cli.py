"""The door: commands, options, exit codes. Only the report goes to standard output."""

from __future__ import annotations

import contextlib
import io
import math
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from shutdownlint import __version__
from shutdownlint.config import Config, ConfigError, find_config
from shutdownlint.manifests.discover import SUFFIXES, Found, discover
from shutdownlint.platforms.durations import go_duration
from shutdownlint.platforms.versions import Version
from shutdownlint.rules.finding import Severity
from shutdownlint.run import Source, check, mend, no_tick, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import timedelta

    from rich.console import Console

    from shutdownlint.fixes.mend import Mended
    from shutdownlint.reports.report import Report
    from shutdownlint.rules.rule import Rule
    from shutdownlint.run import Result

CLEAN, FINDINGS, NOT_WHOLE = 0, 1, 2
#: What makes a run end with 2 is told whatever rules are selected.
ALWAYS = ("SL001", "SL002")

app = typer.Typer(
    name="shutdownlint",
    help="Work out, second by second, how Kubernetes pods shut down, and what that loses.",
    epilog="Exit codes: 0 clean, 1 findings at or above --fail-on, 2 part of the job was not done.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Format(StrEnum):
    """How a check is told."""

    TEXT = "text"
    CONCISE = "concise"
    JSON = "json"
    SARIF = "sarif"


class ExplainFormat(StrEnum):
    """How an explanation is told."""

    TEXT = "text"
    JSON = "json"


class FailOn(StrEnum):
    """From which severity on a check ends with exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


def _remark(message: str) -> None:
    sys.stderr.write(f"shutdownlint: {message}\n")


def _stop(message: str) -> typer.Exit:
    _remark(message)
    return typer.Exit(NOT_WHOLE)


def _duration(text: str) -> timedelta:
    try:
        duration = go_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error} (write for example 10s, 500ms or 1m30s)") from None
    if duration.total_seconds() < 0:
        raise typer.BadParameter("must not be negative")
    return duration


def _version(text: str) -> Version:
    try:
        return Version.parse(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


_Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PATH]...",
        help="Files and folders of Kubernetes YAML or JSON; - is standard input. Default: the "
        "current folder.",
        show_default=False,
    ),
]
_ConfigFile = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration file. Default: the nearest shutdownlint.toml, or pyproject.toml with "
        "\\[tool.shutdownlint].",
        show_default=False,
    ),
]
_Kubernetes = Annotated[
    Any,
    typer.Option(
        "--kubernetes-version",
        metavar="VERSION",
        parser=_version,
        help="The cluster's version, such as 1.33.",
        show_default=False,
    ),
]
_Istio = Annotated[
    Any,
    typer.Option(
        "--istio-version",
        metavar="VERSION",
        parser=_version,
        help="The mesh's version, such as 1.26; otherwise read from the manifests, where they "
        "show it.",
        show_default=False,
    ),
]
_P99 = Annotated[
    Any,
    typer.Option(
        "--p99",
        metavar="DURATION",
        parser=_duration,
        help="How long the slowest ordinary requests take, such as 10s.",
        show_default=False,
    ),
]
_Context = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="PATH",
        help="Files to read for what they say of others (namespaces, mesh config), not to check.",
        show_default=False,
    ),
]
_Exclude = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude",
        metavar="PATTERN",
        help="Files to leave out, as shell patterns, such as '*/testdata/*'.",
        show_default=False,
    ),
]


def _version_callback(value: bool) -> None:
    if value:
        sys.stdout.write(f"shutdownlint {__version__}\n")
        raise typer.Exit


@app.callback()
def main(
    _version_flag: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_version_callback,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Work out, second by second, how Kubernetes pods shut down, and what that loses.

    When a pod is deleted, half a dozen clocks run: the grace period, preStop hooks, the mesh
    proxy's drain, the app's own shutdown. shutdownlint reads the manifests, computes the
    timeline, and names each setting that loses requests.
    """


@app.command("check")
def check_command(
    paths: _Paths = None,
    output_format: Annotated[
        Format, typer.Option("--format", help="How to tell it.")
    ] = Format.TEXT,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the report to a file."),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE", help="Only these rules: ids or their beginnings (SL1, SL204)."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="Leave these rules out.")
    ] = None,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(help="From which severity on to exit with 1.  [default: warning]"),
    ] = None,
    notes: Annotated[bool, typer.Option("--notes", help="Show notes (advice) too.")] = False,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend what is safe to mend, in the files; then check.")
    ] = False,
    unsafe_fixes: Annotated[
        bool,
        typer.Option(
            "--unsafe-fixes",
            help="Mend also what changes the pod's behaviour (a sleep, mesh settings).",
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff", help="Show what --fix would change instead; exit with 1 if there is any."
        ),
    ] = False,
    kubernetes: _Kubernetes = None,
    istio: _Istio = None,
    p99: _P99 = None,
    context: _Context = None,
    exclude: _Exclude = None,
    config_file: _ConfigFile = None,
) -> None:
    """Lint manifests: findings with their place, the arithmetic and the fix.

    Examples:

      shutdownlint check k8s/

      helm template my-chart | shutdownlint check --p99 10s -

      shutdownlint check --format sarif --output shutdown.sarif .

      shutdownlint check --diff k8s/
    """
    config = _config(config_file, kubernetes, istio, context, exclude)
    config.select += _listed(select)
    config.ignore += _listed(ignore)
    config.notes = config.notes or notes
    loaded: list[Rule] = []

    def rules() -> list[Rule]:
        loaded[:] = _rules(config)
        return loaded

    given, severities = config.given(p99), config.severities
    if fix or unsafe_fixes or diff:
        sources = list(_sources(paths or ["."], config))
        result, mended = mend(
            sources, given, rules=rules, unsafe=unsafe_fixes, severities=severities
        )
        for refused in mended.refused:
            told = refused.finding
            _remark(f"{told.place}: {told.rule} is not mended: {refused.reason}")
        if diff:
            _show_diff(mended)
            raise typer.Exit(NOT_WHOLE if not result.whole else FINDINGS if mended.texts else CLEAN)
        if not _write_mended(sources, mended):
            result.whole = False
        if paths == ["-"]:  # the mended text goes where the text came from; the report to stderr
            text = mended.texts.get("<stdin>", mended.originals.get("<stdin>", b""))
            sys.stdout.buffer.write(text)
            for finding in result.findings:
                _remark(
                    f"{finding.place}: {finding.severity.value} {finding.rule} {finding.message}"
                )
            raise typer.Exit(_exit_code(result, fail_on or FailOn(config.fail_on)))
    else:
        with _progress(paths or ["."], config) as (found, tick):
            result = check(found, given, rules=rules, severities=severities, tick=tick)
    from shutdownlint.reports.report import Report  # noqa: PLC0415 - only once there is a result

    if output_format is Format.SARIF and not loaded:
        rules()
    report = Report(
        findings=result.findings,
        reading=result.scene.reading,
        workloads=len(result.scene.pods),
        rules=loaded,
        remarks=result.scene.remarks,
    )
    for remark in result.scene.remarks:
        _remark(remark)
    if output_format is Format.CONCISE:
        for reason, count in report.passed_over().items():
            _remark(f"passed over: {reason} ({count:,})")
    _write(_told(report, output_format, output), output)
    raise typer.Exit(_exit_code(result, fail_on or FailOn(config.fail_on)))


def _exit_code(result: Result, threshold: FailOn) -> int:
    if not result.whole:
        return NOT_WHOLE
    if threshold is FailOn.NEVER:
        return CLEAN
    rank = Severity(threshold.value).rank
    return FINDINGS if any(f.severity.rank >= rank for f in result.findings) else CLEAN


def _paths(sources: list[Source]) -> dict[str, Path | None]:
    return {s.file.shown: s.file.path for s in sources if isinstance(s.file, Found)}


def _show_diff(mended: Mended) -> None:
    from shutdownlint.reports.diff import unified  # noqa: PLC0415

    for name in sorted(mended.texts):
        sys.stdout.write(unified(name, mended.originals[name], mended.texts[name]))


def _write_mended(sources: list[Source], mended: Mended) -> bool:
    """Write the mended files; False where one could not be."""
    from shutdownlint.files import update_file  # noqa: PLC0415

    whole, paths = True, _paths(sources)
    for name in sorted(mended.texts):
        path = paths[name]
        if path is None:
            continue
        try:
            update_file(path, mended.originals[name], mended.texts[name])
        except OSError as error:
            _remark(f"{name}: not written: {error.strerror or error}")
            whole = False
    if mended.fixed:
        findings, files = len(mended.fixed), len(mended.texts)
        of = "finding" if findings == 1 else "findings"
        _remark(f"mended {findings} {of} in {files} {'file' if files == 1 else 'files'}")
    return whole


@app.command("explain")
def explain_command(
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
            metavar="LASTS[@ARRIVES]",
            help="The same for a call that the app itself makes through its proxy.",
            show_default=False,
        ),
    ] = None,
    idle_connections: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Idle keep-alive connections of clients; they hold exit-on-zero up.",
        ),
    ] = 0,
    open_connections: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="N",
            help="How many other connections are open on average: gives luck its odds; 0 means "
            "nothing but what is asked about.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        ExplainFormat, typer.Option("--format", help="How to tell it.")
    ] = ExplainFormat.TEXT,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write it to a file."),
    ] = None,
    kubernetes: _Kubernetes = None,
    istio: _Istio = None,
    p99: _P99 = None,
    context: _Context = None,
    exclude: _Exclude = None,
    config_file: _ConfigFile = None,
) -> None:
    """Draw the timeline of each pod's shutdown, with the longest requests that survive it."""
    config = _config(config_file, kubernetes, istio, context, exclude)
    if open_connections is not None and not math.isfinite(open_connections):
        raise _stop("--open-connections: must be a number")
    requests = [_request(text) for text in request or []]
    requests += [_request(text, outbound=True) for text in outbound or []]
    given, wanted = _workload_last(paths or ["."])
    with _progress(given, config) as (sources, tick):
        scene = read(sources, config.given(p99), tick)
    pods = [pod for pod in scene.pods if wanted is None or _matches(pod.id, wanted)]
    from shutdownlint.reports import explain as told  # noqa: PLC0415 - only once there is a scene
    from shutdownlint.shutdown import Traffic  # noqa: PLC0415

    traffic = Traffic(idle_connections, open_connections)

    for unreadable in scene.reading.unreadable:
        _remark(f"{unreadable.place}: {unreadable.reason}")
    for remark in scene.remarks:
        _remark(remark)
    planned = [pod for pod in pods if pod.plan is not None]
    if not planned:
        what = "no complete pod template" if wanted is None else f"no workload matches {wanted}"
        _remark(f"{what} in {', '.join(given)}")
    if output_format is ExplainFormat.JSON:
        _write(told.explain_json(planned, requests, traffic), output)
    else:

        def draw(console: Console) -> None:
            if planned:
                console.print(told.legend(console))
                console.print()
            told.explain_text(planned, requests, traffic, console)

        _write(_printed(draw, output), output)
    if not scene.whole or (wanted is not None and not planned):
        raise typer.Exit(NOT_WHOLE)


class SuggestFormat(StrEnum):
    """How suggestions are told."""

    TEXT = "text"
    DIFF = "diff"
    KUSTOMIZE = "kustomize"
    HELM = "helm"


@app.command("suggest")
def suggest_command(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH]... [WORKLOAD]",
            help="Files and folders, and last, optionally, a workload (shell patterns work).",
            show_default=False,
        ),
    ] = None,
    p99: _P99 = None,
    propagation: Annotated[
        Any,
        typer.Option(
            metavar="DURATION",
            parser=_duration,
            help="How long new requests still arrive after the deletion. Default: 5s behind a "
            "Service, what its guide says behind a load balancer.",
            show_default=False,
        ),
    ] = None,
    output_format: Annotated[
        SuggestFormat, typer.Option("--format", help="How to tell it.")
    ] = SuggestFormat.TEXT,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write it to a file."),
    ] = None,
    kubernetes: _Kubernetes = None,
    istio: _Istio = None,
    context: _Context = None,
    exclude: _Exclude = None,
    config_file: _ConfigFile = None,
) -> None:
    """The smallest consistent set of settings with which every request is served.

    Examples:

      shutdownlint suggest k8s/ --p99 10s

      shutdownlint suggest k8s/ checkout --format kustomize > patch.yaml
    """
    config = _config(config_file, kubernetes, istio, context, exclude)
    given, wanted = _workload_last(paths or ["."])
    sources = list(_sources(given, config))
    scene = read(sources, config.given(p99))
    from shutdownlint.fixes.suggest import changed_files, suggestions  # noqa: PLC0415
    from shutdownlint.reports import suggest as told  # noqa: PLC0415
    from shutdownlint.reports.diff import unified  # noqa: PLC0415

    pods = [pod for pod in scene.pods if wanted is None or _matches(pod.id, wanted)]
    for unreadable in scene.reading.unreadable:
        _remark(f"{unreadable.place}: {unreadable.reason}")
    for remark in scene.remarks:
        _remark(remark)
    found = suggestions(pods, p99, propagation)
    if not found:
        what = "no complete pod template" if wanted is None else f"no workload matches {wanted}"
        _remark(f"{what} in {', '.join(given)}")
    originals = _texts(sources, scene.reading.stdin, {one.pod.ref.document.file for one in found})
    texts = changed_files(found, originals)
    # What is refused or in the way is mended with it; only of the workloads that were asked about.
    config.notes = False
    _, mended = mend(
        [_with_text(source, texts) for source in sources],
        config.given(p99),
        rules=lambda: _rules(config),
        unsafe=True,
        only={one.pod.id for one in found},
    )
    texts = {**texts, **mended.texts}
    if output_format is not SuggestFormat.TEXT:
        for one in found:
            if one.refused:
                _remark(f"{one.pod.id}: {one.refused}")
    match output_format:
        case SuggestFormat.KUSTOMIZE:
            _write(told.kustomize_patch(found, texts), output)
        case SuggestFormat.HELM:
            _write(told.helm_values(found, texts), output)
        case SuggestFormat.DIFF:
            diffs = (unified(n, originals[n], texts[n]) for n in sorted(texts) if n in originals)
            _write("".join(diffs), output)
        case _:
            draw = lambda console: told.suggest_text(found, mended.fixed, console)  # noqa: E731
            _write(_printed(draw, output), output)
    if not scene.whole or (wanted is not None and not found):
        raise typer.Exit(NOT_WHOLE)


def _texts(sources: list[Source], stdin: bytes, names: set[str]) -> dict[str, bytes]:
    """What the files of these names hold."""
    return {
        source.file.shown: stdin if source.file.path is None else source.file.path.read_bytes()
        for source in sources
        if isinstance(source.file, Found) and source.file.shown in names
    }


def _with_text(source: Source, texts: dict[str, bytes]) -> Source:
    """The source with its new text, where it has one."""
    if isinstance(source.file, Found) and source.file.shown in texts:
        return replace(source, file=replace(source.file, data=texts[source.file.shown]))
    return source


@app.command("rule")
def rule_command(
    rule_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Such as SL101.", show_default=False)
    ] = None,
) -> None:
    """Show a rule's page; without an id, the list of rules."""
    rules = _rules(Config(notes=True))
    if rule_id is None:
        for rule in rules:
            sys.stdout.write(f"{rule.id}  {rule.severity.value:<8} {rule.name}\n")
        return
    found = next((rule for rule in rules if rule_id.upper() in (rule.id, rule.name.upper())), None)
    if found is None:
        raise _stop(f"there is no rule {rule_id}; 'shutdownlint rule' lists them")
    from shutdownlint.reports.page import rule_page  # noqa: PLC0415

    sys.stdout.write(rule_page(found))


def _config(
    file: str | None,
    kubernetes: Version | None,
    istio: Version | None,
    context: list[str] | None,
    exclude: list[str] | None,
) -> Config:
    path = Path(file) if file is not None else find_config(Path.cwd())
    config = Config()
    if path is not None:
        from shutdownlint.config_file import load_config  # noqa: PLC0415 - needs pydantic

        try:
            config = load_config(path)
        except ConfigError as error:
            raise _stop(str(error)) from None
    config.kubernetes = kubernetes or config.kubernetes
    config.istio = istio or config.istio
    config.context += context or []
    config.exclude += exclude or []
    return config


def _rules(config: Config) -> list[Rule]:
    from shutdownlint.rules.kept import kept_rules  # noqa: PLC0415
    from shutdownlint.rules.rule import RuleFileError, bundled_folder  # noqa: PLC0415

    try:
        rules = kept_rules(bundled_folder())
    except RuleFileError as error:
        raise _stop(str(error)) from None
    for name in (*config.select, *config.ignore, *config.severities):
        if not any(rule.id.startswith(name.upper()) for rule in rules):
            raise _stop(f"no rule is called {name} or begins so ('shutdownlint rule' lists them)")
    return [rule for rule in rules if _asked(rule, config)]


def _listed(names: list[str] | None) -> list[str]:
    """Rules as people list them: several options, or commas."""
    return [name.strip() for given in names or () for name in given.split(",") if name.strip()]


def _asked(rule: Rule, config: Config) -> bool:
    if rule.id in ALWAYS:
        return True
    severity = config.severities.get(rule.id, rule.severity)
    return config.selects(rule.id) and (config.notes or severity is not Severity.NOTE)


def _sources(paths: list[str], config: Config) -> Iterator[Source]:
    suffixes = (*SUFFIXES, *config.suffixes)
    for found in discover(paths, exclude=config.exclude, suffixes=suffixes):
        yield Source(found)
    for found in discover(config.context, exclude=config.exclude, suffixes=suffixes):
        yield Source(found, context=True)


@contextlib.contextmanager
def _progress(
    paths: list[str], config: Config
) -> Iterator[tuple[Iterator[Source], Callable[[], None]]]:
    """The run's files, with a progress bar on stderr where the run is long and somebody watches."""
    sources = _sources(paths, config)
    if not sys.stderr.isatty() or os.environ.get("CI"):
        yield sources, no_tick
        return
    listed = list(sources)
    if len(listed) < 500:
        yield iter(listed), no_tick
        return
    from rich.console import Console  # noqa: PLC0415 - only for a person at a terminal
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=len(listed))
        yield iter(listed), lambda: bar.advance(task)


def _told(report: Report, output_format: Format, output: str | None) -> str | None:
    if output_format is Format.JSON:
        from shutdownlint.reports.json import write_json  # noqa: PLC0415

        return write_json(report)
    if output_format is Format.SARIF:
        from shutdownlint.reports.sarif import write_sarif  # noqa: PLC0415

        return write_sarif(report)
    if not report.findings:  # nothing to draw: a hook does not wait for the library that draws
        lines = report.summary() if output_format is Format.TEXT else []
        return "".join(f"{line}\n" for line in lines)
    from shutdownlint.reports.text import write_concise, write_text  # noqa: PLC0415

    writer = write_text if output_format is Format.TEXT else write_concise
    return _printed(lambda console: writer(report, console), output)


def _printed(draw: Callable[[Console], None], output: str | None) -> str | None:
    """Draw on the terminal (and give nothing to write), or into text for a file."""
    from rich.console import Console  # noqa: PLC0415

    if output is None:
        draw(Console(highlight=False, markup=False, emoji=False))
        return None
    # Not a terminal: no colours, and a width of its own.
    nowhere = io.StringIO()
    draw(Console(file=nowhere, width=100, highlight=False, markup=False, emoji=False))
    return nowhere.getvalue()


def _write(text: str | None, output: str | None) -> None:
    if text is None:
        return
    if output is None:
        sys.stdout.write(text)
        return
    from shutdownlint.files import replace_file  # noqa: PLC0415

    try:
        replace_file(Path(output), text.encode(), mode=0o644)
    except OSError as error:
        raise _stop(f"{output}: {error.strerror}") from None


def _request(text: str, *, outbound: bool = False) -> Any:
    from shutdownlint.shutdown import Request  # noqa: PLC0415

    lasts, at, arrives = text.partition("@")
    try:
        request = Request(go_duration(arrives if at else "0s"), go_duration(lasts), outbound)
    except ValueError as error:
        raise _stop(f"{text}: {error} (write 10s, or 2s@4s)") from None
    if min(request.arrives, request.lasts).total_seconds() < 0:
        raise _stop(f"{text}: durations must not be negative")
    return request


def _workload_last(paths: list[str]) -> tuple[list[str], str | None]:
    """The last argument is a workload if it is no path that exists."""
    last = paths[-1]
    if last == "-" or Path(last).exists() or (len(paths) == 1 and last.endswith(tuple(SUFFIXES))):
        return paths, None
    return paths[:-1] or ["."], last


def _matches(workload: Any, wanted: str) -> bool:
    from shutdownlint.platforms.given import AppFacts  # noqa: PLC0415

    parts = wanted.split("/")
    if len(parts) == 2 and AppFacts(f"{parts[0]}/*/{parts[1]}").matches(workload):
        return True
    return AppFacts(wanted).matches(workload)
