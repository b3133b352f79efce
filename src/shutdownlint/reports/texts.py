"""The words that reports use for the model's codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.shutdown.analysis import Answer, Doubt, Headroom
from shutdownlint.shutdown.durations import ZERO, format_duration
from shutdownlint.shutdown.loss import LossKind, LossMeans
from shutdownlint.shutdown.request import EventKind, Outcome
from shutdownlint.shutdown.solver import MARGIN, Failure, FailureKind, Reason, ReasonKind
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from shutdownlint.engine.finding import Finding, ReportedLoss
    from shutdownlint.linter.verdicts import WeeklyLoss, WorkloadVerdict
    from shutdownlint.platforms.pods.controllers import Rollout
    from shutdownlint.reports.explanation import Difference, Explanation
    from shutdownlint.shutdown.loss import Loss
    from shutdownlint.shutdown.pod_plan import Sender
    from shutdownlint.shutdown.request import Request
    from shutdownlint.shutdown.request_shares import ShareRow

EVENT_TEXTS: Final = {
    EventKind.POD_DELETED: "the pod is deleted, the grace period begins",
    EventKind.HOOK_STARTS: "preStop hook starts",
    EventKind.HOOK_ABANDONED: "preStop hook is abandoned",
    EventKind.SIGNAL: "stop signal",
    EventKind.SIGNAL_IGNORED: "stop signal has no effect",
    EventKind.STOPS_ACCEPTING: "stops accepting new connections",
    EventKind.CUTS: "cuts the requests that are still open",
    EventKind.EXITS: "exits",
    EventKind.KILLED: "is killed",
    EventKind.GRACE_ENDS: "the grace period ends: SIGKILL for what still runs",
}
DOUBT_TEXTS: Final = {
    Doubt.TRAFFIC: "depends on whether a connection is open at each check",
    Doubt.DURATION: "depends on a duration of which only the bounds are known",
    Doubt.TARGET: "depends on the container that it is meant for",
    Doubt.LAST_USE: "depends on when its connection was last used: the proxy closes idle ones",
    Doubt.OWN_CALLS: "depends on whether the app finishes its own calls before it ends "
    "(waits-for-calls in the configuration)",
}
_OUTCOME_TEXTS: Final = {
    Outcome.CUT: "cut",
    Outcome.REFUSED: "refused",
    Outcome.UNAVAILABLE: "answered",
    Outcome.UNKNOWN: "unknown",
}


def format_finding(finding: Finding) -> str:
    """Return a finding in one line, for reports about a pod."""
    return f"{finding.severity.value} {finding.rule} {finding.placed_message}"


def format_difference(difference: Difference) -> str:
    """Describe what is different in another case."""
    parts = [
        f"{format_request(answer.prediction.request)}: {format_outcome(answer)}"
        for answer in difference.answers
        if answer is not None
    ]
    if difference.verdict is not None and not parts:
        parts = [_format_losses(difference.verdict)]
    elif difference.headroom is not None and not parts:
        parts = [f"in flight {format_headroom(difference.headroom.max_in_flight)}"]
    return f"{difference.when}: {'; '.join(parts)}"


def format_window(loss: Loss | ReportedLoss) -> str:
    """From when to when it is lost."""
    if loss.kind in (LossKind.LATE, LossKind.OWN_CALLS):
        return f"{format_duration(loss.begin)} to {format_duration(loss.end)}"
    return f"at {format_duration(loss.begin)}"


def format_loss_cause(loss: Loss, file: str) -> str:
    """Describe what decides when something is lost, and which setting would change that."""
    cause = loss.cause.describe(file)
    if loss.means is not LossMeans.WRITTEN_LIMIT:
        return cause
    until = format_duration(loss.end)
    return f"{cause}; {loss.setting.describe(file)} would go on until {until}"


def format_arrival(loss: Loss, senders: Sequence[Sender]) -> str:
    """Describe the requests that are cut: those that begin late; empty if all are."""
    if not loss.arrival or loss.kind not in (LossKind.CUT, LossKind.LONG):
        return ""
    text = f"those that begin at {format_duration(loss.arrival)}"
    if any(sender.window.value >= loss.arrival for sender in senders):
        return text
    return f"{text}, on connections that clients keep open"


def format_verdict(verdict: WorkloadVerdict) -> str:
    """Describe the cost of a stop of a workload, in one line."""
    if verdict.reason:
        return f"not analysed: {verdict.reason}"
    condition = ", if the assumptions below are right" if verdict.is_assumed else ""
    return f"{_format_losses(verdict)}{condition}"


def _format_losses(verdict: WorkloadVerdict) -> str:
    if verdict.losses:
        lost = [f"{loss.text} ({format_window(loss)})" for loss in verdict.losses]
        return "; ".join(dict.fromkeys(lost))
    if not verdict.gets_requests:
        longest = verdict.in_flight
        length = "any length" if longest is None else f"up to {format_duration(longest)}"
        return f"it gets no requests; work of {length} is finished"
    # Where none that begins at the last moment is served, nothing sends any then.
    known = [each for each in (verdict.in_flight, verdict.late or None) if each is not None]
    length = f"up to {format_duration(min(known))}" if known else "any length"
    return f"requests of {length} are served"


def format_shown_with(explanation: Explanation) -> str:
    """Describe the requests that the timeline is shown with."""
    if explanation.requests:
        return "shown with the requests below"
    if explanation.is_shown_busy:
        return "shown with a busy app"
    typical = explanation.typical_request
    if typical is None:
        return "shown without requests"
    return f"shown with a request of {format_duration(typical.duration)} that begins at 0s"


def format_headroom(longest: timedelta | None) -> str:
    """Return the longest request that is served."""
    if longest is None:
        return "requests of any length"
    return (
        f"requests of up to {format_duration(longest)}" if longest else "none is sure to be served"
    )


def format_late(headroom: Headroom) -> str:
    """Return the longest request that is served when it arrives at the last moment."""
    at = format_duration(headroom.late_at)
    if headroom.late_at <= ZERO:
        return f"from {at} on: refused"
    return f"at {at}: {format_headroom(headroom.max_late)}"


def format_weekly_loss(loss: WeeklyLoss) -> str:
    """Describe how many requests are lost, at each pod's end or in a week."""
    pod, pods = loss.of_a_pod, loss.replicas
    rollouts = loss.rollouts if pods and loss.rollouts is not None else 1.0
    times, how_often = 1.0, "each time a pod stops"
    if pods and loss.rollouts is not None:
        times = pods * loss.rollouts
        how_often = f"a week ({_plural_number(loss.rollouts, 'rollout')} of {plural(pods, 'pod')})"
    elif pods:
        times, how_often = float(pods), f"a rollout of {plural(pods, 'pod')}"
    more = "".join(
        f"; up to {_number(number)} more {why}"
        for number, why in (
            (loss.without_pods * rollouts, "while no pod serves"),
            (loss.before_listening * rollouts, "that reach new pods before they listen (no probe)"),
            (loss.at_drain, "when a drain takes the only pod"),
        )
        if number
    )
    if not pod.most:
        if not pod.window:
            return "no loss is counted: no Service of the files sends it requests"
        if loss.durations_known:
            sent = f"new requests are sent for up to {format_duration(pod.window)}"
            whose = " by pods that stop" if more else ""
            return f"no request is lost{whose} {how_often}, as {sent}{more}"
        return f"not counted: how long requests take is not known (--p99, --measured){more}"
    least, most = _number(pod.least * times), _number(pod.most * times)
    bounds = f"at least {least}" if least == most else f"{least} to {most}"
    requests = "request is" if bounds == "at least 1" else "requests are"
    text = f"{bounds} {requests} lost {how_often}, retries not counted{more}"
    if not loss.durations_known:
        text += "; how long requests take is not known (--p99, --measured)"
    return text


