"""The pictures of the README and the site: a finding as a terminal shows it, and a timeline."""

from __future__ import annotations

import io
from contextlib import chdir
from pathlib import Path
from typing import Final

from msgspec.structs import replace
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from shutdownlint.linter.linter import check, plan_workloads
from shutdownlint.linter.options import LintOptions
from shutdownlint.manifests.discovery import InputFile, discover
from shutdownlint.manifests.inputs import Inputs, InputSource
from shutdownlint.reports.explain_svg import draw_svg
from shutdownlint.reports.explanation import explain_pods
from shutdownlint.reports.report import Report
from shutdownlint.reports.text_findings import draw_report
from shutdownlint.shutdown.analysis import NO_TRAFFIC

ROOT: Final = Path(__file__).resolve().parents[1]
_SHOP: Final = "examples/shop"
#: The workload that both pictures are about: the typical case.
_WORKLOAD: Final = "frontend"
_WIDTH: Final = 66
_LABEL: Final = "A finding of shutdownlint: the proxy exits before the app's preStop hook ends"
_THEME: Final = TerminalTheme(
    (20, 24, 29),
    (231, 235, 240),
    [
        (20, 24, 29),
        (255, 118, 105),
        (67, 181, 129),
        (240, 185, 91),
        (110, 170, 255),
        (200, 140, 255),
        (100, 200, 210),
        (231, 235, 240),
    ],
    [
        (120, 130, 140),
        (255, 138, 126),
        (90, 200, 150),
        (250, 205, 120),
        (140, 190, 255),
        (220, 170, 255),
        (130, 220, 230),
        (255, 255, 255),
    ],
)
#: The library's own frame loads a font from a server; this one names what every machine has.
_FRAME: Final = (
    f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{_LABEL}" '
    'viewBox="0 0 {width} {height}">\n'
    "<style>.{unique_id}-matrix{{font-family:ui-monospace,Menlo,Consolas,monospace;"
    "font-size:{char_height}px;line-height:{line_height}px}}{styles}</style>\n"
    '<defs><clipPath id="{unique_id}-clip-terminal">'
    '<rect width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>\n'
    '<rect width="{width}" height="{height}" rx="10" fill="#14181d"/>\n'
    '<g transform="translate({terminal_x}, {terminal_y})" '
    'clip-path="url(#{unique_id}-clip-terminal)">\n'
    '{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g></svg>\n'
)


def _inputs() -> Inputs:
    """Return the example shop, named as from the project's folder."""
    return Inputs(
        tuple(
            InputSource(InputFile(found.path, f"{_SHOP}/{found.path.name}"))
            for found in discover([str(ROOT / _SHOP)])
            if isinstance(found, InputFile) and found.path is not None
        )
    )


def finding_picture() -> str:
    """Return the finding of the workload."""
    result = check(_inputs(), LintOptions())
    own = [f for f in result.findings if f.workload is not None and f.workload.name == _WORKLOAD]
    drawn = io.StringIO()
    console = Console(file=drawn, force_terminal=True, color_system="standard", highlight=False)
    with chdir(ROOT):
        draw_report(Report(replace(result, findings=own), quiet=True), console)
    screen = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True)
    screen.print(Text("$ shutdownlint check examples/\n", "bold"))
    for line in drawn.getvalue().rstrip().splitlines():
        screen.print(Text.from_ansi(line))
    picture = screen.export_svg(
        title="", theme=_THEME, code_format=_FRAME, unique_id="finding", font_aspect_ratio=0.6
    )
    return "\n".join(line.rstrip() for line in picture.splitlines() if line.strip()) + "\n"


def timeline_picture() -> str:
    """Return the timeline of the workload."""
    run = plan_workloads(_inputs(), LintOptions())
    findings = check(_inputs(), LintOptions()).findings
    pods = [pod for pod in run.pods if pod.id.name == _WORKLOAD]
    return draw_svg(explain_pods(pods, (), NO_TRAFFIC, findings))
