"""A pod's shutdown as a picture (SVG).

One lane for each container, then requests as bars: what is served is solid, what is lost is
hatched, and both are named in text, so that nothing depends on colours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

from shutdownlint.reports.explanation import Activity
from shutdownlint.reports.report import safe
from shutdownlint.reports.texts import (
    format_headroom,
    format_outcome,
    format_share,
    format_share_cost,
    format_verdict,
)
from shutdownlint.shutdown.durations import ZERO, format_duration
from shutdownlint.shutdown.process import Direction
from shutdownlint.shutdown.request import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from shutdownlint.platforms.kubernetes.fleet import Disruption
    from shutdownlint.reports.explanation import Explanation, Lane
    from shutdownlint.reports.output import ReportOutput

_WIDTH: Final = 960
_LABELS: Final = 190
_RIGHT: Final = 30
_ROW: Final = 26
_BAR: Final = 18
#: How high the chart of pods over time is.
_CHART: Final = 60
#: About how wide a letter is: nothing measures text here.
_LETTER: Final = 6.6
#: A loss is drawn at least this wide.
_MIN_LOSS: Final = 12
#: Replaced by the class of a picture's own pattern.
_LOST: Final = "\N{EMPTY SET}lost"
_CLASSES: Final = {
    Activity.ACCEPTS: "accepts",
    Activity.FAILS: _LOST,
    Activity.FINISHES: "finishes",
    Activity.LINGERS: "lingers",
    Activity.RACE: "race",
}
_STYLE: Final = """
.sdl{--ink:#1c2430;--faint:#5a6675;--line:#d5dbe3;--paper:#ffffff;--ok:#1a7f4b;--slow:#b7791f;--bad:#c0392b}
@media (prefers-color-scheme:dark){.sdl{--ink:#e7ebf0;--faint:#a3adba;--line:#39424e;--paper:#14181d;
--ok:#43b581;--slow:#e0a84a;--bad:#ef6a5a}}
.sdl text{font:13px ui-sans-serif,system-ui,sans-serif;fill:var(--ink)}
.sdl .head{font-weight:600;font-size:15px}.sdl .faint{fill:var(--faint);font-size:12px}
.sdl .paper{fill:var(--paper)}.sdl .grid{stroke:var(--line)}.sdl .kill{stroke:var(--bad);stroke-dasharray:4 3}
.sdl .accepts{fill:var(--ok)}.sdl .finishes{fill:var(--slow)}.sdl .race{fill:none;stroke:var(--slow);
stroke-dasharray:3 3}.sdl .lingers{fill:none;stroke:var(--line)}.sdl .ended{stroke:var(--bad);stroke-width:2.5}
.sdl .served{fill:var(--ok)}.sdl .on{fill:var(--paper)}
.sdl .hatch{stroke:var(--bad);stroke-width:3}
"""


def render_svg(explanations: Sequence[Explanation], _output: ReportOutput) -> str:
    """All pods in one picture, one below the other."""
    return draw_svg(explanations)


def draw_svg(explanations: Sequence[Explanation], number: int = 1) -> str:
    """The same; ``number`` counts the pictures of a page."""
    parts, top = [], 0
    for explanation in explanations:
        picture = _PodPicture(explanation)
        parts.append(f'<g transform="translate(0 {top})">{"".join(picture.draw())}</g>')
        top += picture.height
    names = ", ".join(explanation.pod.title for explanation in explanations)
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


class _RequestBar(Struct, frozen=True):
    """A request: from when, served until when, lost until when, and that as text."""

    label: str
    begin: timedelta
    served: timedelta
    end: timedelta
    text: str


class _PodPicture:
    """The picture of one pod; ``height`` is known once it is drawn."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation
        self.height = 90

    def draw(self) -> list[str]:
        """The picture's elements."""
        return list(self._elements())

    def _elements(self) -> Iterator[str]:
        explanation = self.explanation
        region = explanation.region
        yield _text(16, 28, _shorten(explanation.pod.title, _WIDTH - 40, 8.5), "head")
        yield _text(16, 46, _shorten(f"{region.file}:{region.line}", _WIDTH - 40), "faint")
        yield _text(16, 64, _shorten(format_verdict(explanation), _WIDTH - 160))
        if not explanation.has_timeline:
            return
        lanes, bars = explanation.lanes, list(self._request_bars())
        top = 84.0
        bottom = top + _ROW * (len(lanes) + len(bars)) + 6
        yield from self._axis(top, bottom)
        y = top
        for lane in lanes:
            yield from self._lane(lane, y)
            y += _ROW
        for bar in bars:
            yield from self._request(bar, y)
            y += _ROW
        y = bottom + 42
        yield from _legend(y, lanes)
        for setting in explanation.deciding_settings:
            y += 18
            origin = setting.origin.describe(region.file)
            text = f"{setting.name} {setting.value_text}  ({origin})"
            yield _text(16, y + 6, _shorten(text, _WIDTH - 40), "faint")
        for text in explanation.assumptions:
            y += 18
            yield _text(16, y + 6, _shorten(f"assumption: {text}", _WIDTH - 40), "faint")
        for disruption in explanation.disruptions:
            if disruption.changes_over_time:
                y += 30
                yield from self._pods(disruption, y)
                y += _CHART + 24
        if explanation.shares:
            y += 30
            yield from self._shares(y)
            y += 8 + _ROW * len(explanation.shares)
        self.height = int(y + 30)

    def _shares(self, y: float) -> Iterator[str]:
        """The grace period with which each share of the measured requests is served."""
        rows = self.explanation.shares
        yield _text(16, y + 6, "measured requests: the grace period that serves them")
        longest = max((row.grace for row in rows if row.grace is not None), default=None)
        for row in rows:
            y += _ROW
            label = f"{100 * row.share:g}%"
            if row.duration is not None:
                label += f", up to {format_duration(row.duration)}"
            yield _text(16, y + 6, label, "faint")
            cost = format_share_cost(row, self.explanation.rollout) or format_share(row)
            begin, served = float(_LABELS), 0.0
            if row.grace is not None and longest:
                served = (_WIDTH - _LABELS - _RIGHT) * (row.grace / longest)
                kind = "served" if row.served else "race"
                yield _bar(kind, begin, y - 8, served, cost)
            yield from _bar_text(cost, begin, begin + (served if row.served else 0.0), y - 8)

    def _pods(self, disruption: Disruption, y: float) -> Iterator[str]:
        """How many pods serve over time, as steps on an axis of its own."""
        end, most = disruption.steps[-1][0] * 1.1, disruption.replicas
        begin = -end / 10
        width, top = _WIDTH - _LABELS - _RIGHT, y + 22

        def x(moment: timedelta) -> float:
            return _LABELS + width * ((moment - begin) / (end - begin))

        def height(count: int) -> float:
            return top + _CHART * (1 - count / most)

        yield _text(16, y + 6, _shorten(f"pods that serve: {disruption.text}", _WIDTH - 40))
        points, serving = [(x(begin), height(most))], most
        for moment, count in disruption.steps:
            points += [(x(moment), height(serving)), (x(moment), height(count))]
            serving = count
        points.append((x(end), height(serving)))
        line = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        area = f"{points[0][0]:.1f},{height(0):.1f} {line} {points[-1][0]:.1f},{height(0):.1f}"
        yield f'<polygon class="accepts" points="{area}"><title>{escape(safe(disruption.text))}</title></polygon>'
        for count in sorted({0, most, *(each for _, each in disruption.steps)}):
            yield _text(_LABELS - 8, height(count) + 4, str(count), "faint", "end")
        for moment in (ZERO, disruption.steps[-1][0]):
            yield _text(x(moment), height(0) + 16, format_duration(moment), "faint", "middle")
        ready = self.explanation.ready
        if ready is not None:
            text = f"with {format_duration(ready.value)} until a new pod is ready ({ready.origin})"
            yield _text(x(end / 2), height(0) + 16, text, "faint", "middle")

    def _x(self, moment: timedelta) -> float:
        share = min(max(moment / self.explanation.time_axis_end, 0), 1)
        return _LABELS + share * (_WIDTH - _LABELS - _RIGHT)

    def _lane(self, lane: Lane, y: float) -> Iterator[str]:
        yield _text(16, y + 14, _shorten(lane.container, _LABELS - 24, 7.8))
        end = ZERO
        for begin, end, activity in lane.visible:
            span = f"{format_duration(begin)} to {format_duration(end)}"
            title = f"{lane.container} {activity.value}: {span}"
            width = self._x(end) - self._x(begin)
            yield _bar(_CLASSES[activity], self._x(begin), y, width, title)
        yield _end(self._x(end), y)

    def _request(self, bar: _RequestBar, y: float) -> Iterator[str]:
        yield _text(16, y + 14, bar.label, "faint")
        lost = max(bar.end, bar.served) > bar.served
        begin, served = self._x(bar.begin), self._x(bar.served)
        # A loss is visible even at the very end.
        cut = min(served, _WIDTH - _RIGHT - _MIN_LOSS) if lost else served
        if bar.served > bar.begin:
            yield _bar("served", begin, y, cut - begin, bar.text)
        if lost:
            end = self._x(min(bar.end, self.explanation.time_axis_end))
            yield _bar(_LOST, cut, y, max(end - cut, _MIN_LOSS), bar.text)
            yield _end(cut, y)
        visible = max(min(bar.served, self.explanation.time_axis_end), bar.begin)
        yield from _bar_text(bar.text, begin, self._x(visible), y)

    def _request_bars(self) -> Iterator[_RequestBar]:
        explanation = self.explanation
        headroom = explanation.analysis.headroom
        beyond = explanation.time_axis_end
        longest = headroom.max_in_flight
        if longest is not None:
            text = _format_longest(longest)
            yield _RequestBar("in flight at deletion", ZERO, longest, beyond, text)
        late = headroom.max_late
        if late is not None:
            at = headroom.late_at
            label = f"arriving at {format_duration(at)}"
            yield _RequestBar(label, at, at + late, beyond, _format_longest(late))
        for answer in explanation.answers:
            prediction = answer.prediction
            request = prediction.request
            begin, end = request.arrival, request.arrival + request.duration
            served = end if prediction.outcome is Outcome.OK else min(prediction.at, end)
            if prediction.outcome is Outcome.REFUSED:
                served = begin
            outbound = request.direction is Direction.OUTBOUND
            label = f"{format_duration(request.duration)} {'call' if outbound else 'request'}"
            yield _RequestBar(label, begin, served, end, format_outcome(answer))

    def _axis(self, top: float, bottom: float) -> Iterator[str]:
        end, grace = self.explanation.time_axis_end, self.explanation.grace
        for step in range(5):
            moment = end * step / 4
            yield _vertical("grid", self._x(moment), top, bottom)
            yield _text(self._x(moment), bottom + 16, format_duration(moment), "faint", "middle")
        yield _vertical("kill", self._x(grace), top, bottom)
        text = f"grace period {format_duration(grace)}"
        yield _text(self._x(grace) - 4, top - 12, text, "faint", "end")


def _format_longest(served: timedelta) -> str:
    text = format_headroom(served)
    return f"{text}; longer ones are lost" if served else text


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    shown = escape(safe(text))
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{shown}</text>'


def _shorten(text: str, width: float, letter: float = _LETTER) -> str:
    """As much of a text as fits."""
    fits = int(width / letter)
    shown = safe(text)
    return shown if len(shown) <= fits else f"{shown[: fits - 1]}…"


def _bar(kind: str, x: float, y: float, width: float, title: str) -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}" '
        f'height="{_BAR}" rx="2"><title>{escape(safe(title))}</title></rect>'
    )


def _vertical(kind: str, x: float, top: float, bottom: float) -> str:
    return f'<line class="{kind}" x1="{x:.1f}" y1="{top - 8:.1f}" x2="{x:.1f}" y2="{bottom:.1f}"/>'


def _end(x: float, y: float) -> str:
    """The mark where something has ended."""
    return _vertical("ended", x, y + 6, y + _BAR + 2)


def _bar_text(text: str, begin: float, served: float, y: float) -> Iterator[str]:
    """The outcome of a request: on its bar if that is wide enough, else behind or before it."""
    width = _LETTER * len(text) + 12
    if width <= served - begin:
        yield _text(begin + 6, y + 13.5, text, "on")
        return
    x = served + 3
    if x + width > _WIDTH - _RIGHT:  # it would leave the picture
        x = max(begin - width, _LABELS)
    yield (
        f'<rect class="paper" x="{x:.1f}" y="{y + 2:.1f}" width="{width - 4:.1f}" '
        f'height="{_BAR - 4}" rx="2"/>'
    )
    yield _text(x + 4, y + 13.5, text)


def _legend(y: float, lanes: Sequence[Lane]) -> Iterator[str]:
    drawn = {activity for lane in lanes for _, _, activity in lane.visible}
    x = 16.0
    for activity, kind in _CLASSES.items():
        rare = activity in (Activity.FAILS, Activity.LINGERS, Activity.RACE)
        if rare and activity not in drawn:
            continue
        yield f'<rect class="{kind}" x="{x:.1f}" y="{y - 10:.1f}" width="22" height="11" rx="2"/>'
        yield _text(x + 28, y, activity.value, "faint")
        x += 50 + 6.4 * len(activity.value)
    yield f'<rect class="{_LOST}" x="{x:.1f}" y="{y - 10:.1f}" width="22" height="11"/>'
    yield _text(x + 28, y, "lost", "faint")
