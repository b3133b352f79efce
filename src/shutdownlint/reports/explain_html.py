"""Explanations as a page: each pod's picture, and the same as tables."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from shutdownlint.engine.loss_texts import format_loss
from shutdownlint.reports.client_view import describe_client, describe_loss
from shutdownlint.reports.explain_svg import draw_svg
from shutdownlint.reports.page import draw_page, draw_table, draw_wide
from shutdownlint.reports.report import safe
from shutdownlint.reports.texts import (
    EVENT_TEXTS,
    format_answer_cause,
    format_arrival,
    format_difference,
    format_finding,
    format_headroom,
    format_late,
    format_loss_cause,
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
from shutdownlint.shutdown.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.reports.explanation import Explanation
    from shutdownlint.reports.output import ReportOutput


def render_html(explanations: Sequence[Explanation], _output: ReportOutput) -> str:
    """All explanations in one page."""
    sections = [
        f"<h2>{escape(safe(explanation.pod.title))}</h2>"
        f"{draw_wide(draw_svg([explanation], number))}{draw_tables(explanation)}"
        for number, explanation in enumerate(explanations, 1)
    ]
    title = "Shutdown timelines"
    return draw_page(title, f"<h1>{title}</h1>{''.join(sections)}")


def draw_tables(explanation: Explanation) -> str:
    """Draw the contents of a pod's picture as tables."""
    file = explanation.file
    assumptions = [(text,) for text in explanation.assumptions]
    rejections = [(text,) for text in explanation.pod.rejections]
    if not explanation.has_timeline:
        return draw_table(
            "Rejected: no pod is created until this is fixed", ("reason",), rejections
        ) + draw_table("Assumptions", ("assumption",), assumptions)
    headroom = explanation.analysis.headroom
    verdict = [(format_verdict(explanation.verdict), format_shown_with(explanation))]
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
    if explanation.verdict.weekly is not None:
        verdict.append((format_weekly_loss(explanation.verdict.weekly), ""))
    findings = [(format_finding(each),) for each in explanation.findings]
    others = [(format_difference(each), each.how_to_say) for each in explanation.differences]
    shares = [
        (format_share(row), format_share_cost(row, explanation.rollout))
        for row in explanation.shares
    ]
    shutdown = explanation.analysis.latest_end
    rollout = [(explanation.rollout.describe(shutdown),)] if explanation.rollout else []
    pods = [(each.kind, each.text) for each in explanation.disruptions]
    streams = [(format_streams(explanation),)] if explanation.streams else []
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
            "; ".join(
                filter(None, (format_loss(loss), format_arrival(loss, explanation.plan.senders)))
            ),
            format_loss_cause(loss, file),
            describe_loss(loss, explanation.pod),
        )
        for loss in explanation.analysis.losses
    ]
    return (
        draw_table("Verdict", ("verdict", "timeline"), verdict)
        + draw_table("Longest requests", ("when", "served", "cause"), longest)
        + draw_table("Streams", ("what a stop means for them",), streams)
        + draw_table("Requests", ("request", "outcome", "cause", "the client sees"), answers)
        + draw_table("Measured requests", ("share", "what serving them needs"), shares)
        + draw_table("Other cases", ("what is different", "how to settle it"), others)
        + draw_table("Rollout", ("cost",), rollout)
        + draw_table("Pods that serve", ("when", "how many"), pods)
        + draw_table("Events", ("at", "container", "event", "cause"), events)
        + draw_table("Losses", ("window", "loss", "cause", "the client sees"), losses)
        + draw_table("Findings", ("finding",), findings)
        + draw_table("Assumptions", ("assumption",), assumptions)
    )
