"""The result of checking a part of the workloads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

if TYPE_CHECKING:
    from shutdownlint.engine.evaluator import RuleFailure
    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.verdicts import WorkloadVerdict
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.manifests.reader import ReadStats
    from shutdownlint.manifests.suppressions import Suppression
    from shutdownlint.platforms.workload_index import WorkloadEntry


class CheckedPart(Struct):
    """The result of checking a part of the workloads."""

    stats: ReadStats
    suppressions: list[Suppression]
    findings: list[Finding] = field(default_factory=list)
    entries: list[WorkloadEntry] = field(default_factory=list)
    failures: dict[str, RuleFailure] = field(default_factory=dict)
    assumed_versions: dict[str, None] = field(default_factory=dict)
    verdicts: list[WorkloadVerdict] = field(default_factory=list)
    descriptions: dict[tuple[str, ObjectId], Any] = field(default_factory=dict)

    def add(self, other: CheckedPart) -> None:
        """Add what other workloads have given."""
        self.stats.add(other.stats)
        self.findings += other.findings
        self.entries += other.entries
        self.add_notes(other)

    def add_notes(self, other: CheckedPart) -> None:
        """Add what is about the run as a whole."""
        self.suppressions += other.suppressions
        self.failures.update(other.failures)
        self.assumed_versions.update(other.assumed_versions)
        self.verdicts += other.verdicts
        for key, described in other.descriptions.items():
            self.descriptions.setdefault(key, described)
