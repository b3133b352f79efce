"""The fields of losses: what rules and messages may say of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.engine.loss_texts import format_loss
from shutdownlint.platforms.fields import Field, FieldType, plain_field, setting_field
from shutdownlint.shutdown.durations import ZERO, DurationRange, format_duration
from shutdownlint.shutdown.loss import LossKind, LossMeans
from shutdownlint.shutdown.pod_plan import GRACE_FIELD, Role
from shutdownlint.shutdown.provenance import Setting, with_value
from shutdownlint.shutdown.request import ClientSees

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.shutdown.analysis import ShutdownAnalysis
    from shutdownlint.shutdown.loss import Loss
    from shutdownlint.shutdown.pod_plan import Assumption, ContainerPlan
    from shutdownlint.shutdown.solver import Change

_D, _B, _S = FieldType.DURATION, FieldType.BOOL, FieldType.STRING
_CLIENT: Final = {
    ClientSees.RESET: "a reset connection",
    ClientSees.REFUSED: "a refused connection",
    ClientSees.HANGS: "no answer",
}
#: Statuses that a proxy answers with if the app does not accept; for plain TCP it resets.
_OF_PROXIES: Final = (502, 503)


class LossView(Struct, frozen=True):
    """The data that a field of a loss may read."""

    pod: PlannedPod
    analysis: ShutdownAnalysis
    loss: Loss
    #: The other losses that the same setting causes.
    others: tuple[Loss, ...] = ()

    @property
    def process(self) -> ContainerPlan | None:
        """The container that loses it; None where that is who sends the requests."""
        if self.loss.role is None:
            return None
        return self.analysis.plan.container(self.loss.process)

    @property
    def app(self) -> ContainerPlan | None:
        """The container that requests are meant for."""
        plan = self.analysis.plan
        target = self.analysis.idle_timeline.target
        return plan.container(target.plan.name) if target is not None else plan.edge


def _hook(view: LossView) -> Setting[DurationRange] | None:
    app = view.app
    process = view.process
    of_app = process is None or process.role in (Role.PROXY, Role.HELPER, Role.MEMBER)
    wanted = app if of_app else process
    return wanted.hook.duration if wanted is not None else None


def _drain(view: LossView) -> timedelta:
    """Return how long the app accepts requests after its stop signal."""
    hook = _hook(view)
    begin = hook.value.low if hook is not None else ZERO
    return max(view.loss.arrival - begin, ZERO)


def _required(view: LossView) -> timedelta | None:
    needed = view.loss.needed
    return None if needed is None else view.loss.arrival + needed.value


def _grace(view: LossView) -> Setting[DurationRange]:
    process = view.process
    own = process.grace if process is not None else None
    return own or view.analysis.plan.grace


def _limit_name(view: LossView) -> str:
    return view.loss.setting.name


def _sender(view: LossView) -> Setting[str] | None:
    sender = view.loss.sender
    return Setting("", sender.label, sender.name.origin) if sender is not None else None


def _window(view: LossView) -> Setting[timedelta] | None:
    return view.loss.sender.window if view.loss.sender is not None else None


def _stops(view: LossView) -> str:
    """Return the verb for the end of accepting; that of an unknown program is assumed."""
    process = view.process
    assumed = process is not None and process.program_assumed
    return "is assumed to stop accepting" if assumed else "stops accepting"


def _unless_ignored(view: LossView) -> str:
    """Return what else may be true of an unknown program."""
    process = view.process
    if process is None or not process.program_assumed:
        return ""
    return "; if its program ignores the stop signal, SIGKILL cuts its requests instead"


def _client(view: LossView) -> str:
    loss = view.loss
    if loss.client_sees is None:
        return "an error"
    if loss.sender is not None and loss.sender.is_udp:
        return "no answer"
    if view.analysis.plan.clients_reconnect and loss.client_sees is ClientSees.RESET:
        return "a closed connection, and connects again, as clients of databases do"
    if loss.client_sees is ClientSees.STATUS and loss.status in _OF_PROXIES:
        return f"HTTP {loss.status}, or a reset connection where the port is not HTTP"
    return _CLIENT.get(loss.client_sees, f"HTTP {loss.status}")


def _who_answers(view: LossView) -> tuple[Assumption, ...]:
    """Return what is assumed of the proxies whose answer the caller sees."""
    loss = view.loss
    if loss.client_sees is not ClientSees.STATUS or loss.status not in _OF_PROXIES:
        return ()
    proxies = (c for c in view.analysis.plan.containers if c.role is Role.PROXY)
    return tuple(assumption for proxy in proxies for assumption in proxy.assumptions)


def format_change(change: Change, container: str, how: str = "") -> str:
    """One change of a solution, in words; that it is of ``container`` is known.

    ``how`` says how it is written, where that depends on the cluster.
    """
    if change.field == "preStop":
        where = "" if change.container == container else f" on {change.container}"
        return f"set a preStop sleep of {change.value_text}{where}{f' ({how})' if how else ''}"
    value = "'true'" if change.value is True else change.value_text
    return f"set {change.old.name} to {value}{f' ({how})' if how else ''}"


def _format_changes(view: LossView, changes: Sequence[Change]) -> Iterator[str]:
    """Yield the changes in words, and where one of them could be made for many pods at once."""
    apps = [c.name for c in view.analysis.plan.containers if c.role is Role.APP]
    known = apps[0] if len(apps) == 1 else view.loss.process
    if len({change.container for change in changes if change.field == "preStop"}) > 1:
        known = ""  # each of them is named
    for number, change in enumerate(changes):
        how = view.analysis.plan.how_to_change(change.container, change.field)
        text = format_change(change, known, how)
        last = all(later.container != change.container for later in changes[number + 1 :])
        if change.container is not None and last:
            knobs = view.analysis.plan.container(change.container).knobs
            shared = next((knob.shared for knob in knobs if knob.shared is not None), None)
            text += f" (for all pods at once: {shared.value})" if shared is not None else ""
        yield text


def _advice(view: LossView) -> str:
    """Return the smallest set of changes that serves every request; else the wanted ones."""
    solution, loss = view.analysis.solution, view.loss
    process = view.process
    waits = process.how_to_wait if process is not None and loss.kind is LossKind.CUT else ""
    if view.analysis.is_solved(loss):
        changes = ", ".join(_format_changes(view, solution.changes))
        return f"{waits}; else {changes}" if waits else changes
    if waits:
        return waits
    if loss.kind in (LossKind.LATE, LossKind.OWN_CALLS):
        return f"let {loss.process} go on until {format_duration(loss.end)}"
    required = _required(view)
    if loss.means is LossMeans.SIGKILL and required is not None:
        return f"set {GRACE_FIELD} above {format_duration(required)}"
    return f"let {loss.process} finish what it has"


def _lost(view: LossView) -> str:
    """Everything that is lost because of the setting."""
    return ", ".join(dict.fromkeys(format_loss(loss) for loss in (view.loss, *view.others)))


def _app_goes_on_until(view: LossView) -> timedelta:
    """Until when the app accepts requests, or finishes its work."""
    app = view.app
    if app is None:
        return view.loss.end
    accepts = view.analysis.idle_timeline.container(app.name).accepts_until().at
    return accepts if accepts > view.loss.begin else view.loss.end


def _any_length(view: LossView) -> str:
    """Describe the requests that are lost."""
    loss = view.loss
    if loss.needed is not None:
        return f"requests of up to {format_duration(loss.needed.value)}"
    if loss.longer_than:
        return f"requests that take longer than {format_duration(loss.longer_than)}"
    return "requests in flight"


def _limit(view: LossView) -> Setting[object]:
    setting = view.loss.setting
    value = setting.value
    return with_value(setting, value.low if isinstance(value, DurationRange) else value)


LOSS_FIELDS: Final[tuple[Field, ...]] = (
    plain_field(
        "kind",
        _S,
        "what is lost: cut, late, own_calls, work, long",
        lambda v: v.loss.kind.value,
    ),
    plain_field(
        "process",
        _S,
        "the container that loses it, or who sends the requests",
        lambda v: v.loss.process,
    ),
    plain_field(
        "unlessIgnored",
        _S,
        "what else may be true of a program that is not known, in words",
        _unless_ignored,
    ),
    plain_field(
        "stops",
        _S,
        "that it stops accepting, or is assumed to because its program is not known, in words",
        _stops,
    ),
    plain_field("workload", _S, "the workload's name", lambda v: v.pod.id.name),
    plain_field(
        "namespace",
        _S,
        "its namespace, empty where none is written",
        lambda v: v.pod.id.namespace or "",
    ),
    plain_field(
        "at", _D, "when the first request is lost, from the deletion", lambda v: v.loss.begin
    ),
    plain_field("until", _D, "when the last one is", lambda v: v.loss.end),
    plain_field(
        "limit",
        _D,
        "requests that take no longer are served; 0s: none is",
        lambda v: v.loss.longer_than,
    ),
    plain_field(
        "arrival", _D, "when the requests begin that are lost first", lambda v: v.loss.arrival
    ),
    plain_field("lost", _S, "everything that is lost because of the setting, in words", _lost),
    plain_field(
        "app",
        _S,
        "the container that requests are meant for",
        lambda v: v.app.name if v.app is not None else "",
    ),
    plain_field(
        "appGoesOnUntil",
        _D,
        "until when the app accepts requests, or finishes its work",
        _app_goes_on_until,
    ),
    plain_field("requests", _S, "which requests are lost, in words", _any_length),
    setting_field(
        "needed",
        _D,
        "how long the requests take; absent where nothing says it",
        lambda v: v.loss.needed,
    ),
    plain_field("required", _D, "arrival + needed; absent where needed is", _required),
    setting_field("preStop", _D, "how long the app's preStop hook takes", _hook),
    plain_field("drain", _D, "how long the app accepts after its stop signal", _drain),
    setting_field("grace", _D, "the grace period", _grace),
    setting_field("setting", _S, "the setting that decides", _limit),
    plain_field("settingName", _S, "its name", _limit_name),
    plain_field(
        "reason", _S, "who chose its value, in words", lambda v: v.loss.setting.origin.label
    ),
    setting_field("sender", _S, "what sends the requests that are lost; absent elsewhere", _sender),
    setting_field(
        "window", _D, "how long it sends new requests; absent where there is no sender", _window
    ),
    plain_field("client", _S, "what the caller sees", _client, assumes=_who_answers),
    plain_field("advice", _S, "the changes that serve every request, in words", _advice),
)
