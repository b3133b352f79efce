"""The part of the conformance runs that guards every change: fixed seeds on each pinned Envoy."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from shutdownlint.platforms.istio import proxy_plan
from shutdownlint.platforms.istio.process import ProxySettings, proxy_process
from shutdownlint.platforms.pod_draft import ContainerDraft
from shutdownlint.shutdown.durations import seconds
from shutdownlint.shutdown.pod_plan import ContainerPlan
from shutdownlint.shutdown.process import Process
from shutdownlint.shutdown.provenance import with_value
from tests.conformance.cases import CLASSIC, NATIVE, Case, make
from tests.conformance.compare import Verdict, observe_all, verdicts
from tests.conformance.envoy import VERSIONS, NoEnvoyError, binary
from tests.conformance.pod import ROOT, Observed, observe
from tests.conformance.predict import predict
from tests.conformance.story import CHAPTERS, outputs

# The real Envoy is downloaded, and the runs take about a minute.
pytestmark = [pytest.mark.network, pytest.mark.slow]

SEEDS = range(20)
#: A verdict closer to an event than this is a tie that the machine's speed decides.
TIE = 0.5


@cache
def envoy(version: str) -> Path | str:
    """Return the binary, or why it cannot be had."""
    try:
        return binary(version)
    except NoEnvoyError as error:
        return str(error)


def have(version: str) -> Path:
    found = envoy(version)
    if isinstance(found, str):
        pytest.skip(f"no real Envoy {version} here: {found}")
    return found


@cache
def seen_all() -> dict[str, list[tuple[Case, Observed]]]:
    """All cases on all Envoys that are here, in one go: pods mostly wait."""
    here = [version for version in VERSIONS if isinstance(envoy(version), Path)]
    jobs = [(seed, version) for version in here for seed in SEEDS]
    found = observe_all([(seed, binary(version)) for seed, version in jobs])
    return {
        version: [one for one, (_, its) in zip(found, jobs, strict=True) if its == version]
        for version in here
    }


def seen(version: str) -> list[tuple[Case, Observed]]:
    have(version)
    return seen_all()[version]


def compared(version: str) -> list[Verdict]:
    found = [verdict for case, observed in seen(version) for verdict in verdicts(case, observed)]
    certain = [verdict for verdict in found if verdict.certain]
    assert len(certain) >= 0.97 * len(found)
    return certain


@pytest.mark.parametrize("version", VERSIONS)
def test_the_model_agrees_with_the_real_envoy(version: str) -> None:
    found = compared(version)
    assert len(found) > 200
    assert [str(v) for v in found if not v.agrees and v.distance >= TIE] == []
    assert sum(v.agrees for v in found) >= len(found) - 1
    assert sum(v.same_kind for v in found) >= 0.98 * len(found)
    # every kind of outcome was put to the test
    assert {v.observed for v in found} == {"ok", "cut", "refused", "503"}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_proxys_end_is_where_it_was_said_to_be(version: str) -> None:
    for case, observed in seen(version):
        predicted = predict(case).proxy_ends
        assert predicted is not None
        assert observed.proxy_gone is not None
        assert observed.proxy_gone == pytest.approx(predicted, abs=0.99), case.seed


def test_a_drain_that_is_two_seconds_off_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def off(settings: ProxySettings) -> Process:
        drain = settings.termination_drain
        return proxy_process(
            replace(settings, termination_drain=with_value(drain, drain.value + seconds(2)))
        )

    seen(VERSIONS[0])
    monkeypatch.setattr(proxy_plan, "proxy_process", off)
    assert [v for v in compared(VERSIONS[0]) if not v.agrees]


def test_a_native_proxy_that_ends_first_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = ContainerDraft.plan

    def too_early(self: ContainerDraft) -> ContainerPlan:
        plan = honest(self)
        return replace(plan, native_sidecar=False) if plan.name == "istio-proxy" else plan

    seen(VERSIONS[0])
    monkeypatch.setattr(ContainerDraft, "plan", too_early)
    wrong = {v.seed for v in compared(VERSIONS[0]) if not v.agrees}
    assert wrong
    assert all(make(seed).mode == NATIVE for seed in wrong)


def test_cases_cover_what_they_should() -> None:
    cases = [make(seed) for seed in SEEDS]
    assert {case.mode for case in cases} == {CLASSIC, NATIVE}
    assert {case.behaviour for case in cases} == {"graceful", "abrupt", "ignoring"}
    for name in ("exit_on_zero", "idle", "drain", "outbound", "proxy_pre_stop"):
        assert len({bool(getattr(case, name)) for case in cases}) == 2, name
    text = "".join(case.manifest for case in cases)
    for form in ("PROXY_CONFIG", "defaultConfig", "kind: ProxyConfig", "proxy.istio.io/config"):
        assert form in text


def test_idle_connections_are_drained_early_from_envoy_1_40_on() -> None:
    """In real time: Envoy's own five seconds cannot be scaled."""
    older, newer = (have(version) for version in VERSIONS)
    case = Case(0, grace=30, pre_stop=1, exit_on_zero=True, idle=1, drain_duration=20)

    async def both() -> list[Observed]:
        return list(await asyncio.gather(observe(case, older, 1.0), observe(case, newer, 1.0)))

    held, freed = (observed.proxy_gone for observed in asyncio.run(both()))
    # before: an idle connection holds the proxy to the end of the grace period
    assert held == pytest.approx(30, abs=0.5)
    # since: drained between two thirds of the drain and 5 s before its end, closed 5 s later
    assert freed is not None
    assert 20 * 2 / 3 + 5 <= freed <= 20 + 2


def test_what_the_story_says_of_shutdownlint_is_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Test that the page's predictions and findings are fresh; real Envoys are not run again."""
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "story.md").read_text(encoding="utf-8")
    for fixture, title, _words, _case in CHAPTERS:
        assert f"## {title}" in page
        for text in outputs(fixture):
            assert f"\n{text}\n```" in page, (
                "stale: python -m tests.conformance.story > docs/story.md"
            )
