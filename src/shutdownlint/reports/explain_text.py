"""`explain` as text: a bar for each container, losses, requests, events, assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from shutdownlint.engine.finding import Severity
from shutdownlint.engine.loss_texts import format_loss
from shutdownlint.reports.client_view import describe_client, describe_loss
from shutdownlint.reports.explanation import Activity
from shutdownlint.reports.report import safe
from shutdownlint.reports.texts import (
    EVENT_TEXTS,
    format_answer_cause,
    format_arrival,
    format_difference,
    format_headroom,
    format_late,
    format_loss_cause,
    format_node_shutdown,
    format_outcome,
    format_request,
    format_share,
    format_share_cost,
    format_shown_with,
    format_streams,
    format_verdict,
    format_weekly_loss,
    format_window,
)
from shutdownlint.shutdown.durations import ZERO, format_duration
from shutdownlint.shutdown.request import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from shutdownlint.platforms.pods.fleet import Disruption
    from shutdownlint.reports.explanation import Explanation, Lane
    from shutdownlint.reports.output import ReportOutput

_ENDED, _NOTHING = "┃", "·"
_SYMBOLS: Final = {
    Activity.ACCEPTS: ("█", "green"),
    Activity.FAILS: ("x", "red"),
    Activity.FINISHES: ("▒", "yellow"),
    Activity.LINGERS: ("░", "dim"),
    Activity.RACE: ("?", "yellow"),
}
#: For terminals that take ASCII only.
_ASCII: Final = {"█": "#", "▒": "-", "░": "~", _ENDED: "!", _NOTHING: "."} | {
    level: str(number) for number, level in enumerate("▁▂▃▄▅▆▇", 1)
}
_COLOURS: Final = {
    Outcome.OK: "green",
    Outcome.CUT: "red",
    Outcome.REFUSED: "red",
    Outcome.UNAVAILABLE: "red",
    Outcome.UNKNOWN: "yellow",
}
_SEVERITIES: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_MAX_WIDTH: Final = 64
#: Pods over time: how full a column is, how wide the line is, and what is before and after.
_LEVELS: Final = "·▁▂▃▄▅▆▇█"
_PODS_WIDTH: Final = 32
_PODS_EDGE: Final = 3


def render_text(explanations: Sequence[Explanation], output: ReportOutput) -> str | None:
    """All explanations, below a legend."""

    def draw(console: Console) -> None:
        if explanations:
            console.print(_legend(explanations, console), soft_wrap=True)
            console.print()
        for explanation in explanations:
            for line in _PodText(explanation, console).lines():
                console.print(line, soft_wrap=True)
            console.print()

    return output.draw(draw)


def _legend(explanations: Sequence[Explanation], console: Console) -> Text:
    """Return the meaning of the symbols; those of rare activities only if they are drawn."""
    drawn = {
        activity
        for explanation in explanations
        if explanation.has_timeline
        for lane in explanation.lanes
        for _, _, activity in lane.visible
    }
    always = (Activity.ACCEPTS, Activity.FINISHES)
    parts = [
        f"{symbol} {activity.value}"
        for activity, (symbol, _) in _SYMBOLS.items()
        if activity in always or activity in drawn
    ]
    return Text(
        _encode("   ".join((*parts, f"{_ENDED} exits   {_NOTHING} not running")), console), "dim"
    )


def _encode(text: str, console: Console) -> str:
    """Return the text with symbols that the terminal takes."""
    if (console.encoding or "").lower().startswith("utf"):
        return text
    return "".join(_ASCII.get(character, character) for character in text)


class _PodText:
    def __init__(self, explanation: Explanation, console: Console) -> None:
        self.explanation = explanation
        self.console = console

    def lines(self) -> Iterator[Text]:
        """Yield the lines of one pod."""
        explanation = self.explanation
        head = Text(safe(explanation.pod.title), "bold")
        head.append(f"  {safe(explanation.file)}:{explanation.region.line}", "dim")
        yield head
        for text in explanation.pod.rejections:
            yield _line("rejected", text, "", "red")
        if explanation.pod.rejections:
            yield _line("", "", "no pod is created until that is fixed, so there is no timeline")
            return
        if not explanation.grace_known:
            reason = explanation.plan.grace.origin
            text = f"no timeline without the grace period, which is a placeholder: {reason}"
            yield _line("unknown", text)
            return
        yield _line("verdict", format_verdict(explanation.verdict))
        yield from self._lanes()
        yield _line("timeline", "", format_shown_with(explanation))
        yield from self._headroom()
        yield from self._senders()
        for name, begin in explanation.closes_kept:
            text = f"{name} answers with Connection: close, HTTP/2 with GOAWAY"
            yield _line("kept", "", f"from {format_duration(begin)} on {text}")
        yield from self._losses()
        yield from self._answers()
        for row in explanation.shares:
            colour = "green" if row.served else "red"
            yield _line(
                "measured", format_share(row), format_share_cost(row, explanation.rollout), colour
            )
        for difference in explanation.differences:
            text = format_difference(difference)
            yield _line("otherwise", text, difference.how_to_say, "yellow")
        if explanation.rollout is not None:
            shutdown = explanation.analysis.latest_end
            yield _line("rollout", "", explanation.rollout.describe(shutdown))
        for disruption in explanation.disruptions:
            yield from self._disruption(disruption)
        if explanation.node_shutdown is not None:
            yield _line("node", "", format_node_shutdown(explanation))
        yield from self._events()
        for finding in explanation.findings:
            if not explanation.is_rejection(finding):
                colour = _SEVERITIES[finding.severity]
                yield _line(
                    "finding", f"{finding.severity.value} {finding.rule}", "", colour
                ).append(f"  {safe(finding.name)} ({safe(str(finding.region))})", "dim")
        for text in explanation.assumptions:
            yield _line("assumption", "", text)

    def _disruption(self, disruption: Disruption) -> Iterator[Text]:
        label = "pods" if disruption.kind == "rollout" else disruption.kind
        yield _line(label, "", safe(disruption.text))
        ready = self.explanation.ready
        if not disruption.changes_over_time or ready is None:
            return
        takes = disruption.steps[-1][0]
        line = Text(f"  {'':<11}")
        for column in range(_PODS_WIDTH):
            at = takes * (column - _PODS_EDGE) / (_PODS_WIDTH - 2 * _PODS_EDGE)
            begun = [count for begin, count in disruption.steps if begin <= at]
            count = begun[-1] if begun else disruption.replicas
            level = -(-count * (len(_LEVELS) - 1) // disruption.replicas)
            line.append(_encode(_LEVELS[level], self.console), "green" if count else "red")
        line.append(
            f"  {disruption.replicas} to {disruption.least} and back in up to "
            f"{format_duration(takes)}, with {format_duration(ready.value)} until a new pod is "
            f"ready ({ready.origin})",
            "dim",
        )
        yield line

    def _headroom(self) -> Iterator[Text]:
        headroom, file = self.explanation.analysis.headroom, self.explanation.file
        in_flight = format_headroom(headroom.max_in_flight)
        if not self.explanation.plan.gets_requests:
            yield _line(
                "work", in_flight.replace("requests", "work"), headroom.cause.describe(file)
            )
            return
        yield _line("in flight", in_flight, headroom.cause.describe(file))
        late = format_late(headroom)
        cause = headroom.late_cause.describe(file) if headroom.late_at > ZERO else ""
        yield _line("arriving", late, cause)

    def _senders(self) -> Iterator[Text]:
        for sender in self.explanation.plan.senders:
            window = sender.window
            text = f"{sender.label} may send new requests for {window.value_text}"
            yield _line("senders", "", f"{text} ({window.origin.label})")

    def _losses(self) -> Iterator[Text]:
        if self.explanation.streams:
            yield _line("streams", "", format_streams(self.explanation))
        for loss in self.explanation.analysis.losses:
            text = f"{format_window(loss)}: {format_loss(loss)}"
            yield _line("loss", text, format_loss_cause(loss, self.explanation.file), "red")
            which = format_arrival(loss, self.explanation.plan.senders)
            if which:
                yield _line("", "", which)
            yield from _client(describe_loss(loss, self.explanation.pod))
        weekly = self.explanation.verdict.weekly
        if weekly is not None:
            yield _line("lost", "", format_weekly_loss(weekly))

    def _answers(self) -> Iterator[Text]:
        for answer in self.explanation.answers:
            text = f"{format_request(answer.prediction.request)}: {format_outcome(answer)}"
            cause = format_answer_cause(answer, self.explanation.file)
            yield _line("request", text, cause, _COLOURS[answer.prediction.outcome])
            yield from _client(describe_client(answer.prediction, self.explanation.pod))

    def _events(self) -> Iterator[Text]:
        file = self.explanation.file
        rows = [
            (
                format_duration(event.at),
                safe(event.container or "pod"),
                EVENT_TEXTS[event.kind],
                safe(event.cause.describe(file)),
            )
            for event in self.explanation.events
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for at, container, text, cause in rows:
            line = Text(f"  {at:>{widths[0]}}  ")
            line.append(f"{container:<{widths[1]}}  ", "bold")
            line.append(f"{text:<{widths[2]}}  ")
            line.append(cause, "dim")
            yield line

    def _lanes(self) -> Iterator[Text]:
        lanes = self.explanation.lanes
        label = max((len(safe(lane.container)) for lane in lanes), default=3) + 2
        width = max(20, min(_MAX_WIDTH, self.console.width - label - 12))
        for lane in lanes:
            yield self._lane(lane, label, width)
        yield self._scale(label, width)

    def _lane(self, lane: Lane, label: int, width: int) -> Text:
        text = Text(f"  {safe(lane.container):<{label}}")
        ended = False
        for column in range(width):
            at = self.explanation.time_axis_end * column / width
            activity = next((a for until, a in lane.activities if at < until), None)
            symbol, colour = (_NOTHING, "dim") if activity is None else _SYMBOLS[activity]
            if activity is None and not ended:
                symbol, colour, ended = _ENDED, "red", True
            text.append(_encode(symbol, self.console), colour)
        return text

    def _scale(self, label: int, width: int) -> Text:
        """Return the times at which something happens, as far as they do not overlap."""
        text = [" "] * (width + 12)
        end = self.explanation.time_axis_end
        moments = {event.at for event in self.explanation.events if event.at <= end}
        # The ends of the axis come first: they are always shown.
        for at in dict.fromkeys((ZERO, end, *sorted(moments))):
            mark = format_duration(at)
            column = int(width * (at / end))
            around = text[max(column - 1, 0) : column + len(mark) + 1]
            if not "".join(around).strip():
                text[column : column + len(mark)] = mark
        return Text(f"  {'':<{label}}{''.join(text).rstrip()}", "dim")


def _client(sees: str) -> Iterator[Text]:
    if sees:
        yield _line("", "", f"the client sees {sees}")


def _line(label: str, value: str, reason: str = "", colour: str = "") -> Text:
    line = Text(f"  {label:<11}")
    line.append(safe(value), colour or "bold")
    if reason:
        line.append(f"{'  ' if value else ''}{safe(reason)}", "dim")
    return line
