"""Findings that belong together: of several variants, at one place, with one cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint.engine.finding import Related
from shutdownlint.shutdown.durations import ZERO
from shutdownlint.shutdown.loss import WORST_FIRST, LossKind
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import timedelta

    from shutdownlint.engine.finding import Finding
    from shutdownlint.yaml_source.location import Region

_Key = tuple[object, ...]


def merge_variants(
    findings: Iterable[Finding], variants_of: Mapping[str, Collection[str]]
) -> list[Finding]:
    """Return the findings, those that several variants share at one place as one.

    ``variants_of`` are the variants that a file is part of: a fix that would also change a variant
    without the finding is not made.
    """
    groups: dict[_Key, list[Finding]] = {}
    for finding in findings:
        place = finding.region, finding.subject_region, finding.container
        key = finding.rule, finding.severity, finding.message, *place
        groups.setdefault(key if finding.variants else (id(finding),), []).append(finding)
    merged = (_merge_variants(group) for group in groups.values())
    return [_without_shared_fix(finding, variants_of) for finding in merged]


def _without_shared_fix(finding: Finding, variants_of: Mapping[str, Collection[str]]) -> Finding:
    """Return the finding; without the changes of a fix that would change other variants as well."""
    fix = finding.fix
    if fix is None or not finding.variants:
        return finding
    files = {c.target.location.region().file for c in fix.changes if c.target is not None}
    others = {name for file in files for name in variants_of.get(file, ())}
    others -= set(finding.variants)
    if not others:
        return finding
    names, have = ", ".join(sorted(others)[:3]), "have" if len(others) > 1 else "has"
    own = ", ".join(finding.variants[:3])
    text = f"{fix.description} (in {own} only: {names} {have} the same file)"
    return replace(finding, fix=replace(fix, description=text, changes=()))


def _merge_variants(group: list[Finding]) -> Finding:
    first = group[0]
    return first if len(group) == 1 else _join(first, group)


def _join(first: Finding, group: list[Finding]) -> Finding:
    """One finding for several; its fix is made where it is the same for all."""
    fix = first.fix
    if fix is not None and any(_edits(f) != _edits(first) for f in group):
        fix = replace(fix, changes=())
    return replace(
        first,
        fix=fix,
        severity=max((f.severity for f in group), key=lambda severity: severity.rank),
        holds_for=first.holds_for if len({f.holds_for for f in group}) == 1 else "",
        variants=tuple(dict.fromkeys(name for f in group for name in f.variants))
        if all(f.variants for f in group)
        else (),
        assumptions=tuple(dict.fromkeys(text for f in group for text in f.assumptions)),
        related=tuple(dict.fromkeys(related for f in group for related in f.related)),
        group=tuple(each for f in group for each in f.each),
    )


def _edits(finding: Finding) -> list[_Key]:
    """Return the changes of a finding's fix, and their places."""
    return [
        (each.action, each.field, each.value, each.target and each.target.location.region())
        for each in (finding.fix.changes if finding.fix is not None else ())
    ]


def group_by_place(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, one for each place that decides.

    A setting outside of the pods decides for several of them: it is reported once, with the
    workloads that it concerns.
    """
    groups: dict[_Key, list[Finding]] = {}
    for finding in findings:
        shared = finding.outside and finding.workload is not None
        key = (finding.rule, finding.region) if shared else (id(finding),)
        groups.setdefault(key, []).append(finding)
    return [_merge_place(group) for group in groups.values()]


def _merge_place(group: list[Finding]) -> Finding:
    first = max(group, key=lambda finding: finding.severity.rank)
    workloads = {finding.workload for finding in group}
    if len(group) == 1:
        return first
    more = f" The same holds for {plural(len(workloads) - 1, 'other workload')}."
    message = first.message.rstrip(".") + "." + more if len(workloads) > 1 else first.message
    joined = _join(first, group)
    pods = [
        Related(str(finding.workload), finding.subject_region)
        for finding in group
        if finding.subject_region is not None
    ]
    return replace(
        joined,
        message=message,
        workload=None if len(workloads) > 1 else first.workload,
        container=None,
        related=(*first.related, *dict.fromkeys(pods)),
    )


def group_by_cause(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Return the findings by their cause, the worst first: errors, then by how much is lost.

    A cause is one rule with one deciding value of one origin, wherever it is written.
    """
    groups: dict[_Key, list[Finding]] = {}
    for finding in findings:
        decided = finding.decided_by or finding.message
        groups.setdefault((finding.rule, finding.severity, decided), []).append(finding)
    return sorted((sorted(group, key=_sent_for) for group in groups.values()), key=_badness)


def _sent_for(finding: Finding) -> timedelta:
    """Smaller is worse: how long new requests are lost, which something sends."""
    loss = finding.loss
    return loss.begin - loss.end if loss is not None and loss.kind is LossKind.LATE else ZERO


def _badness(group: list[Finding]) -> tuple[int, int, int]:
    """Smaller is worse. A mistake that loses nothing by itself comes after what does."""
    loss = min(
        (WORST_FIRST.index(f.loss.kind) for f in group if f.loss is not None),
        default=len(WORST_FIRST),
    )
    return -group[0].severity.rank, loss, -len(group)


def find_shared_edit(findings: list[Finding]) -> Region | None:
    """Return where one edit fixes all of these findings; None if each needs a separate edit."""
    first = findings[0]
    if len(findings) < 2:
        return None
    one_place = all(finding.region == first.region for finding in findings)
    if one_place and first.outside and len({_values(finding) for finding in findings}) == 1:
        return first.region  # what decides is outside of the pods: it can be changed there
    edits = _edits(first)
    if any(_edits(finding) != edits for finding in findings):
        return None
    places = [
        c.target.location.region() for c in (first.fix.changes if first.fix else ()) if c.target
    ]
    if places:
        return places[0]
    return first.region if one_place else None


def _values(finding: Finding) -> tuple[_Key, ...]:
    """Return the values that a finding's fix sets, wherever they are written."""
    changes = finding.fix.changes if finding.fix is not None else ()
    return tuple((each.action, each.field, each.value) for each in changes)
