"""The longest job of a queue worker, as the user says it."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from shutdownlint.platforms.user_facts import AppFacts
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.solver import Targets
from tests.helpers import check_text, dedent, plan_of, run, user_facts

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
ANNOTATED = ", annotations: {shutdownlint.dev/longest-job: 5m}"


def found(text: str, *apps: AppFacts) -> list[str]:
    result = check_text(text, replace(user_facts(), apps=apps))
    return [finding.message for finding in result.findings if finding.rule == "SL159"]


def test_a_job_must_end_before_the_grace_period() -> None:
    assert found(WORKER % (ANNOTATED, 301)) == []
    (message,) = found(WORKER % (ANNOTATED, 300))
    assert message == (
        "worker needs 5m for the job (shutdownlint.dev/longest-job), but the job is cut 5m after "
        "termination starts (terminationGracePeriodSeconds 5m, line 9)"
    )
    assert found(WORKER % ("", 60)) == []


def test_the_configuration_may_say_it_for_some_workloads() -> None:
    text = WORKER % ("", 60)
    assert len(found(text, AppFacts("Deployment/shop/worker", longest_job=seconds(90)))) == 1
    assert found(text, AppFacts("Deployment/shop/other", longest_job=seconds(90))) == []


def test_suggestions_cover_the_longest_job() -> None:
    assert Targets.of(plan_of(WORKER % (ANNOTATED, 60))).p99 == seconds(300)
    assert Targets.of(plan_of(WORKER % ("", 60))).p99 < seconds(300)


def test_a_job_that_is_no_duration_is_reported() -> None:
    result = check_text(WORKER % (", annotations: {shutdownlint.dev/longest-job: long}", 60))
    assert [f.rule for f in result.findings if f.severity == "error"] == ["SL005"]


def test_all_workloads_are_those_that_get_no_requests() -> None:
    of_all = AppFacts("*", longest_job=seconds(90), source_label="--longest-job")
    text = WORKER % ("", 60)
    assert len(found(text, of_all)) == 1
    serves = text.replace("image: shop/worker:1", "image: shop/web:1, ports: [{containerPort: 80}]")
    assert found(serves, of_all) == []
    assert len(found(serves, AppFacts("worker", longest_job=seconds(90)))) == 1


JOB = """
    apiVersion: batch/v1
    kind: Job
    metadata: {name: report, namespace: shop}
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: report, image: shop/report:1}]}
    """


def test_a_job_is_restarted_by_design_unless_it_is_named() -> None:
    assert found(JOB, AppFacts("*", longest_job=seconds(90))) == []
    assert len(found(JOB, AppFacts("Job/shop/report", longest_job=seconds(90)))) == 1


@pytest.mark.parametrize(
    ("command", "written"),
    [
        ('[sidekiq, -t, "25"]', '[sidekiq, -t, "120"]'),
        ("[sidekiq, --timeout=25]", "[sidekiq, --timeout=120]"),
    ],
)
def test_a_limit_is_written_in_its_own_form(tmp_path: Path, command: str, written: str) -> None:
    file = tmp_path / "a.yaml"
    text = dedent(WORKER % ("", 60)).replace(
        "image: shop/worker:1", f"image: shop/worker:1, command: {command}"
    )
    file.write_text(text)
    run("check", "--isolated", "--longest-job", "2m", "--unsafe-fixes", str(file))
    assert f"command: {written}" in file.read_text()
    assert "terminationGracePeriodSeconds: 125" in file.read_text()


def test_a_limit_that_is_a_default_is_named_with_its_flag(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        dedent(WORKER % ("", 60)).replace(
            "image: shop/worker:1", "image: shop/worker:1, command: [sidekiq]"
        )
    )
    out = run("check", "--isolated", "--longest-job", "2m", str(file))[1]
    assert "set Sidekiq shutdown timeout to 2m (--timeout)" in out
