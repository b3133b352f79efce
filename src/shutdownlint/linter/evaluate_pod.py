"""The findings on one pod."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from shutdownlint import limits
from shutdownlint.engine.finding import Severity
from shutdownlint.engine.rule_loader import load_bundled
from shutdownlint.engine.subjects import pod_subjects, problem_subject
from shutdownlint.shutdown.pod_plan import Confidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shutdownlint.engine.evaluator import RuleEvaluator
    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.engine.subjects import Subject
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.user_facts import UserFacts

_USES_VALUES: Final = "the chart uses these values as their names say"


def rejecting_rules(platforms: Iterable[str]) -> list[Rule]:
    """Return the bundled rules about rejected objects; no selection changes what is true."""
    return [rule for rule in load_bundled(platforms) if rule.rejects]


def evaluate_pod(pod: PlannedPod, evaluator: RuleEvaluator, facts: UserFacts) -> Iterator[Finding]:
    """Yield the findings on a pod: its problems, its containers, proxies and the pod itself."""
    described = pod.workload.described_by is not None
    subjects: list[tuple[Subject, str | None]] = []
    seen: Counter[str] = Counter()
    for problem in pod.problems:
        kind = problem.kind()
        seen[kind] += 1
        if seen[kind] <= limits.MAX_PROBLEMS_OF_A_KIND:
            subject = problem_subject(problem, evaluator.vocabulary, facts, pod.id)
            subjects.append((subject, kind))
    subjects += ((subject, None) for subject in pod_subjects(pod, evaluator.vocabulary, facts))
    for subject, problem_kind in subjects:
        for finding in evaluator.evaluate(subject, problem_kind, values_only=described):
            yield _of_values(finding) if described else finding


def _of_values(finding: Finding) -> Finding:
    """Return a finding on values: it holds if the chart uses them as their names say."""
    severity = Severity.WARNING if finding.severity is Severity.ERROR else finding.severity
    return replace(
        finding,
        severity=severity,
        confidence=Confidence.MEDIUM,
        workload=None,
        container=None,
        assumptions=(*finding.assumptions, _USES_VALUES),
    )
