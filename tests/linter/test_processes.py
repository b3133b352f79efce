"""The work of a large run shared with copies of the process."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from shutdownlint.linter import evaluate
from shutdownlint.linter.linter import check
from shutdownlint.linter.processes import process_count, run_tasks
from tests.helpers import lint_options, write_sources

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="copies are made on Linux only")
POD = """
    apiVersion: apps/v1
    kind: Deployment
    metadata: {{name: shop-{number}, namespace: shop}}
    spec:
      replicas: {number}
      template:
        metadata: {{labels: {{app: shop-{number}}}}}
        spec:
          terminationGracePeriodSeconds: {grace}
          containers:
          - name: app
            image: shop:1
            lifecycle: {{preStop: {{exec: {{command: [sleep, '20']}}}}}}
    """
BUDGET = """
    apiVersion: policy/v1
    kind: PodDisruptionBudget
    metadata: {name: shop, namespace: shop}
    spec: {minAvailable: 1, selector: {matchLabels: {app: shop-1}}}
    """


def _in_process(here: int, *, value: int) -> tuple[int, int]:
    return value, int(os.getpid() != here)


def _die_in_a_copy(here: int) -> str:
    if os.getpid() != here:
        os._exit(9)
    return "done here"


def test_results_are_in_order_and_the_first_task_runs_here() -> None:
    tasks = [partial(_in_process, os.getpid(), value=number) for number in range(3)]
    assert list(run_tasks(tasks)) == [(0, 0), (1, 1), (2, 1)]


def test_a_task_whose_copy_is_killed_runs_here() -> None:
    here = os.getpid()
    assert list(run_tasks([partial(_die_in_a_copy, here)] * 3)) == ["done here"] * 3


def test_never_more_processes_than_processors() -> None:
    assert 1 <= process_count() <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize("count", [2, 3])
def test_shared_work_gives_the_same_result(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        f"{number:02}.yaml": POD.format(number=number, grace=number + 10) for number in range(24)
    }
    ignored = "['sleep', '20']}}}  # shutdownlint: ignore[SL102] known"
    files["ignored.yaml"] = POD.format(number=50, grace=5).replace("[sleep, '20']}}}", ignored)
    files["broken.yaml"] = "apiVersion: v1\nkind: Pod\nspec: {containers: [\n"
    sources = write_sources({**files, "budget.yaml": BUDGET}, tmp_path)
    alone = check(sources, lint_options())
    monkeypatch.setattr(evaluate, "process_count", lambda: count)
    monkeypatch.setattr(evaluate, "_CHUNKS_PER_PROCESS", 5)
    shared = check(sources, replace(lint_options(), debug=False))
    assert len({finding.rule for finding in shared.findings}) > 2
    assert [(f.region, f.rule, f.message, f.holds_for) for f in shared.findings] == [
        (f.region, f.rule, f.message, f.holds_for) for f in alone.findings
    ]
    assert [s.finding.region for s in shared.suppressed] == [
        s.finding.region for s in alone.suppressed
    ]
    assert shared.suppressed
    assert (shared.workloads, shared.objects) == (alone.workloads, alone.objects)
    assert shared.stats == alone.stats
    assert shared.verdicts == alone.verdicts
    assert shared.complete is alone.complete is False


GATEWAY = """
    apiVersion: gateway.networking.k8s.io/v1
    kind: Gateway
    metadata: {name: edge, namespace: shop}
    spec: {gatewayClassName: istio, listeners: [{name: http, port: 80, protocol: HTTP}]}
    """


def test_pods_that_a_controller_makes_are_checked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"{number:02}.yaml": POD.format(number=number, grace=60) for number in range(24)}
    inputs = write_sources({**files, "gateway.yaml": GATEWAY}, tmp_path)
    monkeypatch.setattr(evaluate, "process_count", lambda: 2)
    monkeypatch.setattr(evaluate, "_CHUNKS_PER_PROCESS", 5)
    verdicts = check(inputs, replace(lint_options(), debug=False)).verdicts
    made = [verdict.id.name for verdict in verdicts if verdict.id.kind == "Gateway"]
    assert (len(verdicts), made) == (25, ["edge"])
