"""The severity of a loss, by what is known of the requests that are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shutdownlint.engine.finding import Severity
from shutdownlint.shutdown.loss import LossMeans, LossWeight
from shutdownlint.shutdown.pod_plan import Role
from shutdownlint.shutdown.provenance import OriginKind

if TYPE_CHECKING:
    from shutdownlint.shutdown.loss import Loss
    from shutdownlint.shutdown.pod_plan import Assumption


def loss_severity(loss: Loss, assumptions: tuple[Assumption, ...]) -> Severity:
    """Return the severity of a loss: an error only if it does not depend on an assumption."""
    if loss.weight is LossWeight.POSSIBLE:
        return Severity.NOTE
    if loss.weight is LossWeight.LIKELY or assumptions or _rests_on_program(loss):
        return Severity.WARNING
    return Severity.ERROR


def _rests_on_program(loss: Loss) -> bool:
    """Whether a program's default decides, which a file of its image may change."""
    by_program = loss.means in (LossMeans.SIGNAL, LossMeans.LIMIT)
    default = loss.setting.origin.kind is OriginKind.DEFAULT
    return by_program and default and loss.role in (Role.APP, Role.HELPER)
