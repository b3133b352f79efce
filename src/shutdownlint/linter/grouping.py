"""One decision, one finding: what many pods share is reported once, with the pods listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint.engine.finding import Related
from shutdownlint.wording import plural

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from shutdownlint.engine.finding import Finding

_Key = tuple[object, ...]


def group_findings(findings: Iterable[Finding], shared: Collection[str]) -> list[Finding]:
    """The findings, those on one setting that decides for several pods as one.

    A setting outside of the pods decides for all of them. The findings of a ``shared`` rule without
    such a place are grouped by namespace, at the first pod.
    """
    groups: dict[_Key, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_key(finding, shared), []).append(finding)
    return [finding for group in groups.values() for finding in _merge(group)]


def merge_variants(
    findings: Iterable[Finding], variants_of: Mapping[str, Collection[str]]
) -> list[Finding]:
    """The findings, those that several variants share at one place as one.

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
    """The finding; without the changes of a fix that would change other variants as well."""
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
    if len(group) == 1:
        return first
    fix = first.fix
    if fix is not None and any(_edits(f) != _edits(first) for f in group):
        fix = replace(fix, changes=())
    return replace(
        first,
        fix=fix,
        variants=tuple(dict.fromkeys(name for f in group for name in f.variants)),
        assumptions=tuple(dict.fromkeys(text for f in group for text in f.assumptions)),
        related=tuple(dict.fromkeys(related for f in group for related in f.related)),
        group=tuple(group),
    )


def _edits(finding: Finding) -> list[_Key]:
    """What a finding's fix changes, and where."""
    return [
        (each.action, each.field, each.value, each.target and each.target.location.region())
        for each in (finding.fix.changes if finding.fix is not None else ())
    ]


def _key(finding: Finding, shared: Collection[str]) -> _Key:
    own, region = finding.subject_region, finding.region
    if finding.workload is None or own is None:
        return (id(finding),)
    if finding.outside:
        return finding.rule, region
    if finding.rule in shared:
        folder = "" if finding.workload.namespace else own.file.rpartition("/")[0]
        return finding.rule, finding.workload.namespace, folder
    return (id(finding),)


def _merge(group: list[Finding]) -> list[Finding]:
    first = group[0]
    workloads = list(dict.fromkeys(finding.workload for finding in group))
    if len(workloads) < 2:  # each variant of it may have other numbers
        return list({finding.variants: finding for finding in reversed(group)}.values())[::-1]
    others = len(workloads) - 1
    more = f" The same holds for {plural(others, 'other workload')}."
    pods = [
        Related(str(finding.workload), finding.subject_region)
        for finding in group
        if finding.subject_region is not None
    ]
    same_fix = all(f.fix == first.fix for f in group)
    fix = first.fix if same_fix or first.fix is None else replace(first.fix, changes=())
    merged = replace(
        first,
        message=first.message.rstrip(".") + "." + more,
        severity=max((f.severity for f in group), key=lambda severity: severity.rank),
        workload=None,
        container=None,
        fix=fix,
        related=(*first.related, *dict.fromkeys(pods)),
        assumptions=tuple(dict.fromkeys(text for f in group for text in f.assumptions)),
        variants=tuple(dict.fromkeys(name for f in group for name in f.variants))
        if all(finding.variants for finding in group)
        else (),
        group=tuple(group),
    )
    return [merged]
