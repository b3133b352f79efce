"""A cause in words: what is lost, the fix, and the workloads that it holds for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.linter.grouping import find_shared_edit
from shutdownlint.reports.columns import align
from shutdownlint.reports.report import safe
from shutdownlint.shutdown.durations import format_duration
from shutdownlint.shutdown.loss import LossKind
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.linter.verdicts import WorkloadVerdict
    from shutdownlint.reports.report import Report

#: The losses of several workloads that lose requests in different ways.
_ANY_LOSS: Final = {
    LossKind.CUT: "requests in flight are cut",
    LossKind.LATE: "new requests are lost",
    LossKind.OWN_CALLS: "the app's own calls fail",
    LossKind.WORK: "work in progress is cut",
    LossKind.LONG: "long requests are cut",
}
#: Of the workloads of a cause so many are listed.
_MOST_PLACES: Final = 10
#: Of the senders and variants of a workload so many are named.
_MOST_NAMES: Final = 2


class CausePlace(Struct, frozen=True):
    """A workload that a cause holds for, in all its variants, and what bears on it."""

    where: str
    workload: str
    bears: tuple[str, ...]
    variants: tuple[str, ...]


def list_places(findings: Sequence[Finding], report: Report) -> list[CausePlace]:
    """Return the workloads of findings with one cause: those of one file and line are one."""
    by_place: dict[tuple[str, int, str], list[Finding]] = {}
    for finding in findings:
        by_place.setdefault(_place_of(finding), []).append(finding)
    return [_place(own, report) for own in by_place.values()]


def _place_of(finding: Finding) -> tuple[str, int, str]:
    region = finding.subject_region or finding.region
    name = f"{finding.workload.kind} {finding.workload.name}" if finding.workload else ""
    return region.file, region.line, name


def _place(findings: Sequence[Finding], report: Report) -> CausePlace:
    first = findings[0]
    region = first.subject_region or first.region
    variants = tuple(dict.fromkeys(name for f in findings for name in f.variants))
    verdict = report.verdict_of(first)
    bears = [*_bears_on(verdict)] if verdict is not None else []
    if first.loss is not None and first.loss.kind is LossKind.LATE:
        bears.insert(0, f"new requests until {format_duration(first.loss.end)}")
    if first.outside and first.workload is not None:
        bears.append(f"by {first.region.file}:{first.region.line}")
    workload = str(first.workload) if first.workload is not None else ""
    return CausePlace(f"{region.file}:{region.line}", workload, tuple(bears), variants)


def _bears_on(verdict: WorkloadVerdict) -> Iterator[str]:
    """Yield what makes the loss of a workload larger: its replicas, and who sends to it."""
    if verdict.replicas is not None:
        yield plural(verdict.replicas, "replica")
    others = [name for name in verdict.senders if not name.startswith("Service ")]
    yield from others[:_MOST_NAMES]


def format_places(places: Sequence[CausePlace]) -> list[str]:
    """Return the workloads line by line, as far as they are listed."""
    rows = []
    for place in places[:_MOST_PLACES]:
        variants = place.variants[:_MOST_NAMES]
        if len(place.variants) > _MOST_NAMES:
            variants = (plural(len(place.variants), "variant"),)
        rows.append(
            (safe(place.where), safe(place.workload), safe(", ".join((*place.bears, *variants))))
        )
    more = len(places) - _MOST_PLACES
    return [*align(rows), *([f"and {more:,} more: --format concise"] if more > 0 else [])]


def describe_cause(findings: Sequence[Finding], places: Sequence[CausePlace]) -> str:
    """Describe what is wrong, for all workloads of a cause."""
    first = findings[0]
    if len(places) < 2 or len({finding.message for finding in findings}) < 2:
        return first.message
    if first.loss is None:
        return f"{first.title.rstrip('.')}, in {len(places):,} workloads"
    lost = {finding.loss.text for finding in findings if finding.loss is not None}
    what = first.loss.text if len(lost) == 1 else _ANY_LOSS[first.loss.kind]
    variants = sum(max(len(place.variants), 1) for place in places)
    more = f" ({variants:,} with their variants)" if variants > len(places) else ""
    return f"{what} ({first.decided_by}), in {len(places):,} workloads{more}"


def describe_fix(
    findings: Sequence[Finding], places: Sequence[CausePlace], report: Report
) -> str | None:
    """Return the fix, and whether one edit is enough for all."""
    by_place = {_place_of(finding): finding for finding in findings if finding.fix}
    fixes = Counter(finding.fix.description for finding in by_place.values() if finding.fix)
    if not fixes:
        return None
    text, count = fixes.most_common(1)[0]
    if len(fixes) > 1:
        text += f" (for {count:,} of {len(places):,}; 'shutdownlint suggest' has each)"
    shared = find_shared_edit(list(findings)) if len(places) > 1 else None
    if shared is not None:
        text += f"; one edit at {shared} is enough for all {len(places):,}"
    fixable = [f.fix for f in findings if f.fix is not None and report.is_fixable(f)]
    if not fixable:
        return text
    return f"{text} [{'--fix' if all(fix.safe for fix in fixable) else '--unsafe-fixes'}]"
