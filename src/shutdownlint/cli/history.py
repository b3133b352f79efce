"""``history``: what changed between the reports of a folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from shutdownlint.cli.declarations import Argument
from shutdownlint.cli.options import FORMAT_OPTION, OutputFile, choice
from shutdownlint.cli.output import INCOMPLETE, check_outputs, usage_error, warn, write_output
from shutdownlint.reports.fleet import read_fleet
from shutdownlint.reports.history import HistoryError, read_history
from shutdownlint.reports.output import ReportOutput
from shutdownlint.reports.registry import FLEET_REPORTERS, HISTORY_REPORTERS, find_reporter

_PAGE = "html"
if TYPE_CHECKING:
    from enum import StrEnum as HistoryFormat
else:
    HistoryFormat = choice(
        "HistoryFormat", [each.name for each in (*HISTORY_REPORTERS, *FLEET_REPORTERS)]
    )


def command(
    *,
    folder: Annotated[
        str, Argument(metavar="FOLDER", help="A folder of reports of check --format json.")
    ],
    output_format: Annotated[
        HistoryFormat | None,
        FORMAT_OPTION,
    ] = None,
    output: OutputFile = None,
) -> None:
    """Show what changed from report to report: findings that are new, fixed and left.

    The reports are the JSON files of the folder, in the order of their names: call them by their
    dates. The findings of the last one are counted by team.

    With --format html the reports of many repositories and clusters are one page: each folder below
    FOLDER is one of them. Its links lead to the reports, so write the page into FOLDER.

    Examples:

      shutdownlint check --format json=reports/2026-11-23.json . ; shutdownlint history reports/

      shutdownlint history fleet/ --format html --output fleet/index.html
    """
    check_outputs([output])
    path = Path(folder)
    if not path.is_dir():
        reason = "a file, not a folder" if path.exists() else "no such folder"
        raise usage_error(f"{folder}: {reason}")

    if output_format is not None and output_format.value == _PAGE:
        _write_fleet(path, output)
        return
    try:
        history = read_history(path)
    except HistoryError as error:
        raise usage_error(str(error)) from None
    if not history.rows:
        warn(f"{folder}: no reports (*.json)")
        raise SystemExit(INCOMPLETE)
    name = str(output_format.value) if output_format is not None else "text"
    reporter = find_reporter(HISTORY_REPORTERS, name)
    write_output(reporter.render(history, ReportOutput(output)), output)


def _write_fleet(folder: Path, output: str | None) -> None:
    fleet = read_fleet(folder)
    for text in fleet.unreadable:
        warn(text)
    if not fleet.sources:
        warn(f"{folder}: no reports (*.json)")
        raise SystemExit(INCOMPLETE)
    write_output(find_reporter(FLEET_REPORTERS, _PAGE).render(fleet, ReportOutput(output)), output)
    if fleet.unreadable:
        raise SystemExit(INCOMPLETE)
