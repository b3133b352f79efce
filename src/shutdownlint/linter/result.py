"""The results of runs."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the types of defaults are read
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from shutdownlint.engine.selection import ALWAYS_REPORTED
from shutdownlint.manifests.inputs import Inputs
from shutdownlint.manifests.reader import ReadStats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.linter.verdicts import WorkloadVerdict
    from shutdownlint.manifests.object_id import ObjectId
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.workload_index import WorkloadEntry


class SuppressedFinding(Struct, frozen=True):
    """A finding that is suppressed, why, and whether the manifest itself says so."""

    finding: Finding
    reason: str
    in_source: bool


class LintResult(Struct, frozen=True):
    """The result of a check.

    A finding is about one workload; variants that share it are one. ``verdicts`` are the losses of
    a stop of each checked workload, ``entries`` are these workloads. ``objects`` counts
    what else was read for context. ``warnings`` are about the run as a whole. ``hidden`` counts by
    rule the notes that are not reported, ``unsure`` the findings of a lower confidence than asked
    for, ``known`` those of a baseline, ``ignored`` those that the configuration ignores for their
    files, ``left_out`` the rules that are not selected. ``descriptions`` are those of
    ``LintOptions.describe``, by file and workload. ``written`` is false if a fixed file
    could not be written.
    """

    stats: ReadStats = field(default_factory=ReadStats)
    findings: Sequence[Finding] = ()
    suppressed: Sequence[SuppressedFinding] = ()
    entries: Sequence[WorkloadEntry] = ()
    objects: int = 0
    written: bool = True
    warnings: Sequence[str] = ()
    verdicts: Sequence[WorkloadVerdict] = ()
    hidden: Mapping[str, int] = MappingProxyType({})
    known: int = 0
    ignored: int = 0
    unsure: int = 0
    left_out: int = 0
    rules: Sequence[Rule] = ()
    descriptions: Mapping[tuple[str, ObjectId], Any] = MappingProxyType({})
    inputs: Inputs = Inputs()

    @property
    def complete(self) -> bool:
        """Whether the whole job was done, but for what is known not to be readable."""
        reported = {finding.rule for finding in self.findings} | {*self.hidden}
        return self.written and reported.isdisjoint(ALWAYS_REPORTED)

    @property
    def workloads(self) -> int:
        """The number of checked workloads."""
        return len(self.entries)


class PlannedRun(Struct, frozen=True):
    """The planned pods of a run. Of the rules only those about rejected objects are evaluated.

    ``variants_of`` are the variants that a file is part of.
    """

    stats: ReadStats
    inputs: Inputs
    pods: Sequence[PlannedPod] = ()
    warnings: Sequence[str] = ()
    variants_of: Mapping[str, set[str]] = MappingProxyType({})