def _number(value: float) -> str:
    """Return a number of requests, with as many digits as it is worth."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _plural_number(value: float, noun: str) -> str:
    """Return a number that need not be whole, with its noun."""
    return f"{value:g} {noun}{'' if value == 1 else 's'}"


def format_share(row: ShareRow) -> str:
    """Return a share of the requests and how long they take."""
    share = f"{100 * row.share:g}%"
    if row.duration is None:
        return f"{share} of requests: longer than was measured"
    return f"{share} of requests take up to {format_duration(row.duration)}"


def format_share_cost(row: ShareRow, rollout: Rollout | None) -> str:
    """Describe what serving that share needs, and how long a rollout then waits for old pods."""
    if row.duration is None:
        return ""
    if row.grace is None:
        served = "served" if row.served else "not all are served"
        return f"{served}; no settings are known to serve them"
    waits = rollout.waiting_time(row.grace) if rollout is not None and rollout.waits else None
    cost = f", and a rollout waits up to {format_duration(waits)} for old pods" if waits else ""
    enough = f"a grace period of {format_duration(row.grace)} is enough{cost}"
    if row.served:
        return f"served; {enough}"
    return f"not all are served; with what suggest changes {enough}"


def format_request(request: Request) -> str:
    """Return a request: how long it takes, and when it arrives."""
    kind = "stream" if request.stream else "request"
    kind = "outbound call" if request.outbound else kind
    length, arrival = format_duration(request.duration), format_duration(request.arrival)
    kept = " on a kept connection" if request.reused else ""
    return f"{length} {kind} at {arrival}{kept}"


def format_node_shutdown(explanation: Explanation) -> str:
    """Say what is left of the grace period when the pod's node shuts down."""
    granted = explanation.node_shutdown
    assert granted is not None
    grace = format_duration(explanation.grace)
    origin = granted.origin.describe(explanation.file)
    return f"when its node shuts down, the pod gets {granted.value_text} of its {grace} ({origin})"


