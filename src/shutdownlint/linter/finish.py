"""Finish: from findings and the user's configuration to the result that is reported."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from shutdownlint.linter.grouping import merge_variants
from shutdownlint.linter.plan import version_warnings
from shutdownlint.linter.result import LintResult
from shutdownlint.linter.suppression import Suppressed, apply_suppressions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.selection import RuleSelection
    from shutdownlint.linter.evaluate import Evaluation
    from shutdownlint.linter.options import LintOptions
    from shutdownlint.linter.verdicts import WorkloadVerdict
    from shutdownlint.manifests.object_id import ObjectId


def finish(evaluation: Evaluation, options: LintOptions) -> LintResult:
    """Apply severities, suppressions and what is not to be shown, and merge variants."""
    selection = evaluation.selected.selection
    findings = [*_apply_paths(evaluation.findings, selection)]
    ignored = len(evaluation.findings) - len(findings)
    own = () if options.isolated else evaluation.suppressions
    suppressions = (*own, *options.facts.suppressions)
    kept = Suppressed(findings)
    if suppressions:
        kept = apply_suppressions(findings, suppressions, evaluation.selected.rules)
    findings = [*kept.findings]
    if len(evaluation.expansion.worlds) > 1:
        findings = merge_variants(findings, evaluation.expansion.variants_of)
    hidden, shown = _count_notes(findings, selection)
    return LintResult(
        stats=evaluation.stats,
        findings=[finding for finding in shown if selection.is_sure(finding.confidence)],
        suppressed=[s for s in kept.suppressed if not _is_note(s.finding, selection)],
        entries=evaluation.entries,
        objects=evaluation.objects,
        warnings=[*version_warnings(evaluation.assumed_versions), *kept.warnings],
        verdicts=[*_with_rules(evaluation.verdicts, findings)],
        hidden=hidden,
        ignored=ignored,
        unsure=sum(not selection.is_sure(finding.confidence) for finding in shown),
        left_out=evaluation.selected.left_out,
        rules=evaluation.selected.rules,
        descriptions=evaluation.descriptions,
        inputs=evaluation.expansion.inputs,
    )


def _apply_paths(findings: Iterable[Finding], selection: RuleSelection) -> Iterator[Finding]:
    """Yield the findings as the configuration wants them for their files."""
    for finding in findings:
        file = finding.region.file
        if selection.ignores_at(finding.rule, file):
            continue
        severity = selection.severity_at(finding.rule, file)
        yield finding if severity is None else replace(finding, severity=severity)


def _is_note(finding: Finding, selection: RuleSelection) -> bool:
    return selection.hides_severity(finding.rule, finding.severity)


def _count_notes(
    findings: Sequence[Finding], selection: RuleSelection
) -> tuple[Counter[str], list[Finding]]:
    """Return how many notes are not asked for, by rule, and the other findings."""
    hidden: Counter[str] = Counter()
    shown = []
    for finding in findings:
        if _is_note(finding, selection):
            hidden[finding.rule] += 1
        else:
            shown.append(finding)
    return hidden, shown


def _with_rules(
    verdicts: Iterable[WorkloadVerdict], findings: Iterable[Finding]
) -> Iterator[WorkloadVerdict]:
    """Yield the verdicts with the rules that report something of their workload."""
    rules: dict[tuple[str, ObjectId, str], dict[str, None]] = {}
    for finding in findings:
        for each in finding.each:
            if each.workload is not None:
                for variant in each.variants or ("",):
                    key = each.subject_file, each.workload, variant
                    rules.setdefault(key, {})[each.rule] = None
    for verdict in verdicts:
        found = {
            **rules.get((*verdict.key, ""), {}),
            **rules.get((*verdict.key, verdict.variant), {}),
        }
        yield replace(verdict, reported_by=tuple(sorted(found)))
