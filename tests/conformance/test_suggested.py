"""What ``suggest`` writes, run against the real Envoy: every request is served."""

from __future__ import annotations

import asyncio
import math
import random
from typing import TYPE_CHECKING

import pytest

from shutdownlint.fixes.suggest import suggestions
from shutdownlint.shutdown import ProxyMode, seconds
from shutdownlint.yaml_source.editor import applied
from tests.conformance.cases import CLASSIC, NATIVE, Case
from tests.conformance.envoy import VERSIONS
from tests.conformance.pod import Observed, observe
from tests.conformance.test_conformance import have
from tests.helpers import given, read_files

if TYPE_CHECKING:
    from datetime import timedelta

    from shutdownlint.shutdown import Plan

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
      lifecycle: {preStop: {sleep: {seconds: %d}}}
"""


def broken(seed: int) -> str:
    """A pod that loses requests one way or another."""
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


def fix_result(text: str) -> Plan:
    """The plan of the manifest with what is suggested written into it."""
    aims = (seconds(P99), seconds(PROPAGATION))
    (one,) = suggestions(read_files({"shop.yaml": text}, given(istio="1.26")).pods, *aims)
    assert one.refused == ""
    assert one.solution.proven
    document = one.pod.ref.document
    edits = one.pieces.get((document.file, document.start), [])
    head = text[: text.index("---\n") + 4]
    again = head + applied(document.text, edits)
    (pod,) = read_files({"shop.yaml": again}, given(istio="1.26")).pods
    (second,) = suggestions([pod], *aims)
    assert second.solution.changes == ()
    assert pod.plan is not None
    return pod.plan


def whole(duration: timedelta) -> int:
    return int(duration.total_seconds())


def case_of(seed: int, plan: Plan) -> Case:
    proxy = plan.proxy
    assert proxy is not None
    (app,) = plan.containers
    drain = proxy.drain_duration.value.total_seconds()
    return Case(
        seed,
        grace=whole(plan.grace.value.low),
        pre_stop=whole(app.pre_stop.value.low),
        minimum_drain=whole(proxy.minimum_drain.value),
        termination_drain=whole(proxy.termination_drain.value),
        mode=NATIVE if proxy.mode.value is ProxyMode.NATIVE else CLASSIC,
        exit_on_zero=proxy.exit_on_zero.value,
        # Envoy takes whole real seconds: see cases.py
        drain_duration=math.ceil(drain / 5) * 5,
        in_flight=[P99 - 0.5, 2.5],
        late=[(0.5, P99 - 0.5), (PROPAGATION - 0.5, P99 - 0.5)],
    )


@pytest.mark.parametrize("version", VERSIONS[:1])
def test_what_is_suggested_serves_every_request(version: str) -> None:
    binary = have(version)
    cases = [case_of(seed, fix_result(broken(seed))) for seed in range(9)]
    before = [broken(seed) for seed in range(9)]
    assert len(set(before)) > 5

    async def all_of_them() -> list[Observed]:
        starting = asyncio.Semaphore(4)
        return list(
            await asyncio.gather(*(observe(case, binary, starting=starting) for case in cases))
        )

    for case, observed in zip(cases, asyncio.run(all_of_them()), strict=True):
        assert observed.outcomes == ["ok"] * len(case.requests), case