def format_streams(explanation: Explanation) -> str:
    """Say what a stop means for streams that clients hold."""
    text = (
        f"{explanation.streams} may carry them: a stream outlives any grace period unless the app "
        "ends it (GOAWAY, close frame)"
    )
    held = explanation.held_by_streams
    if held is None:
        return text
    name, until = held
    return (
        f"{text}; one that ends while {name} drains leaves its connection open, and {name} waits "
        f"for it until {format_duration(until)}: try --stream"
    )


def format_outcome(answer: Answer) -> str:
    """Describe the outcome of the request."""
    prediction = answer.prediction
    at = format_duration(prediction.at)
    if prediction.outcome is Outcome.OK:
        return f"served, done at {at}"
    chance = prediction.probability
    odds = "" if chance is None else f", served in {chance:.0%} of cases"
    text = _OUTCOME_TEXTS[prediction.outcome]
    if prediction.outcome is Outcome.UNAVAILABLE:
        text = f"{text} {prediction.status}"
    return f"{text} at {at}{odds}"


def format_answer_cause(answer: Answer, file: str | None) -> str:
    """Why, with the doubt where there is one."""
    cause = answer.prediction.cause.describe(file)
    if answer.doubt is None:
        return cause
    doubt = DOUBT_TEXTS[answer.doubt]
    return f"{doubt}; {cause}" if cause else doubt


def format_reason(reason: Reason) -> str:
    """Why a setting is changed."""
    at = format_duration(reason.at)
    texts = {
        ReasonKind.REQUESTS_STILL_ARRIVE: f"new requests still arrive for {at}",
        ReasonKind.CHECKS_TOO_EARLY: f"the proxy must not check for connections before {at}",
        ReasonKind.REQUESTS_DONE: f"requests are done by {at}",
        ReasonKind.WORK_DONE: f"its work is done by {at}",
        ReasonKind.MUST_ACCEPT: f"it has to accept until {at}",
        ReasonKind.LAST_SIGNAL: f"the last container gets its stop signal at {at}",
        ReasonKind.HOOKS_DONE: f"its hooks are done by {at}",
        ReasonKind.PROGRAM_MAY_TAKE: f"the program of {reason.container} may take until {at}",
        ReasonKind.PROXY_DONE: f"the proxy is done by {at}",
    }
    return texts[reason.kind]


def format_grace_reason(reason: Reason) -> str:
    """Why a grace period is changed: the margin is part of it."""
    return f"{format_reason(reason)}, plus a margin of {format_duration(MARGIN)}"


def format_failure(failure: Failure) -> str:
    """Why a suggestion is not proven."""
    prediction = failure.prediction
    if failure.kind is FailureKind.GRACE_UNKNOWN or prediction is None:
        return "the grace period is not known"
    target = f" to {failure.target}" if failure.target else ""
    arrival = format_duration(prediction.request.arrival)
    return f"a request{target} at {arrival} is {prediction.outcome.value}: {prediction.cause}"
