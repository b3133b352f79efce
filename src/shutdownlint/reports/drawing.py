"""A pod's shutdown as a picture (SVG), and as a page with the tables beside it (HTML).

One lane a container, then requests as bars: what is served is solid, what is lost is hatched, and
both are named in words, so that nothing rests on colours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from xml.sax.saxutils import escape, quoteattr

from shutdownlint.reports.explain import (
    Phase,
    asked,
    assumed,
    drawn_of,
    horizon_of,
    phases_of,
    room,
    told,
)
from shutdownlint.reports.report import safe
from shutdownlint.shutdown import Outcome, Shutdown, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import timedelta

    from shutdownlint.platforms.planner import Pod
    from shutdownlint.shutdown import Plan, Request, Setting, Timeline, Traffic

_WIDTH: Final = 960
_LABELS: Final = 190
_RIGHT: Final = 30
_ROW: Final = 26
_BAR: Final = 18
#: How wide a letter is, about: nothing measures text here.
_LETTER: Final = 6.6
#: How much of what is lost is drawn at least.
_SHORTEST: Final = 12
#: Stands for the class of a picture's own pattern.
_LOST: Final = "\N{EMPTY SET}lost"
_CLASSES: Final = {
    Phase.ACCEPTS: "accepts",
    Phase.FINISHES: "finishes",
    Phase.LUCK: "luck",
}
_STYLE: Final = """
.sdl{--ink:#1c2430;--faint:#5a6675;--line:#d5dbe3;--paper:#ffffff;--ok:#1a7f4b;--slow:#b7791f;--bad:#c0392b}
@media (prefers-color-scheme:dark){.sdl{--ink:#e7ebf0;--faint:#a3adba;--line:#39424e;--paper:#14181d;
--ok:#43b581;--slow:#e0a84a;--bad:#ef6a5a}}
.sdl text{font:13px ui-sans-serif,system-ui,sans-serif;fill:var(--ink)}
.sdl .head{font-weight:600;font-size:15px}.sdl .faint{fill:var(--faint);font-size:12px}
.sdl .paper{fill:var(--paper)}.sdl .grid{stroke:var(--line)}.sdl .kill{stroke:var(--bad);stroke-dasharray:4 3}
.sdl .accepts{fill:var(--ok)}.sdl .finishes{fill:var(--slow)}.sdl .luck{fill:none;stroke:var(--slow);
stroke-dasharray:3 3}.sdl .gone{stroke:var(--bad);stroke-width:2.5}.sdl .served{fill:var(--ok)}
.sdl .on{fill:var(--paper)}
.sdl .hatch{stroke:var(--bad);stroke-width:3}
"""


def explain_svg(
    pods: Sequence[Pod], requests: Sequence[Request], traffic: Traffic, number: int = 1
) -> str:
    """All pods in one picture, one below the other; ``number`` counts the pictures of a page."""
    parts, top = [], 0
    for pod in pods:
        if pod.plan is not None:
            lines = list(_pod(pod, pod.plan, requests, traffic))
            height = int(lines.pop())
            parts.append(f'<g transform="translate(0 {top})">{"".join(lines)}</g>')
            top += height
    names = ", ".join(str(pod.id) for pod in pods if pod.plan is not None)
    label = quoteattr(safe(f"Shutdown timeline of {names}"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sdl" role="img" aria-label={label} '
        f'viewBox="0 0 {_WIDTH} {top}" width="{_WIDTH}" height="{top}">'
        f"<style>{_STYLE}.sdl .lost{number}{{fill:url(#lost{number})}}</style>"
        f'<defs><pattern id="lost{number}" width="7" height="7" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="7"/>'
        "</pattern></defs>"
        f'<rect class="paper" width="{_WIDTH}" height="{top}"/>'
        f"{''.join(parts).replace(_LOST, f'lost lost{number}')}</svg>\n"
    )


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    shown = escape(safe(text))
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{shown}</text>'


def _short(text: str, width: float, letter: float = _LETTER) -> str:
    """As much of a text as has room."""
    fits = int(width / letter)
    shown = safe(text)
    return shown if len(shown) <= fits else f"{shown[: fits - 1]}…"


def _bar(kind: str, x: float, y: float, width: float, title: str) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" '
        f'height="{_BAR}" rx="2"><title>{escape(safe(title))}</title></rect>'
    )


def _end(x: float, y: float) -> str:
    """Where something is gone for good."""
    top, bottom = y - 2, y + _BAR + 2
    return f'<line class="gone" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'


def _pod(pod: Pod, plan: Plan, requests: Sequence[Request], traffic: Traffic) -> Iterator[str]:
    """The pod's picture; the last item is its height."""
    shutdown = Shutdown(plan)
    region = pod.ref.region()
    yield _text(16, 28, _short(f"{pod.id}", _WIDTH - 40, 8.5), "head")
    yield _text(16, 46, _short(f"{region.file}:{region.line}", _WIDTH - 200), "faint")
    drawn = drawn_of(shutdown, requests, traffic)
    if drawn is None:
        yield _text(16, 70, "no timeline: the grace period is a placeholder", "faint")
        yield "90"
        return
    horizon = horizon_of(drawn)
    y = 66.0

    def at(moment: timedelta) -> float:
        share = min(max(moment / horizon, 0), 1)
        return _LABELS + share * (_WIDTH - _LABELS - _RIGHT)

    lanes = phases_of(shutdown, drawn)
    bars = list(_requests(shutdown, requests, traffic))
    bottom = y + _ROW * (len(lanes) + len(bars)) + 6
    yield from _axis(horizon, drawn, at, y, bottom)
    for name, phases in lanes:
        yield _text(16, y + 14, _short(name, _LABELS - 24, 7.8))
        begins = horizon * 0
        for until, phase in phases:
            if until > begins:
                words = f"{name} {phase.value}: {written(begins)} to {written(until)}"
                yield _bar(_CLASSES[phase], at(begins), y, at(until) - at(begins), words)
                begins = until
        yield _end(at(begins), y)
        y += _ROW
    for label, begins, served, ends, words in bars:
        yield _text(16, y + 14, label, "faint")
        lost = max(ends, served) > served
        # What is lost is seen even at the very end.
        cut = min(at(served), _WIDTH - _RIGHT - _SHORTEST) if lost else at(served)
        if served > begins:
            yield _bar("served", at(begins), y, cut - at(begins), words)
        if lost:
            yield _bar(_LOST, cut, y, max(at(min(ends, horizon)) - cut, _SHORTEST), words)
            yield _end(cut, y)
        yield from _words(words, at(begins), at(max(min(served, horizon), begins)), y)
        y += _ROW
    y = bottom + 42
    yield from _legend(y)
    for setting in _settings(plan):
        y += 18
        outputs = f"{setting.name} {setting.shown}  ({setting.origin.told_in(region.file)})"
        yield _text(16, y + 6, _short(outputs, _WIDTH - 40), "faint")
    yield str(int(y + 30))


def _words(words: str, begins: float, served: float, y: float) -> Iterator[str]:
    """What becomes of a request: on its bar if that holds it, else behind or before it."""
    width = _LETTER * len(words) + 12
    if width <= served - begins:
        yield _text(begins + 6, y + 13.5, words, "on")
        return
    x = served + 3
    if x + width > _WIDTH - _RIGHT:  # it would run out of the picture
        x = max(begins - width, _LABELS)
    yield (
        f'<rect class="paper" x="{x:.1f}" y="{y + 2:.1f}" width="{width - 4:.1f}" '
        f'height="{_BAR - 4}" rx="2"/>'
    )
    yield _text(x + 4, y + 13.5, words)


def _legend(y: float) -> Iterator[str]:
    x = 16.0
    for phase, kind in _CLASSES.items():
        yield f'<rect class="{kind}" x="{x:.1f}" y="{y - 10:.1f}" width="22" height="11" rx="2"/>'
        yield _text(x + 28, y, phase.value, "faint")
        x += 50 + 6.4 * len(phase.value)
    yield f'<rect class="{_LOST}" x="{x:.1f}" y="{y - 10:.1f}" width="22" height="11"/>'
    yield _text(x + 28, y, "lost", "faint")


def _settings(plan: Plan) -> list[Setting[Any]]:
    """The settings that decide the picture."""
    found: list[Setting[Any]] = [plan.grace, *(c.pre_stop for c in plan.containers)]
    if plan.proxy is not None:
        proxy = plan.proxy
        found += (
            [proxy.pre_stop] if proxy.pre_stop.value.high != proxy.pre_stop.value.low * 0 else []
        )
        found.append(proxy.exit_on_zero)
        found.append(proxy.minimum_drain if proxy.exit_on_zero.value else proxy.termination_drain)
        found.append(proxy.drain_duration)
    return found


def _axis(
    horizon: timedelta,
    drawn: Timeline,
    at: Callable[[timedelta], float],
    top: float,
    bottom: float,
) -> Iterator[str]:
    for step in range(5):
        moment = horizon * step / 4
        x = at(moment)
        yield f'<line class="grid" x1="{x:.1f}" y1="{top - 8:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
        yield _text(x, bottom + 16, written(moment), "faint", "middle")
    x = at(drawn.grace)
    yield f'<line class="kill" x1="{x:.1f}" y1="{top - 8:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
    yield _text(x - 4, top - 12, f"grace period {written(drawn.grace)}", "faint", "end")


def _requests(
    shutdown: Shutdown, requests: Sequence[Request], traffic: Traffic
) -> Iterator[tuple[str, timedelta, timedelta, timedelta, str]]:
    """Bars: a label, from when, served until when, lost until when, and it in words."""
    headroom = shutdown.headroom
    nothing = headroom.late_at * 0
    beyond = horizon_of(shutdown.quiet)
    if headroom.in_flight is not None:
        words = _beyond(headroom.in_flight)
        yield "in flight at deletion", nothing, headroom.in_flight, beyond, words
    if headroom.late is not None:
        at = headroom.late_at
        words = _beyond(headroom.late)
        yield f"arriving at {written(at)}", at, at + headroom.late, beyond, words
    for answer in shutdown.ask(requests, traffic):
        begins, ends = answer.request.arrives, answer.request.arrives + answer.request.lasts
        served = ends if answer.outcome is Outcome.OK else min(answer.at, ends)
        if answer.outcome is Outcome.REFUSED:
            served = begins
        what = "outbound call" if answer.request.outbound else "request"
        yield f"{written(answer.request.lasts)} {what}", begins, served, ends, told(answer)


def _beyond(served: timedelta) -> str:
    return f"{room(served)}; longer ones are lost" if served else room(served)


def explain_html(pods: Sequence[Pod], requests: Sequence[Request], traffic: Traffic) -> str:
    """A page of its own: each pod's picture, and all that it shows as tables."""
    sections: list[str] = []
    for pod in pods:
        if pod.plan is None:
            continue
        parts = [
            f"<h2>{escape(safe(str(pod.id)))}</h2>",
            explain_svg([pod], requests, traffic, len(sections) + 1),
            tables_html(pod, pod.plan, requests, traffic),
        ]
        sections.append("".join(parts))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Shutdown timelines</title>'
        f"<style>{_PAGE}</style></head><body>{''.join(sections)}</body></html>\n"
    )


def tables_html(pod: Pod, plan: Plan, requests: Sequence[Request], traffic: Traffic) -> str:
    """What a pod's picture shows, for those who do not see it."""
    shutdown = Shutdown(plan)
    drawn = drawn_of(shutdown, requests, traffic)
    file = pod.ref.region().file
    events = [
        (written(e.at), e.container or "pod", e.what, e.because.told_in(file))
        for e in (drawn.events() if drawn else ())
    ]
    losses = [
        (f"{written(loss.begins)} to {written(loss.ends)}", loss.kind, loss.by.told_in(file))
        for loss in shutdown.losses
    ]
    headroom = shutdown.headroom
    late = f"arriving at {written(headroom.late_at)}"
    longest = [
        ("in flight at the deletion", room(headroom.in_flight), headroom.by.told_in(file)),
        (late, room(headroom.late), headroom.late_by.told_in(file)),
    ]
    answers = [
        (asked(answer), told(answer), answer.by.told_in(file))
        for answer in (shutdown.ask(requests, traffic) if drawn else ())
    ]
    rollout = [(plan.rollout.value.told(shutdown.over),)] if plan.rollout and drawn else []
    return (
        _table("The longest requests", ("when", "served", "because of"), longest if drawn else [])
        + _table("Requests asked about", ("request", "what becomes of it", "because of"), answers)
        + _table("A rollout", ("what it costs",), rollout)
        + _table("What happens", ("at", "container", "what", "because of"), events)
        + _table("What is lost", ("from, to", "what", "because of"), losses)
        + _table("Taken for granted", ("assumption",), [(text,) for text in assumed(plan)])
    )


_PAGE: Final = """
:root{color-scheme:light dark}body{font:15px/1.5 ui-sans-serif,system-ui,sans-serif;margin:2rem auto;
max-width:960px;padding:0 1rem;background:#fff;color:#1c2430}svg{max-width:100%;height:auto}
table{border-collapse:collapse;margin:.5rem 0 1.5rem;width:100%}caption{text-align:left;font-weight:600}
th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #d5dbe3;vertical-align:top}
@media (prefers-color-scheme:dark){body{background:#14181d;color:#e7ebf0}th,td{border-color:#39424e}}
"""


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(safe(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>"
