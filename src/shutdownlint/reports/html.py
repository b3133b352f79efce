"""A check as one page to share: findings by team, namespace, rule or file, and timelines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr
from zlib import crc32

from shutdownlint.linter.verdicts import sort_verdicts
from shutdownlint.project import rule_url
from shutdownlint.reports.explain_html import draw_tables
from shutdownlint.reports.explain_svg import draw_svg
from shutdownlint.reports.explanation import Explanation
from shutdownlint.reports.page import draw_markup, draw_page, draw_wide
from shutdownlint.reports.report import safe
from shutdownlint.reports.texts import format_verdict
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.engine.finding import Finding, Severity
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.reports.report import Report

_NO_TEAM: Final = "no team"
_NO_NAMESPACE: Final = "no namespace"
#: A longer list of workloads is folded.
_FEW_WORKLOADS: Final = 100
#: A longer line of a manifest is cut.
_LONGEST_LINE: Final = 300
#: Groups the findings by what the reader chooses; without scripts they are grouped by team.
_SCRIPT: Final = """
const list=document.getElementById("findings"),by=document.getElementById("by"),
find=document.getElementById("find"),count=document.getElementById("count"),
all=[...list.querySelectorAll("article")];
function show(){const groups=new Map(),word=find.value.toLowerCase();let shown=0;
for(const one of all){if(!one.textContent.toLowerCase().includes(word))continue;shown++;
const name=one.dataset[by.value];if(!groups.has(name))groups.set(name,[]);groups.get(name).push(one)}
list.replaceChildren();
for(const name of [...groups.keys()].sort()){const head=document.createElement("h2"),own=groups.get(name);
head.textContent=name+" ("+own.length+")";list.append(head,...own)}
count.textContent=shown+" of "+all.length+" findings"}
by.addEventListener("change",show);find.addEventListener("input",show);
function open(){const one=document.getElementById(location.hash.slice(1));if(one)one.open=true}
addEventListener("hashchange",open);open();document.querySelector(".tools").hidden=false;
"""


def draw_timeline(pod: PlannedPod, findings: Sequence[Finding]) -> str:
    """Return the timeline of a pod where something is found; empty elsewhere."""
    if pod.plan is None or not findings:
        return ""
    explanation = Explanation(pod)
    number = crc32(f"{pod.ref.region()} {pod.title}".encode(errors="surrogateescape"))
    return draw_wide(draw_svg([explanation], number)) + draw_tables(explanation)


def render_html(report: Report, _output: ReportOutput) -> str:
    """Return the page."""
    ordered = sorted(report.placed, key=lambda f: (-f.severity.rank, f.region))
    teams: dict[str, list[Finding]] = {}
    for finding in ordered:
        teams.setdefault(report.owner_of(finding) or _NO_TEAM, []).append(finding)
    groups = "".join(
        f"<h2>{_text(team)} ({len(own):,})</h2>{''.join(_article(f, team, report) for f in own)}"
        for team, own in sorted(teams.items())
    )
    body = (
        f"<h1>Requests lost at shutdown</h1>{_opening(report)}"
        f"{_by_rule(report)}{_tools()}"
        f'<p id="count" role="status" class="faint"></p><div id="findings">{groups}</div>'
        f"{_timelines(report)}"
    )
    return draw_page("shutdownlint report", body, _SCRIPT)


def _tools() -> str:
    options = "".join(
        f'<option value="{name}">{name}</option>' for name in ("team", "namespace", "rule", "file")
    )
    return (
        f'<div class="tools" hidden><label>Group by <select id="by">{options}</select></label>'
        '<label>Find <input id="find" type="search"></label></div>'
    )


def _by_rule(report: Report) -> str:
    counts = Counter((f.rule, f.severity, f.name) for f in report.findings)
    if not counts:
        return ""
    rows = [
        (f"{count:,}", _rule(rule), _badge(severity), _text(name))
        for (rule, severity, name), count in sorted(counts.items(), key=lambda c: (-c[1], c[0]))
    ]
    table = draw_markup(("findings", "rule", "severity", "name"), rows)
    return f"<details><summary>By rule</summary>{table}</details>"


def _article(finding: Finding, team: str, report: Report) -> str:
    workload = finding.workload
    namespace = (workload.namespace if workload is not None else None) or _NO_NAMESPACE
    data = {
        "team": team,
        "namespace": namespace,
        "rule": f"{finding.rule} {finding.name}",
        "file": finding.region.file,
    }
    attributes = " ".join(f"data-{name}={quoteattr(safe(value))}" for name, value in data.items())
    what = f"{workload}, " if workload is not None else ""
    container = f"container {finding.container}, " if finding.container else ""
    fix = ""
    if finding.fix is not None:
        option = " [--fix]" if finding.fix.safe else " [--unsafe-fixes]"
        can = option if report.is_fixable(finding) else ""
        fix = f"<p><b>Fix:</b> {_text(finding.fix.description)}{can}</p>"
    parts = [
        f"<p>{_badge(finding.severity)} {_rule(finding.rule)} <b>{_text(finding.name)}</b></p>",
        f"<p>{_text(finding.message)}</p>",
        f'<p class="faint">{_text(what)}{_text(container)}{_text(str(finding.region))}</p>',
        _source(finding, report),
        fix,
    ]
    if finding.holds_for:
        parts.append(f'<p class="faint">holds for {_text(finding.holds_for)}</p>')
    if finding.variants:
        parts.append(f'<p class="faint">in {_text(", ".join(finding.variants))}</p>')
    parts += [
        f'<p class="faint">{finding.confidence.value} confidence: {_text(text)}</p>'
        for text in finding.assumptions
    ]
    anchor = _anchor(finding)
    if _timeline_of(finding, report):
        parts.append(f'<p><a href="#{anchor}">Timeline of this workload</a></p>')
    return f"<article {attributes}>{''.join(parts)}</article>"


def _source(finding: Finding, report: Report) -> str:
    """Return the line, with what decides it marked."""
    region = finding.region
    whole = report.lines.line(region.file, region.line)
    if whole is None or len(whole) > _LONGEST_LINE:
        return ""
    line = whole.lstrip(" ")
    left = len(whole) - len(line)
    end = region.end_column - 1 - left if region.end_line == region.line else len(line)
    start = min(max(region.column - 1 - left, 0), len(line))
    return (
        f'<pre tabindex="0"><code>'
        f"{region.line} | {_text(line[:start])}<mark>{_text(line[start:end])}</mark>"
        f"{_text(line[end:])}</code></pre>"
    )


def _timeline_of(finding: Finding, report: Report) -> str:
    """Return the timeline of the pod of a finding, where there is one."""
    found: str | None = report.description("html", finding.subject_file, finding.workload)
    return found or ""


def _anchor(finding: Finding) -> str:
    name = f"{finding.subject_file} {finding.workload}"
    return f"t{crc32(name.encode(errors='surrogateescape'))}"


def _timelines(report: Report) -> str:
    """Return the timelines of the workloads with findings, each behind its name."""
    drawn = {}
    for finding in report.findings:
        timeline, verdict = _timeline_of(finding, report), report.verdict_of(finding)
        if timeline and verdict is not None:
            head = f"<summary>{_text(f'{verdict.title}: {format_verdict(verdict)}')}</summary>"
            anchor = _anchor(finding)
            drawn[anchor] = f'<details id="{anchor}">{head}{timeline}</details>'
    return f"<h2>Timelines</h2>{''.join(drawn.values())}" if drawn else ""


def _opening(report: Report) -> str:
    """Return the lines about the run, and every workload with its verdict, the worst first."""
    lines = "".join(f"<p>{_text(line)}</p>" for line in report.summary())
    rows = []
    for verdict in sort_verdicts(report.result.verdicts):
        cells = (
            verdict.title,
            verdict.lost.replace("_", " "),
            format_verdict(verdict),
            ", ".join(verdict.senders),
            str(verdict.region),
        )
        rows.append([_text(cell) for cell in cells])
    if not rows:
        return lines
    heads = ("workload", "loses", "verdict", "senders", "where")
    is_open = " open" if len(rows) <= _FEW_WORKLOADS else ""
    summary = f"<summary>{plural(len(rows), 'workload')}</summary>"
    return f"{lines}<details{is_open}>{summary}{draw_markup(heads, rows)}</details>"


def _badge(severity: Severity) -> str:
    return f'<span class="badge {severity.value}">{severity.value}</span>'


def _rule(rule: str) -> str:
    page = rule_url(rule)
    return f'<a href="{page}">{_text(rule)}</a>' if page else _text(rule)


def _text(text: str) -> str:
    return escape(safe(text))
