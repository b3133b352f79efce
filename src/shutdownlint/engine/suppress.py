"""Findings parted by what people have decided to live with."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from shutdownlint.platforms.user_facts import AppFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.manifests.suppressions import Suppression

#: What makes a run end with 2 is told whatever is selected or ignored.
ALWAYS: Final = ("SL001", "SL002")


class SuppressedFinding(Struct, frozen=True):
    """A finding that is ignored, why, and whether the manifest itself says so."""

    finding: Finding
    reason: str
    in_source: bool


class SuppressionResult(Struct):
    """The findings that are left, those that are ignored, and what is to be said of ignores."""

    left: list[Finding]
    suppressed: list[SuppressedFinding]
    remarks: list[str]


def part(
    findings: Iterable[Finding],
    ignores: Sequence[Suppression],
    asked: Sequence[Rule],
    today: dt.date,
) -> SuppressionResult:
    """Part the findings. An ignore that has expired counts no more, and that is said.

    So is one that nothing was found for, unless none of its rules was ``asked``.
    """
    parted = SuppressionResult([], [], [])
    live = [one for one in ignores if one.rules and (one.until is None or one.until >= today)]
    used: set[int] = set()
    for finding in findings:
        by = [] if finding.rule in ALWAYS else [one for one in live if _covers(one, finding)]
        used.update(id(one) for one in by)
        if by:
            ignored = SuppressedFinding(finding, by[0].reason, by[0].location is not None)
            parted.suppressed.append(ignored)
        else:
            parted.left.append(finding)
    for one in ignores:
        if not one.rules:
            wanted = "# shutdownlint: ignore[SL101] the reason"
            wanted = wanted if one.line is not None else "SL101 -- the reason"
            parted.remarks.append(f"{_told(one)} is not understood: write '{wanted}'")
        elif one not in live:
            none = one.until == dt.date.min
            why = "names a last day that is none" if none else f"has expired ({one.until})"
            parted.remarks.append(f"{_told(one)} {why}")
        elif id(one) not in used and any(_names(one, rule.id) for rule in asked):
            parted.remarks.append(f"{_told(one)} matches nothing (any more)")
        elif not one.reason:
            parted.remarks.append(f"{_told(one)} gives no reason")
    return parted


def _names(one: Suppression, rule: str) -> bool:
    return any(rule.startswith(name) for name in one.rules)


def _covers(one: Suppression, finding: Finding) -> bool:
    if not _names(one, finding.rule):
        return False
    if one.container is not None and one.container != finding.container:
        return False
    if one.pattern is not None:
        return finding.workload is not None and AppFacts(one.pattern).matches(finding.workload)
    if one.file != finding.region.file:
        return False
    if one.line is not None:
        return one.line == finding.region.line
    return one.workload == finding.workload


def _told(one: Suppression) -> str:
    rules = ", ".join(one.rules)
    if one.location is None:
        return f"the configuration's ignore of {rules} for {one.pattern}"
    return f"{one.location.region()}: this ignore{f' of {rules}' if rules else ''}"
