"""A pod's shutdown as a picture (SVG).

A row for each container, then what is lost, then requests. Each row has its text above its bar, so
the picture can be narrow enough for a phone, and no text is drawn on a pattern. What is certainly
lost is hatched, what may be lost is dotted, and both are named in the text of the row, so that
nothing depends on colours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

from shutdownlint.engine.loss_texts import format_loss
from shutdownlint.reports.explanation import Activity
from shutdownlint.reports.report import safe
from shutdownlint.reports.texts import (
    format_finding,
    format_headroom,
    format_outcome,
    format_request,
    format_share,
    format_share_cost,
    format_verdict,
    format_weekly_loss,
    format_window,
)
from shutdownlint.shutdown.durations import ZERO, format_duration
from shutdownlint.shutdown.request import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import timedelta

    from shutdownlint.platforms.pods.fleet import Disruption
    from shutdownlint.reports.explanation import Explanation, Lane
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.shutdown.analysis import Answer

_WIDTH: Final = 680
_LEFT: Final = 16
_RIGHT: Final = 16
_LINE: Final = 20
_BAR: Final = 16
#: A row: its text, its bar and the space below.
_ROW: Final = _LINE + _BAR + 10
#: The height of the chart of pods over time.
_CHART: Final = 70
#: About how wide a letter is: nothing measures text here.
_LETTER: Final = 7.2
_CAPITAL: Final = 9.4
#: A loss is drawn at least this wide, and times on the axis are so far apart.
_MIN_LOSS: Final = 12
_TIMES_APART: Final = 46
#: More lines of settings or assumptions of one pod are only counted.
_MOST_LINES: Final = 12
#: Replaced by the class of a picture's own patterns.
_LOST, _MAYBE = "\N{EMPTY SET}lost", "\N{EMPTY SET}maybe"
_CLASSES: Final = {
    Activity.ACCEPTS: "accepts",
    Activity.FAILS: _LOST,
    Activity.FINISHES: "finishes",
    Activity.LINGERS: "lingers",
    Activity.RACE: _MAYBE,
}
#: The colours of a picture, on light and on dark paper.
LIGHT: Final = {
    "ink": "#1c2430",
    "faint": "#515c68",
    "line": "#cfd6de",
    "paper": "#ffffff",
    "ok": "#1a7f4b",
    "slow": "#d39a2d",
    "bad": "#c0392b",
}
DARK: Final = {
    "ink": "#e7ebf0",
    "faint": "#a9b3bf",
    "line": "#39424e",
    "paper": "#14181d",
    "ok": "#43b581",
    "slow": "#e0a84a",
    "bad": "#ef6a5a",
}


def color_properties(colors: Mapping[str, str]) -> str:
    """Colours as properties of a style sheet."""
    return ";".join(f"--{name}:{color}" for name, color in colors.items())


_STYLE: Final = f"""
.sdl{{{color_properties(LIGHT)}}}
@media (prefers-color-scheme:dark){{.sdl{{{color_properties(DARK)}}}}}
@media print{{.sdl{{{color_properties(LIGHT)}}}}}
.sdl text{{font:14px ui-sans-serif,system-ui,sans-serif;fill:var(--ink);
paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}}
.sdl .head{{font-weight:600;font-size:17px}}.sdl .part{{font-weight:600}}.sdl .faint{{fill:var(--faint)}}
.sdl .alarm{{fill:var(--bad);font-weight:600}}.sdl .box{{fill:none;stroke:var(--bad);stroke-width:2}}
.sdl .paper{{fill:var(--paper)}}.sdl .grid{{stroke:var(--line)}}.sdl .kill{{stroke:var(--bad);stroke-dasharray:4 3}}
.sdl .accepts,.sdl .served{{fill:var(--ok)}}.sdl .finishes{{fill:var(--slow)}}
.sdl .lingers{{fill:none;stroke:var(--faint)}}.sdl .ended{{stroke:var(--bad);stroke-width:2.5}}
.sdl .hatch{{stroke:var(--bad);stroke-width:3}}.sdl .dot{{fill:var(--bad)}}
.sdl .lost{{stroke:var(--bad)}}.sdl .maybe{{stroke:var(--slow);stroke-dasharray:3 3}}
"""


def render_svg(explanations: Sequence[Explanation], _output: ReportOutput) -> str:
    """All explanations in one picture, one below the other."""
    return draw_svg(explanations)


def draw_svg(explanations: Sequence[Explanation], number: int = 1) -> str:
    """Return the same; ``number`` counts the pictures of a page."""
    parts, top = [], 0
    for explanation in explanations:
        picture = _PodPicture(explanation)
        parts.append(f'<g transform="translate(0 {top})">{"".join(picture.draw())}</g>')
        top += picture.height
    names = ", ".join(explanation.pod.title for explanation in explanations)
    label = quoteattr(safe(f"Shutdown timeline of {names}"))
    drawn = "".join(parts).replace(_LOST, f"lost lost{number}")
    drawn = drawn.replace(_MAYBE, f"maybe maybe{number}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="sdl" role="img" aria-label={label} '
        f'viewBox="0 0 {_WIDTH} {top}" width="{_WIDTH}" height="{top}">'
        f"<style>{_STYLE}.sdl .lost{number}{{fill:url(#lost{number})}}"
        f".sdl .maybe{number}{{fill:url(#maybe{number})}}</style>"
        f'<defs><pattern id="lost{number}" width="7" height="7" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="7"/>'
        f'</pattern><pattern id="maybe{number}" width="8" height="8" '
        'patternUnits="userSpaceOnUse"><circle class="dot" cx="2.5" cy="2.5" r="1.4"/></pattern>'
        f'</defs><rect class="paper" width="{_WIDTH}" height="{top}"/>{drawn}</svg>\n'
    )


class _Span(Struct, frozen=True):
    """A part of a row: its class, from when to when, and what a pointer shows."""

    kind: str
    begin: timedelta
    end: timedelta
    title: str


class _Row(Struct, frozen=True):
    """A row: its text, its spans, and where something ends."""

    text: str
    spans: tuple[_Span, ...]
    ends: timedelta | None = None


class _PodPicture:
    """The picture of one pod; ``height`` is known once it is drawn."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation
        self.height = 0
        self.y = 0.0

    def draw(self) -> list[str]:
        """Return the picture's elements."""
        elements = list(self._elements())
        self.height = int(self.y + 14)
        return elements

    def _elements(self) -> Iterator[str]:
        explanation = self.explanation
        region = explanation.region
        self.y = 8.0
        yield from self._lines(explanation.pod.title, "head", letter=9.0)
        yield from self._lines(f"{region.file}:{region.line}", "faint")
        if explanation.pod.rejections:
            yield from self._rejected()
        else:
            yield from self._lines(format_verdict(explanation.verdict), "part", letter=8.3)
            if explanation.verdict.weekly is not None:
                yield from self._lines(format_weekly_loss(explanation.verdict.weekly))
        if explanation.has_timeline:
            yield from self._timeline()
        findings = [f for f in explanation.findings if not explanation.is_rejection(f)]
        yield from self._list("findings", map(format_finding, findings))
        if explanation.has_timeline:
            file = explanation.file
            settings = [setting.describe(file) for setting in explanation.effective_settings]
            yield from self._list("decided by", settings)
        yield from self._list("assumptions", explanation.assumptions)
        if not explanation.has_timeline:
            return
        for disruption in explanation.disruptions:
            if disruption.changes_over_time:
                yield from self._pods(disruption)
        if explanation.shares:
            yield from self._shares()

    def _rejected(self) -> Iterator[str]:
        """Yield the reasons why no pod is created, in a box instead of a timeline."""
        self.y += 10
        top = self.y
        self.y += 4
        yield from self._lines("rejected: no pod is created", "alarm", indent=10)
        for reason in self.explanation.pod.rejections:
            yield from self._lines(reason, indent=10)
        self.y += 8
        yield (
            f'<rect class="box" x="{_LEFT}" y="{top:.1f}" width="{_WIDTH - _LEFT - _RIGHT}" '
            f'height="{self.y - top:.1f}" rx="4"/>'
        )

    def _timeline(self) -> Iterator[str]:
        """Yield the rows on one axis: containers, what is lost, requests."""
        explanation = self.explanation
        parts: list[tuple[str, list[_Row]]] = [
            ("containers", [self._lane(lane) for lane in explanation.lanes])
        ]
        if explanation.answers:
            parts.append(("requests asked about", list(map(self._answer, explanation.answers))))
        else:
            parts.append(("lost", list(self._losses())))
            parts.append(("longest requests that are served", list(self._longest())))
        rows: list[str] = []
        self.y += 8
        top = self.y
        for title, own in parts:
            if own:
                rows += self._lines(title, "faint")
                for row in own:
                    rows += self._row(row)
        yield from self._axis(top + 4, self.y)
        yield from rows
        self.y += _LINE
        yield from self._legend([row for _, own in parts for row in own])

    def _row(self, row: _Row) -> Iterator[str]:
        yield from self._lines(row.text)
        if not row.spans:
            self.y += 5
            return
        y = self.y + 5
        limit = self.explanation.time_axis_end
        for span in row.spans:
            begin, end = self._x(span.begin), self._x(min(span.end, limit))
            width = end - begin
            if span.kind in (_LOST, _MAYBE) and width < _MIN_LOSS:
                # A loss is visible even at the very end.
                begin, width = min(begin, _WIDTH - _RIGHT - _MIN_LOSS), float(_MIN_LOSS)
            yield (
                f'<rect class="{span.kind}" x="{begin:.1f}" y="{y:.1f}" '
                f'width="{max(width, 1):.1f}" height="{_BAR}">'
                f"<title>{escape(safe(span.title))}</title></rect>"
            )
        if row.ends is not None and row.ends <= limit:
            yield _vertical("ended", self._x(row.ends), y - 2, y + _BAR + 2)
        self.y = y + _BAR + 5

    def _lane(self, lane: Lane) -> _Row:
        spans, end = [], ZERO
        for begin, until, activity in lane.visible:
            title = f"{activity.value}: {format_duration(begin)} to {format_duration(until)}"
            spans.append(_Span(_CLASSES[activity], begin, until, title))
            end = until
        return _Row(f"{lane.container}, until {format_duration(end)}", tuple(spans), end)

    def _losses(self) -> Iterator[_Row]:
        """Yield a row for each loss, certain or possible, with its time."""
        for loss in self.explanation.analysis.losses:
            kind = _LOST if loss.certain else _MAYBE
            text = f"{format_window(loss)}: {format_loss(loss)}"
            yield _Row(text, (_Span(kind, loss.begin, loss.end, text),))

    def _longest(self) -> Iterator[_Row]:
        """Yield the longest requests that are served for certain."""
        headroom = self.explanation.analysis.headroom
        if headroom.max_in_flight is not None:
            served = headroom.max_in_flight
            text = f"in flight at deletion: {_format_longest(served)}"
            yield _Row(text, (_Span("served", ZERO, served, text),) if served else ())
        if headroom.max_late is not None and headroom.late_at > ZERO:
            at, late = headroom.late_at, headroom.max_late
            text = f"arriving at {format_duration(at)}: {_format_longest(late)}"
            yield _Row(text, (_Span("served", at, at + late, text),) if late else ())

    def _answer(self, answer: Answer) -> _Row:
        """Return a request that was asked about: what is uncertain is drawn so."""
        prediction = answer.prediction
        request = prediction.request
        begin, end = request.arrival, request.arrival + request.duration
        text = f"{format_request(request)}: {format_outcome(answer)}"
        served = end if prediction.outcome is Outcome.OK else min(prediction.at, end)
        if prediction.outcome in (Outcome.REFUSED, Outcome.UNAVAILABLE):
            served = begin
        doubtful = answer.doubt is not None or prediction.outcome is Outcome.UNKNOWN
        spans = []
        if served > begin:
            whole = prediction.outcome is Outcome.OK and doubtful
            spans.append(_Span(_MAYBE if whole else "served", begin, served, text))
        if prediction.outcome is not Outcome.OK:
            spans.append(_Span(_MAYBE if doubtful else _LOST, served, end, text))
        lost = prediction.outcome is not Outcome.OK
        return _Row(text, tuple(spans), served if lost else None)

    def _axis(self, top: float, bottom: float) -> Iterator[str]:
        """Lines at the moments at which something happens, with as many times as fit."""
        explanation = self.explanation
        grace = explanation.grace
        moments = sorted({ZERO, grace, *(event.at for event in explanation.events)})
        named = {ZERO: self._x(ZERO), grace: self._x(grace)}
        for moment in moments:
            x = self._x(moment)
            if x > _WIDTH - _RIGHT + 1:
                continue
            yield _vertical("kill" if moment == grace else "grid", x, top, bottom)
            if all(abs(x - other) >= _TIMES_APART for other in named.values()):
                named[moment] = x
        for moment, x in named.items():
            anchor = "start" if x < _LEFT + 20 else "end" if x > _WIDTH - _RIGHT - 20 else "middle"
            text = format_duration(moment)
            if moment == grace:
                text = f"{text} SIGKILL"
                anchor = "end" if x > _WIDTH / 2 else "start"
            yield _text(x, bottom + 16, text, "faint", anchor)

    def _legend(self, rows: Sequence[_Row]) -> Iterator[str]:
        texts = {
            "accepts": "accepts",
            "finishes": "finishes what it has",
            "lingers": "serves nothing more",
            "served": "served",
            _LOST: "lost",
            _MAYBE: "may be lost, by chance",
        }
        drawn = {span.kind for row in rows for span in row.spans}
        x = float(_LEFT)
        self.y += 16
        for kind, text in texts.items():
            if kind not in drawn:
                continue
            width = 34 + _LETTER * len(text)
            if x + width > _WIDTH - _RIGHT:
                x, self.y = float(_LEFT), self.y + _LINE
            yield (
                f'<rect class="{kind}" x="{x:.1f}" y="{self.y - 10:.1f}" width="22" height="11"/>'
            )
            yield _text(x + 28, self.y, text, "faint")
            x += width + 8
        self.y += 4

    def _pods(self, disruption: Disruption) -> Iterator[str]:
        """Draw how many pods serve over time, as steps on a separate axis."""
        self.y += 10
        yield from self._lines("pods that serve", "faint")
        yield from self._lines(disruption.text)
        end, most = disruption.steps[-1][0] * 1.1, disruption.replicas
        begin = -end / 10
        left, top = _LEFT + 24, self.y + 12
        width = _WIDTH - left - _RIGHT

        def x(moment: timedelta) -> float:
            return left + width * ((moment - begin) / (end - begin))

        def height(count: int) -> float:
            return top + _CHART * (1 - count / most)

        points, serving = [(x(begin), height(most))], most
        for moment, count in disruption.steps:
            points += [(x(moment), height(serving)), (x(moment), height(count))]
            serving = count
        points.append((x(end), height(serving)))
        line = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        area = f"{points[0][0]:.1f},{height(0):.1f} {line} {points[-1][0]:.1f},{height(0):.1f}"
        yield (
            f'<polygon class="accepts" points="{area}">'
            f"<title>{escape(safe(disruption.text))}</title></polygon>"
        )
        last = height(0) + _LINE
        for count in sorted({0, most, *(each for _, each in disruption.steps)}):
            if last - height(count) >= _LINE - 4:
                last = height(count)
                yield _text(left - 6, last + 4, str(count), "faint", "end")
        for moment in (ZERO, disruption.steps[-1][0]):
            yield _text(x(moment), height(0) + 16, format_duration(moment), "faint", "middle")
        self.y = height(0) + 20
        ready = self.explanation.ready
        if ready is not None:
            text = f"with {format_duration(ready.value)} until a new pod is ready ({ready.origin})"
            yield from self._lines(text, "faint")

    def _shares(self) -> Iterator[str]:
        """Yield the grace period with which each share of the measured requests is served."""
        self.y += 10
        rows = self.explanation.shares
        yield from self._lines("measured requests: the grace period that serves them", "faint")
        longest = max((row.grace for row in rows if row.grace is not None), default=None)
        for row in rows:
            cost = format_share_cost(row, self.explanation.rollout)
            yield from self._lines(f"{format_share(row)}{f': {cost}' if cost else ''}")
            if row.grace is None or not longest:
                continue
            width = (_WIDTH - _LEFT - _RIGHT) * (row.grace / longest)
            kind = "served" if row.served else "finishes"
            yield (
                f'<rect class="{kind}" x="{_LEFT}" y="{self.y + 5:.1f}" width="{width:.1f}" '
                f'height="8"><title>{escape(safe(cost))}</title></rect>'
            )
            self.y += 16

    def _list(self, title: str, texts: Sequence[str] | Iterator[str]) -> Iterator[str]:
        """Yield a heading and its texts; nothing where there are none."""
        listed = list(texts)
        if not listed:
            return
        self.y += 8
        yield from self._lines(title, "part")
        for text in listed[:_MOST_LINES]:
            yield from self._lines(text, "faint")
        if listed[_MOST_LINES:]:
            yield from self._lines(f"and {len(listed) - _MOST_LINES} more", "faint")

    def _lines(
        self, text: str, kind: str = "", *, indent: int = 0, letter: float = _LETTER
    ) -> Iterator[str]:
        """Yield a text in as many lines as it needs."""
        width = _WIDTH - _LEFT - _RIGHT - 2 * indent - 14
        for number, line in enumerate(_wrap(safe(text), width * _LETTER / letter) or [""]):
            self.y += _LINE
            yield _text(_LEFT + indent + (14 if number else 0), self.y - 4, line, kind)

    def _x(self, moment: timedelta) -> float:
        share = min(max(moment / self.explanation.time_axis_end, 0), 1)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)


def _format_longest(served: timedelta) -> str:
    text = format_headroom(served)
    return f"{text}; longer ones are lost" if served else text


def _wrap(text: str, width: float) -> list[str]:
    """Return a text in lines of about a width; a longer word is cut."""
    lines: list[str] = []
    used = width
    for word in text.split():
        needed = _measure(word)
        while needed > width:
            fits = max(int(len(word) * width / needed) - 1, 1)
            lines.append(word[:fits])
            word, used = word[fits:], width  # noqa: PLW2901 - what is left of it
            needed -= _measure(lines[-1])
        if used + _LETTER + needed > width:
            lines.append(word)
            used = needed
        else:
            lines[-1] += f" {word}"
            used += _LETTER + needed
    return lines


def _measure(text: str) -> float:
    """About how wide a text is."""
    wide = sum(character.isupper() or character in "_@%=" for character in text)
    return _LETTER * len(text) + (_CAPITAL - _LETTER) * wide


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    at = "" if anchor == "start" else f' text-anchor="{anchor}"'
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{named}{at}>{escape(text)}</text>'


def _vertical(kind: str, x: float, top: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'
