"""``check``: lint manifests, mend them, show what would be mended."""

# No stringified annotations here: the command line would compile each of them at every start.
import sys
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import typer

from shutdownlint.cli.common import (
    configured,
    listed,
    progress,
    rules_for,
    sources_of,
)
from shutdownlint.cli.options import (
    ADOPTING,
    MENDING,
    P99,
    REPORT,
    WHICH,
    ConfigFile,
    Context,
    Exclude,
    IstioVersion,
    KubernetesVersion,
    Paths,
    Render,
    Values,
)
from shutdownlint.cli.output import CLEAN, FINDINGS, INCOMPLETE, printed, remark, stop, write
from shutdownlint.engine.finding import Severity
from shutdownlint.linter.linter import check, fix_files
from shutdownlint.manifests.discovery import InputFile
from shutdownlint.manifests.loader import InputSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from shutdownlint.config import Config
    from shutdownlint.engine.rule import Rule
    from shutdownlint.fixes.apply import FixResult
    from shutdownlint.linter.linter import Result
    from shutdownlint.platforms.user_facts import UserFacts
    from shutdownlint.reports.report import Report


class Format(StrEnum):
    """How a check is told."""

    TEXT = "text"
    CONCISE = "concise"
    JSON = "json"
    SARIF = "sarif"
    JUNIT = "junit"
    GITHUB = "github"
    GITLAB = "gitlab"
    MARKDOWN = "markdown"


