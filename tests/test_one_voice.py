"""The agreement of check, explain, suggest, verify and fixes about the losses of a stop."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from shutdownlint.engine.loss_texts import report_loss
from shutdownlint.engine.subjects import losses_by_setting
from shutdownlint.fixes.fixer import fix_files
from shutdownlint.fixes.suggest import make_suggestions
from shutdownlint.linter.linter import check, plan_workloads
from shutdownlint.linter.read import read
from shutdownlint.linter.result import LintResult
from shutdownlint.linter.rule_examples import example_facts
from shutdownlint.linter.verdicts import OUTCOMES, count_outcomes, judge_pod
from shutdownlint.manifests.discovery import FileSearch
from shutdownlint.shutdown.analysis import ShutdownAnalysis
from shutdownlint.shutdown.loss import LossKind, LossMeans, LossWeight
from shutdownlint.verification.plan import plan_verification
from tests.helpers import (
    check_files,
    lint_options,
    plan_files,
    rules,
    schema,
    user_facts,
    write_sources,
)
from tests.pods import generate_pod

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from shutdownlint.engine.finding import Finding, ReportedLoss
    from shutdownlint.platforms.planned_pod import PlannedPod
    from shutdownlint.platforms.user_facts import UserFacts
    from shutdownlint.shutdown.loss import Loss

EXAMPLES = [
    pytest.param(rule.id, number, id=f"{rule.id}-{number}")
    for rule in rules()
    for number, _ in enumerate(schema(rule.id).examples)
]
#: The rule that reports a hook that certainly takes the whole grace period, whatever it loses.
OF_ABANDONED_HOOKS = "SL102"


def compare(pods: Iterable[PlannedPod], result: LintResult, facts: UserFacts) -> Counter[str]:
    """Compare what is known of the pods with what a check reported; count the losses by kind."""
    found: Counter[str] = Counter()
    findings: dict[object, list[Finding]] = {}
    for finding in result.findings:
        findings.setdefault(finding.workload, []).append(finding)
        for variant in finding.variants:  # what several environments have is one finding
            findings.setdefault((finding.subject_file, variant), []).append(finding)
    verdicts = [judge_pod(pod, facts) for pod in pods]
    checked = sorted((v.region.file, v.title, v.lost, v.losses) for v in result.verdicts)
    assert sorted((v.region.file, v.title, v.lost, v.losses) for v in verdicts) == checked
    assert count_outcomes(result.verdicts)["workloads"] == len(verdicts)
    known: dict[object, set[ReportedLoss]] = {}
    for pod, verdict in zip(pods, verdicts, strict=True):
        found[verdict.lost] += 1
        known.setdefault(pod.id, set()).update(verdict.losses)
        if pod.analysis is None or pod.rejections:
            continue
        reported = findings.get(pod.id, [])
        reported += findings.get((pod.ref.document.file, pod.variant), [])
        for loss in (same[0] for same in losses_by_setting(pod.analysis.losses)):
            assert _is_reported(loss, report_loss(loss), reported), (loss, reported)
    for finding in result.findings:
        assert finding.loss is None or finding.loss in known[finding.workload], finding
    return found


def _is_reported(loss: Loss, text: ReportedLoss, findings: Iterable[Finding]) -> bool:
    if loss.means is LossMeans.ABANDONED_HOOK:
        # Where the hook's length is unknown, the last lines alone count it.
        return not loss.certain or any(f.rule == OF_ABANDONED_HOOKS for f in findings)
    return any(finding.loss == text for finding in findings)


def compare_text(text: str, facts: UserFacts) -> Counter[str]:
    """All commands agree about the pods of a text."""
    pods = plan_files({"shop.yaml": text}, facts).pods
    found = compare(pods, check_files({"shop.yaml": text}, facts), facts)
    for pod in pods:
        if pod.analysis is not None and not pod.rejections:
            _compare_suggestion(pod)
            _compare_verification(pod)
    return found


def _compare_suggestion(pod: PlannedPod) -> None:
    """Check that nothing is left of what a suggestion addressed if it serves every request."""
    assert pod.analysis is not None
    (suggestion,) = make_suggestions([pod])
    if not suggestion.is_proven:
        return
    left = ShutdownAnalysis(suggestion.solution.plan).losses
    sure = [loss for loss in left if loss.weight is not LossWeight.POSSIBLE]
    assert not [loss for loss in sure if loss.kind is not LossKind.LONG], sure


def _compare_verification(pod: PlannedPod) -> None:
    """Check that a test's predictions are the answers that explain gives."""
    assert pod.analysis is not None
    test = plan_verification(pod)
    if test is not None:
        answers = pod.analysis.predict([planned.request for planned in test.requests])
        assert tuple(planned.before for planned in test.requests) == answers


@pytest.mark.parametrize(("rule", "number"), EXAMPLES)
def test_the_examples_of_rules(rule: str, number: int) -> None:
    example = schema(rule).examples[number]
    facts = example_facts(example.options)
    for text in filter(None, (example.bad, example.good)):
        compare_text(text, facts)


@pytest.mark.parametrize("seed", [5144, 879, 8240])
def test_a_hook_that_signals_the_app_and_goes_on_too_long(seed: int) -> None:
    """Test that SIGKILL after the grace period cuts the app, not the hook: it had its signal."""
    text, facts = generate_pod(random.Random(seed))
    assert "kill -TERM 1; sleep" in text
    assert compare_text(text, facts)["cut"] == 1


@pytest.mark.parametrize("seed", range(60))
def test_generated_pods(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(5):
        text, facts = generate_pod(draw)
        try:
            compare_text(text, facts)
        except AssertionError as error:
            raise AssertionError(f"{facts}\n{text}\n{error}") from error


@pytest.mark.parametrize("seed", range(30))
def test_what_a_fix_addressed_is_gone(seed: int, tmp_path: Path) -> None:
    draw = random.Random(1000 + seed)
    for number in range(3):
        text, facts = generate_pod(draw)
        sources = write_sources({"shop.yaml": text}, tmp_path / str(number))
        result, fixes = fix_files(sources, lint_options(facts), unsafe=True)
        if not fixes.fixed:
            continue
        (verdict,) = result.verdicts
        (pod,) = plan_files(fixes.texts, facts).pods
        again = judge_pod(pod, facts)
        assert (again.lost, again.losses) == (verdict.lost, verdict.losses)
        for before in (finding.loss for finding in fixes.fixed if finding.loss is not None):
            same = [
                a for a in verdict.losses if (a.kind, a.process) == (before.kind, before.process)
            ]
            left = [a for a in same if a.is_sure and a.longer_than <= before.longer_than]
            assert not before.is_sure or not left, (text, before, left)


@pytest.mark.slow
def test_the_corpus(corpus: Path) -> None:
    sources = read([str(corpus)], FileSearch())
    pods = plan_workloads(sources, lint_options()).pods
    found = compare(pods, check(sources, lint_options()), user_facts())
    assert set(found) <= set(OUTCOMES)
    assert found["late"] > 100
