"""A loss in words: findings and explanations use the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shutdownlint.engine.finding import ReportedLoss
from shutdownlint.shutdown.durations import format_duration
from shutdownlint.shutdown.loss import LossKind, LossWeight
from shutdownlint.shutdown.pod_plan import TAKEN_AS
from shutdownlint.shutdown.request import ClientSees

if TYPE_CHECKING:
    from shutdownlint.shutdown.loss import Loss


def format_loss(loss: Loss) -> str:
    """Describe a loss in a few words."""
    are = "are" if loss.certain else "may be"
    if loss.kind is LossKind.LATE:
        sure = loss.certain and loss.weight is not LossWeight.POSSIBLE
        seen = _LATE.get(loss.client_sees or ClientSees.REFUSED, f"answered with {loss.status}")
        return f"new requests {'are' if sure else 'may be'} {seen}"
    if loss.kind is LossKind.OWN_CALLS:
        longer = f" beyond {format_duration(loss.longer_than)}" if loss.longer_than else ""
        return f"the app's own calls{longer} {'fail' if loss.certain else 'may fail'}"
    what = "work" if loss.kind is LossKind.WORK else "requests"
    if loss.needed is not None:
        which = f"{what} of up to {format_duration(loss.needed.value)}"
    elif loss.longer_than:
        which = f"{what} longer than {format_duration(loss.longer_than)}"
    elif loss.arrival and loss.kind is LossKind.CUT:
        which = f"requests that begin at {format_duration(loss.arrival)}"
    else:
        which = f"{what} in progress" if what == "work" else f"{what} in flight"
    return f"{which} {are.replace('are', 'is') if what == 'work' else are} cut"


def report_loss(loss: Loss) -> ReportedLoss:
    """Return a loss as plain data."""
    return ReportedLoss(
        loss.kind,
        format_loss(loss),
        loss.process,
        loss.begin,
        loss.end,
        loss.longer_than,
        _format_setting(loss),
        is_sure=loss.weight is not LossWeight.POSSIBLE,
        certain=loss.certain,
    )


def _format_setting(loss: Loss) -> str:
    """Return the setting that decides, with its value as far as that is known."""
    setting = loss.setting
    name = setting.name.removeprefix(f"{loss.process} ")
    if name.endswith(TAKEN_AS):
        return name.removesuffix(TAKEN_AS)
    return f"{name} {setting.value_text}"


#: The outcomes of new requests, by what their caller sees.
_LATE: Final = {
    ClientSees.REFUSED: "refused",
    ClientSees.RESET: "reset",
    ClientSees.HANGS: "left without an answer",
}
