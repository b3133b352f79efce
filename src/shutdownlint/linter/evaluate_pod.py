"""The findings on one pod."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from shutdownlint.engine.finding import Severity
from shutdownlint.engine.rule_loader import load_bundled
from shutdownlint.engine.subjects import pod_subjects, problem_subject
from shutdownlint.shutdown.pod_plan import Confidence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shutdownlint.engine.evaluator import RuleEvaluator
    from shutdownlint.engine.finding import Finding
    from shutdownlint.engine.rule import Rule
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.user_facts import UserFacts

_USES_VALUES: Final = "the chart uses these values as their names say (check it with --render)"


def rejecting_rules(platforms: Iterable[str]) -> list[Rule]:
    """Return the bundled rules about rejected objects; no selection changes what is true."""
    return [rule for rule in load_bundled(platforms) if rule.rejects]


def evaluate_pod(pod: PlannedPod, evaluator: RuleEvaluator, facts: UserFacts) -> Iterator[Finding]:
    """Yield the findings on a pod: its problems, its containers, proxies and the pod itself."""
    values = pod.workload.described_by is not None
    found = _evaluate(pod, evaluator, facts, values_only=values)
    yield from map(_of_values, found) if values else found


def _evaluate(
    pod: PlannedPod, evaluator: RuleEvaluator, facts: UserFacts, *, values_only: bool
) -> Iterator[Finding]:
    for problem in pod.problems:
        subject = problem_subject(problem, evaluator.vocabulary, facts, pod.id)
        yield from evaluator.evaluate(subject, problem.kind(), values_only=values_only)
    for subject in pod_subjects(pod, evaluator.vocabulary, facts):
        yield from evaluator.evaluate(subject, values_only=values_only)


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
