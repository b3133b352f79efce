"""The JSON reports of many repositories and clusters, below one folder, on one page.

Each folder with reports is a source: ``team-a/shop/2026-11-23.json`` is one of ``team-a/shop``. Its
reports are in the order of their names; a date in a name places it in time.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct, field

from shutdownlint import files
from shutdownlint.engine.rule_loader import load_all_bundled
from shutdownlint.patterns import lazy_pattern
from shutdownlint.project import rule_url
from shutdownlint.reports.history import HistoryError, read_report
from shutdownlint.reports.page import draw_markup, draw_page, draw_table, draw_wide
from shutdownlint.reports.report import safe
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.reports.history import JsonReport
    from shutdownlint.reports.output import ReportOutput

_DATE: Final = lazy_pattern(r"(20[0-9]{2})-([01][0-9])-([0-3][0-9])")
_WEEK: Final = dt.timedelta(days=7)
#: Of causes so many are shown, and of what is new in one source.
_MOST_CAUSES: Final = 10
_MOST_NEW: Final = 5
#: What loses something, as ``summary.losses`` names it, the worst first.
_LOSSES: Final = ("cut", "late", "own_calls", "work", "long")
_TITLES: Final = ("in flight", "late", "own calls", "work", "long")
_NO_TEAM: Final = "no team"
_WIDTH, _HEIGHT = 680, 160


class _Point(Struct, frozen=True):
    """One report of a source: its name and date, how many workloads lose what, of how many."""

    name: str
    date: dt.date | None
    losses: dict[str, int]
    workloads: int

    @property
    def losing(self) -> int:
        """The number of workloads that lose something."""
        return sum(self.losses.values())


class _Cause(Struct):
    """A rule, and what it is reported for."""

    title: str
    fix: str
    workloads: int = 0
    sources: set[str] = field(default_factory=set)
    #: How many workloads one place decides for, by source and file.
    places: Counter[tuple[str, str]] = field(default_factory=Counter)


class _Source(Struct):
    """The reports of a folder; ``new`` are the findings that the last week added."""

    name: str
    points: list[_Point] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


class Fleet(Struct):
    """Everything that the page shows. ``unreadable`` are files that are no reports."""

    sources: list[_Source] = field(default_factory=list)
    causes: dict[str, _Cause] = field(default_factory=dict)
    teams: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)


def read_fleet(folder: Path) -> Fleet:
    """Return the reports below a folder. What cannot be read is named, and all else is used."""
    fleet = Fleet()
    by_source: dict[str, list[Path]] = {}
    for top, folders, names, _ in files.walk(folder, (".json",)):
        folders.sort()
        found = sorted(name for name in names if name.endswith(".json"))
        if found:
            below = Path(top)
            name = below.relative_to(folder).as_posix()
            by_source[name] = [below / each for each in found]
    for name, paths in sorted(by_source.items()):
        source = _read_source(name, paths, fleet)
        if source.points:
            fleet.sources.append(source)
    return fleet


def _read_source(name: str, paths: Sequence[Path], fleet: Fleet) -> _Source:
    source = _Source(name)
    keys: list[dict[tuple[str, str], str]] = []
    last: JsonReport | None = None
    for path in paths:
        try:
            report = read_report(path)
        except HistoryError as error:
            fleet.unreadable.append(str(error))
            continue
        source.points.append(_point(path.stem, report))
        keys.append(_keys(report))
        last = report
    if last is not None:
        earlier = _week_before(source.points)
        if earlier is not None:
            source.new = [text for key, text in keys[-1].items() if key not in keys[earlier]]
        _add_causes(last, name, fleet)
    return source


def _point(name: str, report: JsonReport) -> _Point:
    written = _DATE.search(name)
    date = None
    if written is not None:
        try:
            date = dt.date(*map(int, written.groups()))
        except ValueError:
            date = None
    counts = report.losses
    losses = {key: counts.get(key, 0) for key in _LOSSES}
    return _Point(name, date, losses, report.workloads)


def _keys(report: JsonReport) -> dict[tuple[str, str], str]:
    """Return the findings that are no notes, by what identifies them, in words."""
    return {
        (str(each.get("file")), str(each.get("fingerprint"))): _in_words(each)
        for each in report.findings
        if each.get("severity") != "note"
    }


def _in_words(finding: dict[str, Any]) -> str:
    names = ", ".join(name for name in _workloads(finding)[:3])
    return f"{finding.get('rule')} {names or finding.get('file')}: {finding.get('title')}"


def _workloads(finding: dict[str, Any]) -> list[str]:
    found = finding.get("workloads")
    entries = found if isinstance(found, list) else []
    return [
        "/".join(str(each.get(key)) for key in ("kind", "namespace", "name") if each.get(key))
        for each in entries
        if isinstance(each, dict)
    ]


def _week_before(points: Sequence[_Point]) -> int | None:
    """Return the last report that is a week older than the newest; without dates the one before."""
    newest = points[-1].date
    older = [
        number
        for number, point in enumerate(points[:-1])
        if newest is not None and point.date is not None and newest - point.date >= _WEEK
    ]
    if older:
        return older[-1]
    return len(points) - 2 if len(points) > 1 else None


def _add_causes(report: JsonReport, source: str, fleet: Fleet) -> None:
    owners: dict[str, set[str]] = {}
    for finding in report.findings:
        if finding.get("severity") == "note":
            continue
        rule = str(finding.get("rule"))
        cause = fleet.causes.setdefault(
            rule, _Cause(str(finding.get("title")), str(finding.get("fix") or ""))
        )
        names = _workloads(finding)
        cause.workloads += max(len(names), 1)
        cause.sources.add(source)
        cause.places[source, str(finding.get("file"))] += max(len(names), 1)
        team = str(finding.get("owner") or _NO_TEAM)
        owners.setdefault(team, set()).update(names)
    for team, workloads in owners.items():
        fleet.teams[team] += len(workloads)


def render_html(fleet: Fleet, _output: ReportOutput) -> str:
    """Return the page. Its links lead to the reports beside it."""
    lasts = [source.points[-1] for source in fleet.sources]
    losing, workloads = sum(p.losing for p in lasts), sum(p.workloads for p in lasts)
    share = f" ({losing / workloads:.0%})" if workloads else ""
    body = [
        "<h1>What stops of pods lose</h1>",
        (
            f"<p>{losing:,} of {plural(workloads, 'workload')}{share} in "
            f"{plural(len(fleet.sources), 'repository or cluster', 'repositories and clusters')} "
            "lose requests, calls or work at a stop.</p>"
        ),
        _draw_time(fleet),
        "<h2>What to fix once</h2>",
        draw_markup(
            ("rule", "workloads", "places", "the place that decides for most"),
            [*_cause_rows(fleet)],
        ),
        "<h2>New in the last week</h2>",
        _draw_new(fleet),
        "<h2>Repositories and clusters</h2>",
        draw_markup(
            ("name", "losing", *_TITLES, "workloads", "since before"), [*_source_rows(fleet)]
        ),
    ]
    if set(fleet.teams) - {_NO_TEAM}:
        rows = [(team, f"{count:,}") for team, count in fleet.teams.most_common()]
        body += ["<h2>Teams</h2>", draw_table("", ("team", "workloads with findings"), rows)]
    if fleet.unreadable:
        body += [
            "<h2>Not read</h2><ul>",
            *(f"<li>{escape(safe(text))}</li>" for text in fleet.unreadable),
            "</ul>",
        ]
    return draw_page("What stops of pods lose", "".join(body))


def _cause_rows(fleet: Fleet) -> Iterator[tuple[str, ...]]:
    # What loses requests comes before what has another cost.
    losing = {rule.id for rule in load_all_bundled() if rule.losses}
    ranked = sorted(
        fleet.causes.items(), key=lambda each: (each[0] not in losing, -each[1].workloads)
    )
    for rule, cause in ranked[:_MOST_CAUSES]:
        url = rule_url(rule)
        shown = escape(safe(rule))
        linked = f"<a href={quoteattr(url)}>{shown}</a>" if url is not None else shown
        (source, file), count = cause.places.most_common(1)[0]
        place = f"{source}: {file} ({plural(count, 'workload')})"
        fix = f'<br><span class="faint">{escape(safe(cause.fix[:200]))}</span>' if cause.fix else ""
        yield (
            f"{linked} {escape(safe(cause.title))}{fix}",
            _number(cause.workloads),
            _number(len(cause.sources)),
            escape(safe(place)),
        )


def _draw_new(fleet: Fleet) -> str:
    parts = []
    for source in sorted(fleet.sources, key=lambda each: -len(each.new)):
        if not source.new:
            continue
        shown = "".join(f"<li>{escape(safe(text))}</li>" for text in source.new[:_MOST_NEW])
        left = len(source.new) - _MOST_NEW
        more = f"<li>and {left:,} more</li>" if left > 0 else ""
        head = f"{escape(safe(source.name))} ({len(source.new):,})"
        parts.append(f"<details><summary>{head}</summary><ul>{shown}{more}</ul></details>")
    return "".join(parts) or "<p>Nothing.</p>"


def _source_rows(fleet: Fleet) -> Iterator[tuple[str, ...]]:
    for source in sorted(fleet.sources, key=lambda each: -each.points[-1].losing):
        last = source.points[-1]
        before = source.points[-2].losing if len(source.points) > 1 else None
        change = "" if before is None else f"{last.losing - before:+,}".replace("+0", "0")
        address = quote(f"{source.name}/{last.name}.json", safe="/")
        yield (
            f"<a href={quoteattr(address)}>{escape(safe(source.name))}</a>",
            _number(last.losing),
            *(_number(last.losses[key]) for key in _LOSSES),
            _number(last.workloads),
            f'<span class="number">{change}</span>',
        )


def _number(value: int) -> str:
    """Return a number that is not broken over lines."""
    return f'<span class="number">{value:,}</span>'


def _draw_time(fleet: Fleet) -> str:
    """Draw how many workloads lose something on each day with a report, over all sources."""
    days = sorted({p.date for source in fleet.sources for p in source.points if p.date is not None})
    if len(days) < 2:
        return ""
    totals = [sum(_losing_on(source, day) for source in fleet.sources) for day in days]
    most, span = max(*totals, 1), max((days[-1] - days[0]).days, 1)
    places = [
        (40 + (day - days[0]).days / span * (_WIDTH - 60), _HEIGHT - 30 - total / most * 110)
        for day, total in zip(days, totals, strict=True)
    ]
    line = " ".join(f"{x:.0f},{y:.0f}" for x, y in places)
    dots = "".join(
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3"><title>{day}: {total:,}</title></circle>'
        for (x, y), day, total in zip(places, days, totals, strict=True)
    )
    text = f"{totals[0]:,} workloads lost something on {days[0]}, {totals[-1]:,} on {days[-1]}"
    svg = (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label={quoteattr(text)}>'
        '<g fill="currentColor" stroke="none" font-size="12">'
        f'<text x="0" y="24">{most:,}</text><text x="0" y="{_HEIGHT - 30}">0</text>'
        f'<text x="40" y="{_HEIGHT - 8}">{days[0]}</text>'
        f'<text x="{_WIDTH - 20}" y="{_HEIGHT - 8}" text-anchor="end">{days[-1]}</text></g>'
        f'<g fill="var(--link)" stroke="var(--link)"><polyline points="{line}" fill="none" '
        f'stroke-width="2"/>{dots}</g></svg>'
    )
    return f"<h2>Over time</h2><p>{escape(text)}.</p>{draw_wide(svg)}"


def _losing_on(source: _Source, day: dt.date) -> int:
    """Return how many workloads of a source lost something by its last report until a day."""
    known = [p.losing for p in source.points if p.date is not None and p.date <= day]
    return known[-1] if known else 0
