"""Explanations as JSON, version 1. Durations are seconds; a headroom of null is unbounded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from shutdownlint.engine.loss_texts import format_loss
from shutdownlint.reports.client_view import is_retried
from shutdownlint.reports.report import to_json, to_seconds, workload_data
from shutdownlint.reports.texts import (
    EVENT_TEXTS,
    format_answer_cause,
    format_verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.reports.explanation import Explanation, Explanations
    from shutdownlint.reports.output import ReportOutput
    from shutdownlint.shutdown.analysis import Answer
    from shutdownlint.shutdown.loss import Loss
    from shutdownlint.shutdown.request import Event
    from shutdownlint.shutdown.request_shares import ShareRow


def render_json(explanations: Explanations, _output: ReportOutput) -> str:
    """All explanations."""
    data = {
        "tool": "shutdownlint",
        "version": 1,
        "workloads": [_workload(each) for each in explanations],
        "unplanned": [
            {"workload": verdict.title, "file": verdict.region.file, "reason": verdict.reason}
            for verdict in explanations.unplanned
        ],
    }
    return to_json(data)


def _workload(explanation: Explanation) -> dict[str, Any]:
    headroom = explanation.analysis.headroom
    in_flight, late = headroom.max_in_flight, headroom.max_late
    return {
        "workload": workload_data(explanation.pod.id),
        "variant": explanation.pod.variant or None,
        "file": explanation.region.file,
        "line": explanation.region.line,
        "verdict": format_verdict(explanation.verdict),
        "lost": explanation.verdict.lost,
        "rejected": explanation.pod.rejections,
        "assumed": explanation.assumptions,
        "findings": [
            {
                "rule": finding.rule,
                "name": finding.name,
                "severity": finding.severity.value,
                "message": finding.message,
                "file": finding.region.file,
                "line": finding.region.line,
            }
            for finding in explanation.findings
        ],
        "headroom": {
            "in_flight": None if in_flight is None else to_seconds(in_flight),
            "late": None if late is None else to_seconds(late),
            "late_at": to_seconds(headroom.late_at),
            "cause": str(headroom.cause),
            "late_cause": str(headroom.late_cause),
            "alternatives": [
                {
                    "when": difference.when,
                    "in_flight": _seconds((difference.headroom or headroom).max_in_flight),
                    "lost": (difference.verdict or explanation.verdict).lost,
                    "how_to_say": difference.how_to_say,
                }
                for difference in explanation.differences
                if difference.headroom is not None or difference.verdict is not None
            ],
        },
        "shares": [_share(row) for row in explanation.shares],
        "rollout": _rollout(explanation),
        "events": [_event(event) for event in explanation.events],
        "lostRequests": _lost_requests(explanation),
        "losses": [_loss(loss) for loss in explanation.analysis.losses],
        "requests": [
            {
                **_request(answer, explanation.pod),
                "alternatives": list(_alternatives(explanation, number)),
            }
            for number, answer in enumerate(explanation.answers)
        ],
    }


def _lost_requests(explanation: Explanation) -> dict[str, Any] | None:
    """Return the loss of a pod's end, and how often pods end, if the user gives the rate."""
    lost = explanation.verdict.weekly
    if lost is None:
        return None
    return {
        "atLeast": round(lost.of_a_pod.least, 3),
        "atMost": round(lost.of_a_pod.most, 3),
        "pods": lost.replicas,
        "rolloutsPerWeek": lost.rollouts,
        "durationsKnown": lost.durations_known,
        "withoutPods": round(lost.without_pods, 3),
        "beforeListening": round(lost.before_listening, 3),
        "atDrain": round(lost.at_drain, 3),
    }


def _share(row: ShareRow) -> dict[str, Any]:
    return {
        "share": row.share,
        "duration": _seconds(row.duration),
        "served": row.served,
        "grace": _seconds(row.grace),
    }


def _alternatives(explanation: Explanation, number: int) -> Iterator[dict[str, Any]]:
    """Yield the other cases in which the request of that number fares differently."""
    for difference in explanation.differences:
        answer = difference.answers[number]
        if answer is not None:
            yield {
                "when": difference.when,
                "outcome": answer.prediction.outcome.value,
                "at": to_seconds(answer.prediction.at),
                "how_to_say": difference.how_to_say,
            }


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else to_seconds(duration)


def _rollout(explanation: Explanation) -> dict[str, Any] | None:
    """Return the cost of replacing all pods; ``waits`` is null if their number is not known."""
    rollout = explanation.rollout
    if rollout is None:
        return None
    shutdown = explanation.analysis.latest_end
    waits = rollout.waiting_time(shutdown)
    rolled = next((each for each in explanation.disruptions if each.kind == "rollout"), None)
    return {
        "strategy": rollout.strategy,
        "replicas": rollout.replicas,
        "waits": None if waits is None else to_seconds(waits),
        "text": rollout.describe(shutdown),
        "leastServing": rolled.least if rolled is not None else None,
        "servingOverTime": [
            {"at": to_seconds(at), "pods": pods}
            for at, pods in (rolled.steps if rolled is not None else ())
        ],
        "readyAfter": to_seconds(explanation.ready.value) if explanation.ready else None,
        "disruptions": [
            {
                "kind": disruption.kind,
                "text": disruption.text,
                "replicas": disruption.replicas,
                "leastServing": disruption.least,
            }
            for disruption in explanation.disruptions
        ],
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "at": to_seconds(event.at),
        "container": event.container,
        "kind": event.kind.value,
        "text": EVENT_TEXTS[event.kind],
        "cause": str(event.cause),
    }


def _loss(loss: Loss) -> dict[str, Any]:
    return {
        "kind": loss.kind.value,
        "by": loss.means.value,
        "process": loss.process,
        "certain": loss.certain,
        "weight": loss.weight.value,
        "text": format_loss(loss),
        "from": to_seconds(loss.begin),
        "to": to_seconds(loss.end),
        "longer_than": to_seconds(loss.longer_than),
        "arrival": to_seconds(loss.arrival),
        "cause": str(loss.cause),
        "client_sees": loss.client_sees.value if loss.client_sees is not None else None,
        "status": loss.status,
        "sender": loss.sender.name.value if loss.sender is not None else None,
    }


def _request(answer: Answer, pod: PlannedPod) -> dict[str, Any]:
    prediction = answer.prediction
    request = prediction.request
    return {
        "direction": request.direction.value,
        "arrival": to_seconds(request.arrival),
        "duration": to_seconds(request.duration),
        "reused": request.reused,
        "stream": request.stream,
        "outcome": "unknown" if pod.rejections else prediction.outcome.value,
        "at": to_seconds(prediction.at),
        "client_sees": prediction.client_sees.value,
        "status": prediction.status,
        "retried": is_retried(prediction, pod),
        "cause": format_answer_cause(answer, None),
        "doubt": answer.doubt.value if answer.doubt is not None else None,
        "probability": prediction.probability,
    }
