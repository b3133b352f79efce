"""``check``: lint manifests, mend them, show what would be mended."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from shutdownlint.cli.given import (
    configured,
    listed,
    progress,
    rules_for,
    sources_of,
)
from shutdownlint.cli.options import (
    P99,
    ConfigFile,
    Context,
    Exclude,
    IstioVersion,
    KubernetesVersion,
    Paths,
)
from shutdownlint.cli.say import CLEAN, FINDINGS, NOT_WHOLE, printed, remark, write
from shutdownlint.manifests.discover import Found
from shutdownlint.manifests.gather import Source
from shutdownlint.rules.finding import Severity
from shutdownlint.run import check, mend

if TYPE_CHECKING:
    from pathlib import Path

    from shutdownlint.fixes.mend import Mended
    from shutdownlint.reports.report import Report
    from shutdownlint.rules.rule import Rule
    from shutdownlint.run import Result


class Format(StrEnum):
    """How a check is told."""

    TEXT = "text"
    CONCISE = "concise"
    JSON = "json"
    SARIF = "sarif"


class FailOn(StrEnum):
    """From which severity on a check ends with exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


def command(
    paths: Paths = None,
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
    kubernetes: KubernetesVersion = None,
    istio: IstioVersion = None,
    p99: P99 = None,
    context: Context = None,
    exclude: Exclude = None,
    config_file: ConfigFile = None,
) -> None:
    """Lint manifests: findings with their place, the arithmetic and the fix.

    Examples:

      shutdownlint check k8s/

      helm template my-chart | shutdownlint check --p99 10s -

      shutdownlint check --format sarif --output shutdown.sarif .

      shutdownlint check --diff k8s/
    """
    config = configured(config_file, kubernetes, istio, context, exclude)
    config.select += listed(select)
    config.ignore += listed(ignore)
    config.notes = config.notes or notes
    loaded: list[Rule] = []

    def rules() -> list[Rule]:
        loaded[:] = rules_for(config)
        return loaded

    given, severities = config.given(p99), config.severities
    if fix or unsafe_fixes or diff:
        sources = list(sources_of(paths or ["."], config))
        result, mended = mend(
            sources, given, rules=rules, unsafe=unsafe_fixes, severities=severities
        )
        for refused in mended.refused:
            told = refused.finding
            remark(f"{told.place}: {told.rule} is not mended: {refused.reason}")
        if diff:
            _show_diff(mended)
            raise typer.Exit(NOT_WHOLE if not result.whole else FINDINGS if mended.texts else CLEAN)
        if not _write_mended(sources, mended):
            result.whole = False
        if paths == ["-"]:  # the mended text goes where the text came from; the report to stderr
            text = mended.texts.get("<stdin>", mended.originals.get("<stdin>", b""))
            sys.stdout.buffer.write(text)
            for finding in result.findings:
                remark(
                    f"{finding.place}: {finding.severity.value} {finding.rule} {finding.message}"
                )
            raise typer.Exit(_exit_code(result, fail_on or FailOn(config.fail_on)))
    else:
        with progress(paths or ["."], config) as (found, tick):
            result = check(found, given, rules=rules, severities=severities, tick=tick)
    from shutdownlint.reports.report import Report  # noqa: PLC0415 - only once there is a result

    if output_format is Format.SARIF and not loaded:
        rules()
    report = Report(
        findings=result.findings,
        reading=result.scene.reading,
        workloads=result.workloads,
        rules=loaded,
        remarks=result.scene.remarks,
    )
    for assumed in result.scene.remarks:
        remark(assumed)
    if output_format is Format.CONCISE:
        for reason, count in report.passed_over().items():
            remark(f"passed over: {reason} ({count:,})")
    write(_told(report, output_format, output), output)
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
            remark(f"{name}: not written: {error.strerror or error}")
            whole = False
    if mended.fixed:
        findings, files = len(mended.fixed), len(mended.texts)
        of = "finding" if findings == 1 else "findings"
        remark(f"mended {findings} {of} in {files} {'file' if files == 1 else 'files'}")
    return whole


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
    return printed(lambda console: writer(report, console), output)
