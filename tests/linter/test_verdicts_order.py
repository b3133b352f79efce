"""The order of verdicts: by what is lost, sure losses first."""

from __future__ import annotations

from datetime import timedelta

from shutdownlint.engine.finding import ReportedLoss
from shutdownlint.linter.verdicts import NONE, WorkloadVerdict, sort_verdicts
from shutdownlint.manifests.object_id import ObjectId
from shutdownlint.shutdown.loss import LossKind
from shutdownlint.yaml_source.location import Region


def verdict(name: str, lost: str, *, sure: bool = True) -> WorkloadVerdict:
    zero = timedelta(0)
    loss = ReportedLoss(
        LossKind.LATE, "late", "app", zero, zero, zero, "", is_sure=sure, certain=sure
    )
    losses = (loss,) if lost != NONE else ()
    return WorkloadVerdict(
        ObjectId("Pod", name, None), Region("a.yaml", 1, 1, 1, 1), lost=lost, losses=losses
    )


def test_sure_losses_come_before_possible_ones() -> None:
    verdicts = [
        verdict("nothing", NONE),
        verdict("perhaps", "late", sure=False),
        verdict("late", "late"),
        verdict("cut", "cut"),
    ]
    ordered = [each.id.name for each in sort_verdicts(verdicts)]
    assert ordered == ["cut", "late", "perhaps", "nothing"]