class FailOn(StrEnum):
    """From which severity on a check ends with exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


def command(
    paths: Paths = None,
    formats: Annotated[
        list[Format] | None,
        typer.Option(
            "--format",
            rich_help_panel=REPORT,
            help="How to tell it; several times for several reports.  \\[default: text]",
            show_default=False,
        ),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(
            "--output",
            "-o",
            rich_help_panel=REPORT,
            metavar="FILE",
            help="Write the report to a file: the first --output is for the first --format, and so "
            "on. The text goes to the screen all the same.",
            show_default=False,
        ),
    ] = None,
    select: Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=WHICH,
            metavar="RULE",
            help="Only these rules: ids or their beginnings (SL1, SL204).",
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=WHICH, metavar="RULE", help="Leave these rules out."),
    ] = None,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            rich_help_panel=WHICH,
            help="From which severity on to exit with 1.  \\[default: warning]",
        ),
    ] = None,
    notes: Annotated[
        bool,
        typer.Option("--notes", rich_help_panel=WHICH, help="Show notes (advice) too."),
    ] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            rich_help_panel=MENDING,
            help="Mend what is safe to mend, in the files; then check.",
        ),
    ] = False,
    unsafe_fixes: Annotated[
        bool,
        typer.Option(
            "--unsafe-fixes",
            rich_help_panel=MENDING,
            help="Mend also what changes the pod's behaviour (a sleep, mesh settings).",
        ),
    ] = False,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff",
            rich_help_panel=MENDING,
            help="Show what --fix would change instead; exit with 1 if there is any.",
        ),
    ] = False,
    baseline: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=ADOPTING,
            metavar="FILE",
            help="Findings that this file has are not told: only new ones are.",
            show_default=False,
        ),
    ] = None,
    write_baseline: Annotated[
        str | None,
        typer.Option(
            rich_help_panel=ADOPTING,
            metavar="FILE",
            help="Write all findings into a baseline, and exit with 0.",
            show_default=False,
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
    """Lint manifests: findings with their place, the arithmetic and the fix.

    Every .yaml, .yml and .json file below the paths is read, and all of them are one world:
    namespaces, Services and mesh configuration count wherever they stand. Templates that are not
    rendered are passed over.

    A finding is an error (certain), a warning (loss under ordinary traffic, or a setting that does
    not do what its author thinks) or a note (advice). 'shutdownlint rule SL102' tells why and what
    to do. A comment '# shutdownlint: ignore[SL102] reason' leaves one out.

    Examples:

      shutdownlint check k8s/

      helm template my-chart | shutdownlint check --p99 10s -

      shutdownlint check --format sarif --output shutdown.sarif .

      shutdownlint check --write-baseline known.json . && shutdownlint check --baseline known.json .

      shutdownlint check --diff k8s/
    """
    wanted = _reports(formats or [Format.TEXT], outputs or [])
    config = configured(config_file, kubernetes, istio, context, exclude, render, values)
    config.select += listed(select)
    config.ignore += listed(ignore)
    config.notes = config.notes or notes
    loaded: list[Rule] = []

    def rules() -> "list[Rule]":
        loaded[:] = rules_for(config)
        return loaded

    given, severities = config.given(p99), config.severities
    threshold = fail_on or FailOn(config.fail_on)
    if diff:
        _show_diff(paths or ["."], config, given, rules, unsafe=unsafe_fixes)
    if fix or unsafe_fixes:
        result = _mended(paths or ["."], config, given, rules, unsafe=unsafe_fixes)
        if paths == ["-"]:
            raise typer.Exit(_exit_code(result, threshold))
    else:
        with progress(paths or ["."], config) as (found, on_file):
            result = check(found, given, rules=rules, severities=severities, on_file=on_file)
    from shutdownlint.reports.report import Report  # noqa: PLC0415 - only once there is a result

    if any(each is Format.SARIF for each, _ in wanted) and not loaded:
        rules()
    report = Report(
        findings=result.findings,
        reading=result.scene.reading,
        workloads=result.workloads,
        rules=loaded,
        remarks=result.scene.remarks,
        suppressed=result.suppressed,
    )
    if write_baseline is not None:
        _write_baseline(report, write_baseline)
        raise typer.Exit(CLEAN if result.whole else INCOMPLETE)
    if baseline is not None:
        _beside(report, baseline, paths or ["."])
        result.findings = list(report.findings)
    for assumed in result.scene.remarks:
        remark(assumed)
    if (Format.CONCISE, None) in wanted:
        for reason, count in report.skipped().items():
            remark(f"passed over: {reason} ({count:,})")
    for each, output in wanted:
        write(_told(report, each, output), output)
    raise typer.Exit(_exit_code(result, threshold))


def _write_baseline(report: "Report", file: str) -> None:
    from shutdownlint.linter.baseline import baseline_text  # noqa: PLC0415

    text, count = baseline_text(report)
    write(text, file)
    remark(f"{file}: {count:,} {'finding is' if count == 1 else 'findings are'} the baseline")


def _beside(report: "Report", file: str, paths: list[str]) -> None:
    """Take out of the report what its baseline has, and tell what is gone."""
    from shutdownlint.linter.baseline import BaselineError, compare  # noqa: PLC0415

    try:
        compared = compare(report, Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise stop(f"{file}: {error.strerror}") from None
    except (UnicodeDecodeError, BaselineError) as error:
        raise stop(f"{file}: {error}") from None
    report.findings = compared.new
    report.suppressed = [*report.suppressed, *compared.known]
    asked = {rule.id for rule in report.rules}
    for entry in compared.gone:
        # Of what this run did not look at nothing is known.
        if entry.rule in asked and any(_below(entry.file, path) for path in paths):
            told = f"{entry.rule} of the baseline is gone: write the baseline anew"
            remark(f"{entry.file}: {told}")


def _below(file: str, path: str) -> bool:
    given = path.removeprefix("./").rstrip("/")
    return given in ("", ".", file) or file.startswith(f"{given}/")


def _reports(formats: list[Format], outputs: list[str]) -> list[tuple[Format, str | None]]:
    """Which report goes where; at most one to standard output."""
    if len(outputs) > len(formats):
        raise stop(f"--output {outputs[len(formats)]}: there is no --format for it")
    unnamed = formats[len(outputs) :]
    if len(unnamed) > 1:
        raise stop(f"--format {unnamed[1].value}: say with --output where it goes")
    # Nothing else goes where a report was sent: "-" is standard output.
    shown = [output in ("-", "/dev/stdout") for output in outputs]
    if sum(shown) + len(unnamed) > 1:
        raise stop("only one report goes to standard output")
    if not unnamed and Format.TEXT not in formats and not any(shown):
        unnamed = [Format.TEXT]
    return [*zip(formats, outputs, strict=False), *((each, None) for each in unnamed)]


def _exit_code(result: "Result", threshold: FailOn) -> int:
    if not result.whole:
        return INCOMPLETE
    if threshold is FailOn.NEVER:
        return CLEAN
    rank = Severity(threshold.value).rank
    return FINDINGS if any(f.severity.rank >= rank for f in result.findings) else CLEAN


def _paths(sources: list[InputSource]) -> dict[str, Path | None]:
    return {s.file.shown: s.file.path for s in sources if isinstance(s.file, InputFile)}


def _mend(
    sources: list[InputSource],
    config: "Config",
    given: "UserFacts",
    rules: "Callable[[], list[Rule]]",
    *,
    unsafe: bool,
) -> "tuple[Result, FixResult]":
    result, fix_result = fix_files(
        sources, given, rules=rules, unsafe=unsafe, severities=config.severities
    )
    for refused in fix_result.refused:
        told = refused.finding
        remark(f"{told.region}: {told.rule} is not mended: {refused.reason}")
    return result, fix_result


def _show_diff(
    paths: list[str],
    config: "Config",
    given: "UserFacts",
    rules: "Callable[[], list[Rule]]",
    *,
    unsafe: bool,
) -> NoReturn:
    from shutdownlint.reports.diff import unified  # noqa: PLC0415

    result, fix_result = _mend(list(sources_of(paths, config)), config, given, rules, unsafe=unsafe)
    for name in sorted(fix_result.texts):
        sys.stdout.write(unified(name, fix_result.originals[name], fix_result.texts[name]))
    raise typer.Exit(INCOMPLETE if not result.whole else FINDINGS if fix_result.texts else CLEAN)


def _mended(
    paths: list[str],
    config: "Config",
    given: "UserFacts",
    rules: "Callable[[], list[Rule]]",
    *,
    unsafe: bool,
) -> "Result":
    """Mend, write, and give what is left. Text from standard input goes to standard output."""
    sources = list(sources_of(paths, config))
    result, fix_result = _mend(sources, config, given, rules, unsafe=unsafe)
    if not _write_mended(sources, fix_result):
        result.whole = False
    if paths == ["-"]:  # the mended text goes where the text came from; the report to stderr
        text = fix_result.texts.get("<stdin>", fix_result.originals.get("<stdin>", b""))
        sys.stdout.buffer.write(text)
        for finding in result.findings:
            remark(f"{finding.region}: {finding.severity.value} {finding.rule} {finding.message}")
    return result


def _write_mended(sources: list[InputSource], fix_result: "FixResult") -> bool:
    """Write the mended files; False where one could not be."""
    from shutdownlint.atomic_write import update_file  # noqa: PLC0415

    whole, paths = True, _paths(sources)
    for name in sorted(fix_result.texts):
        path = paths[name]
        if path is None:
            continue
        try:
            update_file(path, fix_result.originals[name], fix_result.texts[name])
        except OSError as error:
            remark(f"{name}: not written: {error.strerror or error}")
            whole = False
    if fix_result.fixed:
        findings, files = len(fix_result.fixed), len(fix_result.texts)
        of = "finding" if findings == 1 else "findings"
        remark(f"mended {findings} {of} in {files} {'file' if files == 1 else 'files'}")
    return whole


#: The reports for programs, each in the room of its name.
_WRITERS: Final = (
    Format.JSON,
    Format.SARIF,
    Format.JUNIT,
    Format.GITHUB,
    Format.GITLAB,
    Format.MARKDOWN,
)


def _told(report: "Report", output_format: Format, output: str | None) -> str | None:
    if output_format in _WRITERS:
        room = import_module(f"shutdownlint.reports.{output_format.value}")
        text: str = getattr(room, f"write_{output_format.value}")(report)
        return text
    if not report.findings:  # nothing to draw: a hook does not wait for the library that draws
        lines = report.summary() if output_format is Format.TEXT else []
        return "".join(f"{line}\n" for line in lines)
    from shutdownlint.reports.text import write_concise, write_text  # noqa: PLC0415

    writer = write_text if output_format is Format.TEXT else write_concise
    return printed(lambda console: writer(report, console), output)
