"""The longest job of a queue worker, as the user says it."""

from __future__ import annotations

from msgspec.structs import replace

from shutdownlint.platforms.user_facts import AppFacts
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.solver import Targets
from tests.helpers import check_text, plan_of, user_facts

WORKER = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: worker, namespace: shop%s}
    spec:
      selector: {matchLabels: {app: worker}}
      template:
        metadata: {labels: {app: worker}}
        spec:
          terminationGracePeriodSeconds: %s
          containers: [{name: worker, image: shop/worker:1}]
    """
ANNOTATED = ", annotations: {shutdownlint.dev/job: 5m}"


def found(text: str, *apps: AppFacts) -> list[str]:
    result = check_text(text, replace(user_facts(), apps=apps))
    return [finding.message for finding in result.findings if finding.rule == "SL159"]


def test_a_job_must_end_before_the_grace_period() -> None:
    assert found(WORKER % (ANNOTATED, 301)) == []
    (message,) = found(WORKER % (ANNOTATED, 300))
    assert message == (
        "worker needs 5m for the job (shutdownlint.dev/job), but the job is cut 5m after "
        "termination starts (terminationGracePeriodSeconds 5m, line 9)"
    )
    assert found(WORKER % ("", 60)) == []


def test_the_configuration_may_say_it_for_some_workloads() -> None:
    text = WORKER % ("", 60)
    assert len(found(text, AppFacts("Deployment/shop/worker", job=seconds(90)))) == 1
    assert found(text, AppFacts("Deployment/shop/other", job=seconds(90))) == []


def test_suggestions_cover_the_longest_job() -> None:
    assert Targets.of(plan_of(WORKER % (ANNOTATED, 60))).p99 == seconds(300)
    assert Targets.of(plan_of(WORKER % ("", 60))).p99 < seconds(300)


def test_a_job_that_is_no_duration_is_reported() -> None:
    result = check_text(WORKER % (", annotations: {shutdownlint.dev/job: long}", 60))
    assert [f.rule for f in result.findings if f.severity == "error"] == ["SL005"]
