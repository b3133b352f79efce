"""The client's view of a lost request, and whether somebody retries it for the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.platforms.retries import DefaultRetries, RouteRetries
from shutdownlint.shutdown.loss import LossKind, LossMeans
from shutdownlint.shutdown.request import ClientSees, Outcome, Prediction, Request

if TYPE_CHECKING:
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.retries import RetryPolicy
    from shutdownlint.shutdown.loss import Loss

_SEEN: Final = {
    ClientSees.RESET: "a reset connection",
    ClientSees.REFUSED: "a refused connection",
    ClientSees.HANGS: "no answer until a timeout",
}
#: The answers of Envoy for a pod, with their response flags.
_THROUGH_ENVOY: Final = {
    ClientSees.RESET: "503 UC",
    ClientSees.REFUSED: "503 UF",
    ClientSees.HANGS: "504 UT, or 503 UF where no connection is made",
}


def describe_client(prediction: Prediction, pod: PlannedPod) -> str:
    """Describe what the caller of a lost request sees; empty if served, or made by the app."""
    if prediction.outcome in (Outcome.OK, Outcome.UNKNOWN) or prediction.request.outbound:
        return ""
    default: DefaultRetries | None = pod.facts.get(DefaultRetries)
    seen = _SEEN.get(prediction.client_sees, f"HTTP {prediction.status}")
    if default is not None and prediction.client_sees in _THROUGH_ENVOY:
        seen = f"{seen} (through Envoy: {_THROUGH_ENVOY[prediction.client_sees]})"
    retried = _describe_retries(prediction, pod, default)
    return f"{seen}; {retried}" if retried else seen


def describe_loss(loss: Loss, pod: PlannedPod) -> str:
    """Return the same for the requests of a loss; empty for calls and work."""
    unseen = loss.kind in (LossKind.OWN_CALLS, LossKind.WORK)
    if loss.client_sees is None or unseen or loss.means is LossMeans.SENDER:
        return ""
    outcome = Outcome.REFUSED if loss.kind is LossKind.LATE else Outcome.CUT
    request = Request(loss.arrival, loss.end - loss.arrival)
    lost = Prediction(request, outcome, loss.begin, loss.cause, loss.client_sees, loss.status)
    return describe_client(lost, pod)


def is_retried(prediction: Prediction, pod: PlannedPod) -> bool | None:
    """Whether every known caller tries it again on another pod; None where no policy is known."""
    policies = _policies(pod)
    if not policies or prediction.outcome in (Outcome.OK, Outcome.UNKNOWN):
        return None
    return all(policy.hides(prediction) for policy in policies) and not _is_alone(pod)


def _describe_retries(
    prediction: Prediction, pod: PlannedPod, default: DefaultRetries | None
) -> str:
    policies = _policies(pod)
    if not policies:
        return "" if default is None else "the mesh's own retry policy is not evaluated"
    missing = [policy for policy in policies if not policy.hides(prediction)]
    if missing:
        return f"not retried by {missing[0].name.value}"
    names = ", ".join(dict.fromkeys(policy.name.value for policy in policies))
    if _is_alone(pod):
        return f"{names} would retry it, but there is no other pod"
    return f"retried on another pod by {names}, where one is ready"


def _policies(pod: PlannedPod) -> list[RetryPolicy]:
    """Of each route that is shown; empty where one of them leaves it to a default not known."""
    default: DefaultRetries | None = pod.facts.get(DefaultRetries)
    routes: RouteRetries | None = pod.facts.get(RouteRetries)
    own = default.policy if default is not None else None
    found = [policy or own for policy in routes.policies] if routes is not None else [own]
    return [policy for policy in found if policy is not None] if None not in found else []


def _is_alone(pod: PlannedPod) -> bool:
    return pod.replicas is not None and pod.replicas.value == 1
