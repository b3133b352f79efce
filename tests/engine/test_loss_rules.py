"""The bundled rules about losses report every loss once, whatever the platform."""

from __future__ import annotations

from itertools import product

import pytest

from shutdownlint.platforms.fields import SubjectKind
from shutdownlint.shutdown.loss import LossKind, LossMeans
from shutdownlint.shutdown.pod_plan import Role
from tests.helpers import rules

LENGTHS = ("stated", "usual", "unknown")
SENDER = "sender"
ROLES = (*(role.value for role in Role), SENDER)


def can_be(kind: LossKind, means: LossMeans, role: str, length: str) -> bool:
    """Whether the model has such losses."""
    if means is LossMeans.ABANDONED_HOOK:
        return False  # SL102 reports the hook
    if (role == SENDER) is not (means is LossMeans.SENDER):
        return False
    match kind:
        case LossKind.LATE:
            return means in (LossMeans.CLOSED, LossMeans.HOOK) and length == "unknown"
        case LossKind.OWN_CALLS:
            return means is not LossMeans.WRITTEN_LIMIT and length != "usual" and role != SENDER
        case LossKind.WORK:
            by_process = (LossMeans.SIGNAL, LossMeans.LIMIT, LossMeans.SIGKILL, LossMeans.HOOK)
            of_app = role not in ("proxy", "edge")
            return means in by_process and of_app and length != "usual"
        case LossKind.LONG:
            return means is not LossMeans.CLOSED and length == "unknown"
        case LossKind.CUT:
            if means is LossMeans.SENDER:
                return True
            return means not in (LossMeans.CLOSED, LossMeans.WRITTEN_LIMIT)


CASES = [case for case in product(LossKind, LossMeans, ROLES, LENGTHS) if can_be(*case)]


@pytest.mark.parametrize(("kind", "means", "role", "length"), CASES)
def test_each_loss_has_one_rule(kind: LossKind, means: LossMeans, role: str, length: str) -> None:
    def selects(selector: object) -> bool:
        wanted = [getattr(selector, name) for name in ("kind", "by", "role", "length")]
        values = (kind.value, means.value, role, length)
        return all(
            not any_of or value in any_of for any_of, value in zip(wanted, values, strict=True)
        )

    of_losses = [rule for rule in rules() if rule.subject is SubjectKind.LOSS]
    found = [rule.id for rule in of_losses if any(map(selects, rule.losses))]
    assert len(found) == 1, found


def test_no_condition_computes_a_loss() -> None:
    of_losses = [rule for rule in rules() if rule.subject is SubjectKind.LOSS]
    assert len(of_losses) > 10
    assert [rule.id for rule in of_losses if rule.condition is not None] == []
