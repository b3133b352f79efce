"""Explanations as a page: each pod's picture, and the same as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from shutdownlint.reports.client_view import describe_client, describe_loss
from shutdownlint.reports.explain_svg import draw_svg
from shutdownlint.reports.report import safe
from shutdownlint.reports.texts import (
    EVENT_TEXTS,
    format_answer_cause,
    format_difference,
    format_headroom,
    format_late,
    format_loss,
    format_outcome,
    format_request,
    format_share,
    format_share_cost,
    format_shown_with,
    format_verdict,
    format_window,
)
from shutdownlint.shutdown.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.reports.explanation import Explanation
    from shutdownlint.reports.output import ReportOutput

_PAGE: Final = """
:root{color-scheme:light dark}body{font:15px/1.5 ui-sans-serif,system-ui,sans-serif;margin:2rem auto;
max-width:960px;padding:0 1rem;background:#fff;color:#1c2430}svg{max-width:100%;height:auto}
table{border-collapse:collapse;margin:.5rem 0 1.5rem;width:100%}caption{text-align:left;font-weight:600}
th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #d5dbe3;vertical-align:top}
@media (prefers-color-scheme:dark){body{background:#14181d;color:#e7ebf0}th,td{border-color:#39424e}}
"""


def render_html(explanations: Sequence[Explanation], _output: ReportOutput) -> str:
    """All explanations in one page."""
    sections = [
        f"<h2>{escape(safe(explanation.pod.title))}</h2>"
        f"{draw_svg([explanation], number)}{draw_tables(explanation)}"
        for number, explanation in enumerate(explanations, 1)
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>Shutdown timelines</title>'
        f"<style>{_PAGE}</style></head><body>{''.join(sections)}</body></html>\n"
    )


def draw_tables(explanation: Explanation) -> str:
    """What a pod's picture shows, as tables."""
    file = explanation.file
    assumptions = [(text,) for text in explanation.assumptions]
    rejections = [(text,) for text in explanation.pod.rejections]
    if not explanation.has_timeline:
        return _table(
            "Rejected: no pod is created until this is fixed", ("reason",), rejections
        ) + _table("Assumptions", ("assumption",), assumptions)
    headroom = explanation.analysis.headroom
    verdict = [(format_verdict(explanation), format_shown_with(explanation))]
    in_flight = format_headroom(headroom.max_in_flight)
    longest = [
        ("in flight at deletion", in_flight, headroom.cause.describe(file)),
        ("arriving", format_late(headroom), headroom.late_cause.describe(file)),
    ]
    answers = [
        (
            format_request(answer.prediction.request),
            format_outcome(answer),
            format_answer_cause(answer, file),
            describe_client(answer.prediction, explanation.pod),
        )
        for answer in explanation.answers
    ]
    others = [(format_difference(each), each.how_to_say) for each in explanation.differences]
    shares = [
        (format_share(row), format_share_cost(row, explanation.rollout))
        for row in explanation.shares
    ]
    shutdown = explanation.analysis.latest_end
    rollout = [(explanation.rollout.describe(shutdown),)] if explanation.rollout else []
    pods = [(each.kind, each.text) for each in explanation.disruptions]
    events = [
        (
            format_duration(event.at),
            event.container or "pod",
            EVENT_TEXTS[event.kind],
            event.cause.describe(file),
        )
        for event in explanation.events
    ]
    losses = [
        (
            format_window(loss),
            format_loss(loss),
            loss.cause.describe(file),
            describe_loss(loss, explanation.analysis, explanation.pod),
        )
        for loss in explanation.analysis.losses
    ]
    return (
        _table("Verdict", ("verdict", "timeline"), verdict)
        + _table("Longest requests", ("when", "served", "cause"), longest)
        + _table("Requests", ("request", "outcome", "cause", "the client sees"), answers)
        + _table("Measured requests", ("share", "what serving them needs"), shares)
        + _table("Other cases", ("what is different", "how to settle it"), others)
        + _table("Rollout", ("cost",), rollout)
        + _table("Pods that serve", ("when", "how many"), pods)
        + _table("Events", ("at", "container", "event", "cause"), events)
        + _table("Losses", ("window", "loss", "cause", "the client sees"), losses)
        + _table("Assumptions", ("assumption",), assumptions)
    )


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(safe(cell))}</td>' for cell in row)}</tr>" for row in rows
    )
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>"
