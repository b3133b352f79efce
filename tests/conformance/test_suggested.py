"""The settings that ``suggest`` writes, run against the real Envoy: every request is served."""

from __future__ import annotations

import asyncio
import math
import random
from datetime import timedelta

import pytest

from shutdownlint.fixes.suggest import make_suggestions
from shutdownlint.platforms.planned_pod import PlannedPod
from shutdownlint.shutdown.durations import seconds
from shutdownlint.yaml_source.editor import apply_edits
from tests.conformance.cases import CLASSIC, NATIVE, Case
from tests.conformance.envoy import VERSIONS
from tests.conformance.pod import Observed, observe
from tests.conformance.test_conformance import have
from tests.helpers import plan_files, user_facts
from tests.platforms.istio.proxies import proxy_of

# The real Envoy is downloaded, and the runs take about a minute.
pytestmark = [pytest.mark.network, pytest.mark.slow]

P99, PROPAGATION = 7, 6
MANIFEST = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {istio-injection: enabled}}
---
apiVersion: v1
kind: Pod
metadata:
  name: shop
  namespace: shop
  annotations:
    sidecar.istio.io/nativeSidecar: "%s"
    proxy.istio.io/config: |
      terminationDrainDuration: %ds
      drainDuration: %ds
      proxyMetadata:
        EXIT_ON_ZERO_ACTIVE_CONNECTIONS: "%s"
spec:
  terminationGracePeriodSeconds: %d
  containers:
    - name: app
      image: shop/app:1
      ports: [{containerPort: 8080}]
      lifecycle: {preStop: {sleep: {seconds: %d}}}
"""


def broken(seed: int) -> str:
    """Return a pod that loses requests one way or another."""
    rng = random.Random(seed)
    sleep = rng.choice([0, 2, 8, 12])
    return MANIFEST % (
        "true" if seed % 3 == 2 else "false",
        rng.choice([0, 2, 5, 9]),
        rng.choice([5, 10, 45]),
        "true" if seed % 3 == 1 else "false",
        sleep + rng.choice([1, 3, 10]),
        sleep,
    )


def suggested(text: str) -> PlannedPod:
    """Return the plan of the manifest with what is suggested written into it."""
    facts = user_facts(istio="1.26", propagation=f"{PROPAGATION}s")
    (one,) = make_suggestions(plan_files({"shop.yaml": text}, facts).pods, seconds(P99))
    assert one.refused == ""
    assert one.solution.proven
    document = one.pod.ref.document
    edits = one.edits.get((document.file, document.start), [])
    head = text[: text.index("---\n") + 4]
    again = head + apply_edits(document.text, edits)
    (pod,) = plan_files({"shop.yaml": again}, facts).pods
    (second,) = make_suggestions([pod], seconds(P99))
    assert second.solution.changes == ()
    return pod


def whole(duration: timedelta) -> int:
    return int(duration.total_seconds())


def case_of(seed: int, pod: PlannedPod) -> Case:
    plan, proxy = pod.plan, proxy_of(pod)
    assert plan is not None
    assert proxy is not None
    (app,) = (each for each in plan.regular if each.serves)
    drain = proxy.drain_duration.value.total_seconds()
    return Case(
        seed,
        grace=whole(plan.grace.value.low),
        pre_stop=whole(app.hook.duration.value.low),
        minimum_drain=whole(proxy.minimum_drain.value),
        termination_drain=whole(proxy.termination_drain.value),
        mode=NATIVE if proxy.native else CLASSIC,
        exit_on_zero=proxy.exit_on_zero.value,
        # Envoy takes whole real seconds: see cases.py
        drain_duration=math.ceil(drain / 5) * 5,
        in_flight=[P99 - 0.5, 2.5],
        late=[(0.5, P99 - 0.5), (PROPAGATION - 0.5, P99 - 0.5)],
    )


@pytest.mark.parametrize("version", VERSIONS[:1])
def test_what_is_suggested_serves_every_request(version: str) -> None:
    binary = have(version)
    cases = [case_of(seed, suggested(broken(seed))) for seed in range(9)]
    before = [broken(seed) for seed in range(9)]
    assert len(set(before)) > 5

    async def all_of_them() -> list[Observed]:
        starting = asyncio.Semaphore(4)
        return list(
            await asyncio.gather(*(observe(case, binary, starting=starting) for case in cases))
        )

    for case, observed in zip(cases, asyncio.run(all_of_them()), strict=True):
        assert observed.outcomes == ["ok"] * len(case.requests), case
