"""Kyverno as a platform: policies that limit or change what a pod says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.platforms.fields import CaseView, Field, Fields, FieldType, SubjectKind
from shutdownlint.platforms.kyverno.grace_limits import policy_max_grace
from shutdownlint.platforms.kyverno.mutate_rules import read_mutations
from shutdownlint.platforms.platform import Platform

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.platforms.context import AnalysisContext
    from shutdownlint.platforms.mutations import Mutation
    from shutdownlint.platforms.pod_draft import PodDraft
    from shutdownlint.shutdown.provenance import Setting


class PolicyFacts(Struct, frozen=True):
    """The longest grace period that the policies among the files allow."""

    max_grace: Setting[timedelta]


def _max_grace(view: CaseView) -> Setting[timedelta] | None:
    found: PolicyFacts | None = view.facts(PolicyFacts)
    return None if found is None else found.max_grace


_FIELDS: Final[Fields] = {
    SubjectKind.POD: (
        Field(
            "policyMaxGrace",
            FieldType.DURATION,
            "the longest grace period that a policy allows; absent without one",
            _max_grace,
            setting=True,
        ),
    )
}


class Plugin(Platform):
    """Kyverno."""

    name = "kyverno"
    fields = _FIELDS

    def contribute(self, draft: PodDraft) -> None:
        """Note the longest grace period that a policy allows."""
        found = policy_max_grace(draft.workload, draft.context)
        if found is not None:
            draft.note(PolicyFacts(found))

    def mutations(self, context: AnalysisContext) -> list[Mutation]:
        """Return the policies that change pods."""
        return context.read_once(read_mutations)
